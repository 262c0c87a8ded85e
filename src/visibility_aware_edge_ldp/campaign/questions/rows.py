"""The questions whose participants answer for their rows, with one randomized bit for each position.

"position" asks in one round or two. "triangles" asks for rows first, and then for one noisy sum over all first answers.
"""

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign.questions.question import (
    NO_CHOICE,
    Bits,
    Labels,
    Losses,
    Question,
    Received,
    RoundFormat,
    Stated,
    refuse_silence,
)
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION
from visibility_aware_edge_ldp.public.layout import octets
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.surveys import position, rows
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, RowSurvey, row_surveys
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

FirstSurvey = Callable[[Any], PositionSurvey]  # from a question's survey to the one that its rows answer

RESPONSE, SUMS = "randomized response", "row sums"
ASKS_BITS = "for each person listed after you in the roster, whether you are friends: one randomized bit each"
PAGE_ASKS_BITS = "for each of the others that it answers for, whether they are friends: one randomized bit each"
# Rows' reaches and sums are cut off here before they are sent.  [TRIANGLE.2]
FARTHEST = 1 << 61
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


def _row_format(number: int, first: FirstSurvey, asks: str) -> RoundFormat:
    """A round in which each row answers with a bit for each of its positions; round 1 can be chained to."""

    def thresholds(survey: object) -> dict[Visibility, int]:
        return {kind: first(survey).mechanism(kind, number).threshold for kind in NON_PUBLIC}

    return RoundFormat(
        asks,
        RESPONSE,
        lambda survey: {
            "kind": RESPONSE,
            "thresholds": {str(kind): str(value) for kind, value in thresholds(survey).items()},
        },
        _response_losses,
        lambda survey: position.LAYOUT.size(count=0),
        partial(_checked_row, first, number),
        thresholds if number == 1 else None,
        by_rows=True,
    )


def _response_losses(mechanism: Mapping[str, Any]) -> Losses:
    return {Visibility[kind]: response_loss(int(text)) for kind, text in mechanism["thresholds"].items()}


def _checked_row(first: FirstSurvey, number: int, survey: object, received: Received) -> PositionReport:
    report: PositionReport = received.decoded(position.LAYOUT, first(survey).identity)
    nodes, participant = received.view.n, received.participant
    start, count = row_start(nodes, participant), nodes - 1 - participant
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


def _row_holders(view: PublicView, survey: object) -> Bits:
    """Who holds a position that is not public."""
    return holders(view)


def _later_ends(participant: int, nodes: int) -> Bits:
    """The ends after this participant: it holds its positions with them.  [CHARTER.5]"""
    return np.arange(nodes) > participant


def _position_survey(
    view: PublicView, epsilon: Fraction, statistics: tuple[str, ...], split: tuple[Fraction, ...]
) -> PositionSurvey:
    return position_survey(view, epsilon, len(split) or 1, split[0] if split else Fraction(1, 2))


def _itself(survey: PositionSurvey) -> PositionSurvey:
    return survey


POSITION = Question(
    "position",
    PROTOCOLS["position"],
    _position_survey,
    _row_holders,
    _later_ends,
    (
        _row_format(1, _itself, ASKS_BITS),
        _row_format(
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
    splits=True,
)


def _first(survey: RowSurvey) -> PositionSurvey:
    return survey.first


def _shares(survey: RowSurvey) -> tuple[Fraction, ...]:
    first = survey.first.epsilon / survey.epsilon
    return first, 1 - first


def _stated_sums(survey: RowSurvey) -> Stated:
    multipliers = survey.multipliers
    steps: Stated = {str(kind): str(multipliers.of(kind) / multipliers.private) for kind in NON_PUBLIC}
    return {
        "kind": SUMS,
        "statistic": survey.statistic,
        "reach": str(survey.reach_noise.rate),
        "total": str(survey.total_noise.epsilon),
        "share": str(survey.share),
        "fineness": survey.fineness,
        "steps": steps,
    }


def _sums_loss(mechanism: Mapping[str, Any]) -> Losses:
    """Reach and sum are paid for once by each step of a change.  [TRIANGLE.1]"""
    one = Fraction(mechanism["reach"]) + Fraction(mechanism["total"])
    return {Visibility[kind]: Fraction(steps) * one for kind, steps in mechanism["steps"].items()}


def _checked_sum(survey: RowSurvey, received: Received) -> RowReport:
    report: RowReport = received.decoded(rows.LAYOUT, survey.identity)
    if (report.start, report.answered.size) != (received.participant, 1):
        raise ProtocolViolation("This is the report of another participant.")
    if received.transcript and report.transcript != received.transcript:
        raise ProtocolViolation("This report was made on another transcript than the one that was broadcast.")
    refuse_silence(bool(report.answered[0]))
    if any(abs(int(number)) > FARTHEST for number in (report.reaches[0], report.totals[0])):
        raise ProtocolViolation("A row's numbers are cut off at 2^61 before they are sent; these are beyond it.")
    return report


TRIANGLES = Question(
    "triangles",
    PROTOCOLS["rows"],
    lambda view, epsilon, statistics, split: row_surveys(view, epsilon, statistics)[statistics[0]],
    _row_holders,
    _later_ends,
    (
        _row_format(1, _first, f"{ASKS_BITS}; then one noisy sum over your list"),
        RoundFormat(
            "one sum over your friend list, computed from everybody's first answers, and its reach, with noise",
            SUMS,
            _stated_sums,
            _sums_loss,
            lambda survey: rows.LAYOUT.size(count=1),
            _checked_sum,
        ),
    ),
    Labels(
        f"{PAGE_ASKS_BITS}; then one sum over its friend list, with noise added",
        "each participant holds its own row of positions, randomizes each bit, and adds noise to its sum",
        "So many of those who answered move the estimate by no more than this while nobody is flagged: by their sums "
        "whatever else happens, and by their first answers in the mean over the others' noise.",
        (
            "Randomized bits, then a noisy sum",
            "Each bit, friends or not, is flipped by chance; noise is added to the sum of round 2.",
        ),
    ),
    shares=_shares,
    row_survey=_first,
    several=False,
    broadcasts=True,
    uses_public_edges=True,
)
