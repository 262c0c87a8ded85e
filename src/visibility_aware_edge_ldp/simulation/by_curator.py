"""CURATOR in a simulation: the centre answers each question for an epsilon of its own."""

from __future__ import annotations

from collections.abc import Sequence

from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.simulation.centre import Centre, survey_for
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of, positions_per_class

TRUST_WORDS = (
    "central, not local: a trusted centre holds the whole graph; the promise is against those who see its answers."
)


def by_curator(
    world: VisibilityAwareGraph, epsilon: Number, delta: Number, statistics: str | Sequence[str], seed: int | str | None
) -> Answers:
    """The centre answers every question once."""
    survey = survey_for(world, epsilon, delta, statistics)
    answers = Centre(world).ask(survey, seed)
    kept_back = [name for name, answer in answers.items() if not answer.evidence.releasable]
    return Answers(
        {name: answer.estimate for name, answer in answers.items()},
        Certificate(
            trust="CURATOR",
            trust_words=TRUST_WORDS,
            bill=Bill((*world.policy.paid, *survey.releases)),
            paid=world.policy.paid,
            policy=str(world.policy),
            classes=positions_per_class(world),
            response={},
            assumptions=(*assumptions_of(world), "nobody but the centre sees the graph"),
            simulated=seed is not None,
            local=False,
            not_for_release=tuple(kept_back),
        ),
    )
