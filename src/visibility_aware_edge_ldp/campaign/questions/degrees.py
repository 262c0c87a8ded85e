"""The question "degrees": everybody's number of friends in each class, with noise."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign.questions.position import NO_CHOICE
from visibility_aware_edge_ldp.campaign.questions.question import (
    STARS,
    TAILS,
    Bits,
    Labels,
    Losses,
    Question,
    Received,
    RoundFormat,
    Stated,
    everybody,
    nobody,
    refuse_other_survey,
    refuse_silence,
)
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.policy.private_members import users_with
from visibility_aware_edge_ldp.public.statistic import STATISTICS
from visibility_aware_edge_ldp.public.surveys import degrees as degree_layout
from visibility_aware_edge_ldp.public.surveys.degrees import LISTS, DegreeReport, DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

LAPLACE = "discrete Laplace"


def _stated(survey: DegreeSurvey) -> Stated:
    rates: Stated = {str(kind): str(survey.mechanism(kind).rate) for kind in survey.classes}
    return {"kind": LAPLACE, "rates": rates, "lists": LISTS}


def _loss(mechanism: Mapping[str, Any]) -> Losses:
    """An edge stands in two lists, and each end's number moves by one.  [DEGREE.2]"""
    return {Visibility[kind]: mechanism["lists"] * Fraction(rate) for kind, rate in mechanism["rates"].items()}


def _head(survey: DegreeSurvey) -> int:
    return degree_layout.LAYOUT.size(count=1, classes=len(survey.classes))


def _checked(survey: DegreeSurvey, received: Received) -> DegreeReport:
    report = degree_layout.decode(received.data)
    refuse_other_survey(survey.identity, report.survey)
    if (report.start, report.count, report.classes) != (received.participant, 1, len(survey.classes)):
        raise ProtocolViolation("This is the report of another participant, or of other classes than are asked.")
    refuse_silence(bool(report.answered[0]))
    return report


def _asked(view: PublicView, survey: DegreeSurvey) -> Bits:
    return np.asarray(users_with(view, survey.classes).any(axis=0))


DEGREES = Question(
    "degrees",
    USER,
    (1,),
    tuple(name for name, each in STATISTICS.items() if each.from_degrees),
    lambda view, epsilon, statistics, split: degree_survey(view, epsilon),
    _asked,
    everybody,
    nobody,  # an edge is charged at what both ends' reports cost, so nothing of it is left to others
    (RoundFormat("how many friends you have in each class, with noise", LAPLACE, _stated, _loss, _head, _checked),),
    Labels(
        "how many friends it has, with noise added",
        "each participant holds its own friend list and adds noise to its numbers before they are sent",
        f"{NO_CHOICE}, while nobody is flagged.",
        ("Noisy numbers", "Noise is added to each number of friends. Nobody can tell how much."),
    ),
    families=(STARS, TAILS),
)
