"""What a campaign can ask: each question one value, a protocol with its rounds and its words."""

from collections.abc import Sequence
from fractions import Fraction

from visibility_aware_edge_ldp.campaign.questions.counts import DEGREES, HUBS
from visibility_aware_edge_ldp.campaign.questions.question import Losses, Question, Stated
from visibility_aware_edge_ldp.campaign.questions.rows import POSITION, TRIANGLES
from visibility_aware_edge_ldp.errors import BadInput, did_you_mean

QUESTIONS: dict[str, Question] = {each.name: each for each in (POSITION, DEGREES, TRIANGLES, HUBS)}
_LOSSES = {each.mechanism: each.loss for question in QUESTIONS.values() for each in question.formats}


def question_named(name: str) -> Question:
    """The question of this name; refuses an unknown one."""
    if name not in QUESTIONS:
        raise BadInput(f"{name!r} is not a question; ask one of {', '.join(QUESTIONS)}.{did_you_mean(name, QUESTIONS)}")
    return QUESTIONS[name]


def round_loss(mechanism: Stated) -> Losses:
    """What an edge of each class loses by all reports of a round, from the stated integers alone, rounded up."""
    return _LOSSES[str(mechanism["kind"])](mechanism)


def total_loss(mechanisms: Sequence[Stated]) -> Losses:
    """What an edge of each class loses by all rounds together: losses add.  [COMPOSITION.1]"""
    rounds = [round_loss(mechanism) for mechanism in mechanisms]
    return {kind: sum((each[kind] for each in rounds), Fraction(0)) for kind in rounds[0]}
