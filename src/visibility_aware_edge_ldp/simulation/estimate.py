"""``va.estimate``: simulate all clients on a graph we hold, and estimate."""

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
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_delta, exact_share
from visibility_aware_edge_ldp.public.curator_survey import QUERIES
from visibility_aware_edge_ldp.public.survey import position_survey
from visibility_aware_edge_ldp.simulation.centre import Centre, survey_for
from visibility_aware_edge_ldp.simulation.memory import refuse_too_large
from visibility_aware_edge_ldp.simulation.population import collect
from visibility_aware_edge_ldp.subgraphs.statistic import DEFAULT, check_statistics, possible

TRUST_WORDS = {
    "position": "one reporter holds one bit and randomizes it before it is sent; the aggregator is not trusted.",
    "curator": (
        "central, not local: a trusted centre holds the whole graph; the promise is against those who see its answers."
    ),
}
MOST_COUNTED = 200_000_000
POLICY_ASSUMPTION = "which positions are public follows from public knowledge alone"
ROSTER_ASSUMPTION = "the list of nodes is public knowledge"
ESTIMATORS: dict[str, Callable[[PositionCollection, Sequence[str]], dict[str, Estimate]]] = {
    "unbiased": estimate_position,
    "ipw_capped": estimate_ipw_capped,
}


def estimate(
    world: VisibilityAwareGraph,
    trust: str = "position",
    epsilon: Number = 1,
    statistics: str | Sequence[str] | None = None,
    *,
    rounds: int = 1,
    delta: Number = 0,
    dropout: float = 0.0,
    estimator: str = "unbiased",
    seed: int | str | None = None,
) -> Answers:
    """Let everybody answer once, and estimate all statistics from the answers.

    Parameters
    ----------
    world
        The graph and its visibility policy.
    trust
        The trust model: "position" (nobody is trusted) or "curator" (a trusted centre).
    epsilon
        The loss per PRIVATE edge, twice that per FRIEND_VISIBLE edge. In the position model once for
        all statistics together; a curator pays it for each statistic, and the bill says what they sum to.
    statistics
        Names such as "edges", "triangles", "stars:3"; "all" for every one. Default: those of the trust model.
    rounds
        Position model: 1, or 2 as in the source documents (one is better).
    delta
        Curator: 0 for pure noise (Student-t), above 0 for Laplace noise on smooth bounds. Randomized response
        is pure, so the position model leaves it unspent.
    dropout
        Position model: the share of positions that never take part.
    estimator
        Position model: "unbiased", or "ipw_capped" for the source documents' own.
    seed
        Makes the run repeatable, and therefore not private.

    Returns
    -------
    Answers
        Estimates by name, with standard errors, intervals, the bill and the certificate.
    """
    check_world(world)
    check_trust(trust)
    exact_delta(delta)
    if trust == "curator":
        if rounds != 1 or dropout or estimator != "unbiased":
            raise BadInput("Rounds, dropout and estimator belong to the position model; a curator answers at once.")
        asked = possible(QUERIES, world.graph.n) if statistics is None else statistics
        return _by_curator(world, epsilon, delta, asked, seed)
    if estimator not in ESTIMATORS:
        raise BadInput(f"{estimator!r} is not an estimator; use {' or '.join(ESTIMATORS)}.")
    if exact_share(dropout, "dropout") == 1:
        raise BadInput("With a dropout of 1 nobody answers; choose a smaller share.")
    defaults = possible(DEFAULT, world.graph.n)
    wanted = check_statistics(defaults if statistics is None else statistics, world.graph.n)
    survey = position_survey(world.public, epsilon, rounds)
    refuse_too_large(world.graph.n, rounds)
    collection = collect(world, survey, seed, dropout)
    return Answers(
        ESTIMATORS[estimator](collection, wanted), _position_certificate(world, collection, seed is not None)
    )


def check_world(world: object) -> None:
    """A graph alone does not say who may know what."""
    if not isinstance(world, VisibilityAwareGraph):
        raise BadInput(
            f"A world is needed, not a {type(world).__name__}: wrap the graph, as in "
            "va.VisibilityAwareGraph(graph, va.VisibilityPolicy.nothing())."
        )


def check_trust(trust: str) -> None:
    """Only trust models that this version has."""
    if trust not in TRUST_WORDS:
        raise BadInput(f"{trust!r} is not a trust model of this version; use {' or '.join(TRUST_WORDS)}.")


def _by_curator(
    world: VisibilityAwareGraph, epsilon: Number, delta: Number, statistics: str | Sequence[str], seed: int | str | None
) -> Answers:
    survey = survey_for(world, epsilon, delta, statistics)
    answers = Centre(world).ask(survey, seed)
    kept_back = [name for name, answer in answers.items() if not answer.evidence.releasable]
    return Answers(
        {name: answer.estimate for name, answer in answers.items()},
        Certificate(
            trust="CURATOR",
            trust_words=TRUST_WORDS["curator"],
            bill=Bill(survey.releases),
            policy=str(world.policy),
            classes=_classes(world),
            response={},
            assumptions=(*assumptions_of(world), "nobody but the centre sees the graph"),
            simulated=seed is not None,
            local=False,
            not_for_release=tuple(kept_back),
        ),
    )


def _classes(world: VisibilityAwareGraph) -> dict[str, int]:
    """Positions per class, counted where there are not too many to look at each."""
    if world.public.positions > MOST_COUNTED:
        return {}
    return {str(kind): size for kind, size in world.public.class_sizes.items() if size}


def assumptions_of(world: VisibilityAwareGraph) -> tuple[str, ...]:
    """What must be public knowledge for the promise to hold."""
    return POLICY_ASSUMPTION, ROSTER_ASSUMPTION, *world.policy.assumptions, *world.graph.assumptions


def _position_certificate(world: VisibilityAwareGraph, collection: PositionCollection, simulated: bool) -> Certificate:
    view = collection.view
    return Certificate(
        trust="POSITION",
        trust_words=TRUST_WORDS["position"],
        bill=Bill(collection.survey.releases),
        policy=str(view.policy),
        classes={str(kind): size for kind, size in view.class_sizes.items() if size},
        response={str(kind): rate for kind, rate in collection.response_rates().items()},
        assumptions=assumptions_of(world),
        simulated=simulated,
    )
