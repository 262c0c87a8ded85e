"""The question "hubs": public hubs count the triangles that they see, with noise."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign.questions.position import NO_CHOICE
from visibility_aware_edge_ldp.campaign.questions.question import (
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
)
from visibility_aware_edge_ldp.campaign.signed_documents import Content
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys import hubs
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, HubReport, HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.trust import NEIGHBOURHOOD
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

COUNTS = "hub counts"


def _stated(survey: HubSurvey) -> Stated:
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


def _loss(mechanism: Mapping[str, Any]) -> Losses:
    """The worse of a position that some territory holds, and of one that none does.  [HUB.5]"""
    noise = {number: Fraction(each["epsilon"]) for number, each in mechanism["noise"].items()}
    reach, held = mechanism["loose reach"], sum(noise.values(), Fraction(0))
    counted = noise["rest"] if mechanism["sharing"] == PLAIN else noise["all"] * Fraction(reach, reach + 1)
    worse = max(held, counted + Fraction(mechanism["loose"]))
    return {Visibility[kind]: worse for kind in mechanism["classes"]}


def _head(survey: HubSurvey) -> int:
    return hubs.LAYOUT.size(count=len(survey.numbers))


def _checked(survey: HubSurvey, received: Received) -> HubReport:
    report = hubs.decode_hub(received.data)
    refuse_other_survey(survey.identity, report.survey)
    if (report.hub, len(report.values)) != (survey.plan.hubs.index(received.participant), len(survey.numbers)):
        raise ProtocolViolation("This is the report of another hub, or of other numbers than are asked.")
    if survey.loose_noise is None and report.loose:
        raise ProtocolViolation("No loose edges are asked for, and this report counts some.")
    return report


def _asked(view: PublicView, survey: HubSurvey) -> Bits:
    asked = np.zeros(view.n, np.bool_)
    asked[list(survey.plan.hubs)] = True
    return asked


HUBS = Question(
    "hubs",
    NEIGHBOURHOOD,
    (1,),
    ("triangles",),
    lambda view, epsilon, statistics, split: hub_survey(view, epsilon),
    _asked,
    nobody,  # a hub's own report costs positions between two others
    everybody,
    (
        RoundFormat(
            "how many triangles there are among the people you see, with noise",
            COUNTS,
            _stated,
            _loss,
            _head,
            _checked,
            quadratic=True,
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
