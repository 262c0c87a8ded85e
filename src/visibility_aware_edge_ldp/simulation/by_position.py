"""POSITION in a simulation: every position answers, and everything is estimated from the same answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.ipw import estimate_ipw_capped
from visibility_aware_edge_ldp.aggregator.position import estimate as estimate_position
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.survey import position_survey
from visibility_aware_edge_ldp.simulation.memory import refuse_too_large
from visibility_aware_edge_ldp.simulation.population import collect
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of

TRUST_WORDS = "one reporter holds one bit and randomizes it before it is sent; the aggregator is not trusted."
ESTIMATORS: dict[str, Callable[[PositionCollection, Sequence[str]], dict[str, Estimate]]] = {
    "unbiased": estimate_position,
    "ipw_capped": estimate_ipw_capped,
}


def by_position(
    world: VisibilityAwareGraph,
    epsilon: Number,
    statistics: Sequence[str],
    *,
    rounds: int = 1,
    dropout: float = 0.0,
    estimator: str = "unbiased",
    seed: int | str | None = None,
) -> Answers:
    """Every non-public position answers by randomized response in each round."""
    if estimator not in ESTIMATORS:
        raise BadInput(f"{estimator!r} is not an estimator; use {' or '.join(ESTIMATORS)}.")
    survey = position_survey(world.public, epsilon, rounds)
    refuse_too_large(world.graph.n, rounds)
    collection = collect(world, survey, seed, dropout)
    return Answers(ESTIMATORS[estimator](collection, statistics), _certificate(world, collection, seed is not None))


def _certificate(world: VisibilityAwareGraph, collection: PositionCollection, simulated: bool) -> Certificate:
    view = collection.view
    return Certificate(
        trust="POSITION",
        trust_words=TRUST_WORDS,
        bill=Bill((*world.policy.paid, *collection.survey.releases)),
        paid=world.policy.paid,
        policy=str(view.policy),
        classes={str(kind): size for kind, size in view.class_sizes.items() if size},
        response={str(kind): rate for kind, rate in collection.response_rates().items()},
        assumptions=assumptions_of(world),
        simulated=simulated,
    )
