"""The questions that ask for counts with noise.

"degrees" asks everybody how many friends it has in each class, and "hubs" asks public hubs how many triangles they see.
"""

from collections.abc import Mapping
from fractions import Fraction
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
from visibility_aware_edge_ldp.campaign.signed_documents import Content
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.surveys import degrees, hubs
from visibility_aware_edge_ldp.public.surveys.degrees import LISTS, DegreeReport, DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, HubReport, HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

LAPLACE, COUNTS = "discrete Laplace", "hub counts"


def _stated_degrees(survey: DegreeSurvey) -> Stated:
    rates: Stated = {str(kind): str(survey.mechanism(kind).rate) for kind in survey.classes}
    return {"kind": LAPLACE, "rates": rates, "lists": LISTS}


def _degrees_loss(mechanism: Mapping[str, Any]) -> Losses:
    """An edge stands in two lists, and each end's number moves by one.  [DEGREE.2]"""
    return {Visibility[kind]: mechanism["lists"] * Fraction(rate) for kind, rate in mechanism["rates"].items()}


def _checked_degrees(survey: DegreeSurvey, received: Received) -> DegreeReport:
    report: DegreeReport = received.decoded(degrees.LAYOUT, survey.identity)
    if (report.start, report.count, report.classes) != (received.participant, 1, len(survey.classes)):
        raise ProtocolViolation("This is the report of another participant, or of other classes than are asked.")
    refuse_silence(bool(report.answered[0]))
    return report


DEGREES = Question(
    "degrees",
    PROTOCOLS["degrees"],
    lambda view, epsilon, statistics, split: degree_survey(view, epsilon),
    lambda view, survey: np.asarray(view.users_with(survey.classes).any(axis=0)),
    # An edge is charged at what both ends' reports cost, so nothing of it is left to others.
    lambda participant, nodes: np.ones(nodes, np.bool_),
    (
        RoundFormat(
            "how many friends you have in each class, with noise",
            LAPLACE,
            _stated_degrees,
            _degrees_loss,
            lambda survey: degrees.LAYOUT.size(count=1, classes=len(survey.classes)),
            _checked_degrees,
        ),
    ),
    Labels(
        "how many friends it has, with noise added",
        "each participant holds its own friend list and adds noise to its numbers before they are sent",
        f"{NO_CHOICE}, while nobody is flagged.",
        ("Noisy numbers", "Noise is added to each number of friends. Nobody can tell how much."),
    ),
)


def _stated_hubs(survey: HubSurvey) -> Stated:
    loose, plan = survey.loose_noise, survey.plan
    noise: Stated = {
        number: {"epsilon": str(each.epsilon), "share": str(each.share)} for number, each in survey.noises.items()
    }
    return {
        "kind": COUNTS,
        "sharing": survey.kind,
        "hubs": list[Content](plan.hubs),
        "keep": plan.keep,
        "plan": plan.digest,
        "noise": noise,
        "floors": {number: survey.floors(number).tolist() for number in survey.numbers},
        "loose": "0" if loose is None else str(loose.rate),
        "loose reach": plan.most_reached(True),
        "classes": [str(kind) for kind in survey.classes],
    }


def _hubs_loss(mechanism: Mapping[str, Any]) -> Losses:
    """The worse of a position that some territory holds, and of one that none does.  [HUB.5]"""
    noise = {number: Fraction(each["epsilon"]) for number, each in mechanism["noise"].items()}
    reach, held = mechanism["loose reach"], sum(noise.values(), Fraction(0))
    counted = noise["rest"] if mechanism["sharing"] == PLAIN else noise["all"] * Fraction(reach, reach + 1)
    worse = max(held, counted + Fraction(mechanism["loose"]))
    return {Visibility[kind]: worse for kind in mechanism["classes"]}


def _checked_hub(survey: HubSurvey, received: Received) -> HubReport:
    report: HubReport = received.decoded(hubs.LAYOUT, survey.identity)
    if (report.hub, len(report.values)) != (survey.plan.hubs.index(received.participant), len(survey.numbers)):
        raise ProtocolViolation("This is the report of another hub, or of other numbers than are asked.")
    if survey.loose_noise is None and report.loose:
        raise ProtocolViolation("No loose edges are asked for, and this report counts some.")
    return report


def _hubs_asked(view: PublicView, survey: HubSurvey) -> Bits:
    return np.isin(np.arange(view.n), survey.plan.hubs)


HUBS = Question(
    "hubs",
    PROTOCOLS["hubs"],
    lambda view, epsilon, statistics, split: hub_survey(view, epsilon),
    _hubs_asked,
    lambda participant, nodes: np.zeros(nodes, np.bool_),  # a hub's own report costs positions between two others
    (
        RoundFormat(
            "how many triangles there are among the people you see, with noise",
            COUNTS,
            _stated_hubs,
            _hubs_loss,
            lambda survey: hubs.LAYOUT.size(count=len(survey.numbers)),
            _checked_hub,
        ),
    ),
    Labels(
        "how many triangles there are among the people it sees, with noise added",
        "each public hub sees its friends' friends, counts, and adds noise before it sends",
        f"{NO_CHOICE}, while nobody is flagged.",
        ("Noisy counts", "Noise is added to each count of triangles. Nobody can tell how much."),
        ("What a hub sees", "Its friends’ friendships are read there, and never leave the device."),
    ),
    sees_edges=True,
    uses_public_edges=True,
)
