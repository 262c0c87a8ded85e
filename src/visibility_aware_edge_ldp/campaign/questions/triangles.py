"""The question "triangles": rows of randomized bits, then from everybody one noisy sum over all first answers."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from visibility_aware_edge_ldp.campaign.questions.position import (
    ASKS_BITS,
    PAGE_ASKS_BITS,
    earlier_ends,
    later_ends,
    row_format,
    row_holders,
)
from visibility_aware_edge_ldp.campaign.questions.question import (
    Labels,
    Losses,
    Question,
    Received,
    RoundFormat,
    Stated,
    refuse_other_survey,
    refuse_silence,
)
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys import rows
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.rows import STATISTICS, RowReport, RowSurvey, row_surveys
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

SUMS = "row sums"
# Rows' reaches and sums are cut off here before they are sent.  [TRIANGLE.2]
FARTHEST = 1 << 61


def _first(survey: RowSurvey) -> PositionSurvey:
    return survey.first


def _shares(survey: RowSurvey) -> tuple[Fraction, ...]:
    first = survey.first.epsilon / survey.epsilon
    return first, 1 - first


def _stated(survey: RowSurvey) -> Stated:
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


def _loss(mechanism: Mapping[str, Any]) -> Losses:
    """Reach and sum are paid for once by each step of a change.  [TRIANGLE.1]"""
    one = Fraction(mechanism["reach"]) + Fraction(mechanism["total"])
    return {Visibility[kind]: Fraction(steps) * one for kind, steps in mechanism["steps"].items()}


def _head(survey: RowSurvey) -> int:
    return rows.LAYOUT.size(count=1)


def _checked(survey: RowSurvey, received: Received) -> RowReport:
    report = rows.decode_rows(received.data)
    refuse_other_survey(survey.identity, report.survey)
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
    USER,
    (2,),
    STATISTICS,
    lambda view, epsilon, statistics, split: row_surveys(view, epsilon, statistics)[statistics[0]],
    row_holders,
    later_ends,
    earlier_ends,
    (
        row_format(1, _first, f"{ASKS_BITS}; then one noisy sum over your list"),
        RoundFormat(
            "one sum over your friend list, computed from everybody's first answers, and its reach, with noise",
            SUMS,
            _stated,
            _loss,
            _head,
            _checked,
            quadratic=True,
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
