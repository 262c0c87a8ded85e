"""The question "position": each row of positions, one randomized bit for each, in one round or two."""

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign.questions.question import (
    STARS,
    Bits,
    Labels,
    Losses,
    Question,
    Received,
    RoundFormat,
    Stated,
    refuse_other_survey,
)
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION
from visibility_aware_edge_ldp.public.layout import octets
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.statistic import PLAIN
from visibility_aware_edge_ldp.public.surveys import position
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.public.trust import POSITION as POSITION_TRUST
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

RowSurvey = Callable[[Any], PositionSurvey]

RESPONSE = "randomized response"
ASKS_BITS = "for each person listed after you in the roster, whether you are friends: one randomized bit each"
PAGE_ASKS_BITS = "for each of the others that it answers for, whether they are friends: one randomized bit each"
NO_CHOICE = (
    "If so many of those who answered lied, whoever they are and whatever they sent, they moved the estimate by no "
    "more than this"
)
_UP = Context(prec=90, rounding=ROUND_CEILING)
_LAST_DIGIT = Decimal("1e-60")


@cache
def response_loss(threshold: int) -> Fraction:
    """ln((2^64 − T)/T), rounded up: what randomized response with this threshold loses.  [RR.1]"""
    if not 0 < 2 * threshold < RESOLUTION:
        raise ProtocolViolation(f"A flip threshold is above 0 and below 2^63; {threshold} protects nothing.")
    ratio = _UP.divide(Decimal(RESOLUTION - threshold), Decimal(threshold))
    # The logarithm is right to half a unit of its ninetieth digit, whichever way it was rounded.
    logarithm = _UP.add(_UP.ln(ratio), Decimal("1e-80"))
    return Fraction(logarithm.quantize(_LAST_DIGIT, ROUND_CEILING, _UP))


def row_format(number: int, row_survey: RowSurvey, asks: str) -> RoundFormat:
    """A round in which each row answers with a bit for each of its positions; round 1 can be chained to."""
    return RoundFormat(
        asks,
        RESPONSE,
        partial(_stated, row_survey, number),
        _loss,
        lambda survey: position.LAYOUT.size(count=0),
        partial(_checked_row, row_survey, number),
        partial(_thresholds, row_survey) if number == 1 else None,
        by_rows=True,
    )


def later_ends(participant: int, nodes: int) -> Bits:
    """The ends after this participant: it holds its positions with them.  [CHARTER.5]"""
    return np.arange(nodes) > participant


def earlier_ends(participant: int, nodes: int) -> Bits:
    """The ends before this participant: they hold their positions with it."""
    return np.arange(nodes) < participant


def row_holders(view: PublicView, survey: object) -> Bits:
    """Who holds a position that is not public."""
    return holders(view)


def _thresholds(row_survey: RowSurvey, survey: object) -> dict[Visibility, int]:
    return {kind: row_survey(survey).mechanism(kind, 1).threshold for kind in NON_PUBLIC}


def _stated(row_survey: RowSurvey, number: int, survey: object) -> Stated:
    own = row_survey(survey)
    thresholds: Stated = {str(kind): str(own.mechanism(kind, number).threshold) for kind in NON_PUBLIC}
    return {"kind": RESPONSE, "thresholds": thresholds}


def _loss(mechanism: Mapping[str, Any]) -> Losses:
    return {Visibility[kind]: response_loss(int(text)) for kind, text in mechanism["thresholds"].items()}


def _checked_row(row_survey: RowSurvey, number: int, survey: object, received: Received) -> PositionReport:
    report, nodes, participant = position.decode(received.data), received.view.n, received.participant
    start, count = row_start(nodes, participant), nodes - 1 - participant
    refuse_other_survey(row_survey(survey).identity, report.survey)
    if (report.round, report.start, report.count) != (number, start, count):
        raise ProtocolViolation("This is the report of another participant or another round.")
    if report.answered != received.row_mask(participant).tobytes():
        raise ProtocolViolation("A row answers as a whole: for all of its positions that are not public, and no other.")
    if number == 2 and received.first is not None:
        if len(received.first) != len(received.data):
            raise ProtocolViolation("Both reports of a row have one size; that of round 1 is another participant's.")
        before, ones = (np.frombuffer(each, np.uint8) for each in (received.first[-octets(count) :], report.ones))
        if (ones & ~before).any():
            raise ProtocolViolation("Round 2 asks those who said 1 in round 1; this report answers for others.")
    return report


def _survey(
    view: PublicView, epsilon: Fraction, statistics: tuple[str, ...], split: tuple[Fraction, ...]
) -> PositionSurvey:
    return position_survey(view, epsilon, len(split) or 1, split[0] if split else Fraction(1, 2))


def _itself(survey: PositionSurvey) -> PositionSurvey:
    return survey


POSITION = Question(
    "position",
    POSITION_TRUST,
    (1, 2),
    PLAIN,
    _survey,
    row_holders,
    later_ends,
    earlier_ends,
    (
        row_format(1, _itself, ASKS_BITS),
        row_format(
            2, _itself, "once more, where your first answer was 1, whether you are friends: one randomized bit each"
        ),
    ),
    Labels(
        PAGE_ASKS_BITS,
        "each participant holds its own row of positions and randomizes each bit before it is sent",
        f"{NO_CHOICE}.",
        ("Randomized bits", "Each bit, friends or not, is flipped by chance. Nobody can tell which were."),
    ),
    shares=lambda survey: survey.shares,
    row_survey=_itself,
    families=(STARS,),
    splits=True,
)
