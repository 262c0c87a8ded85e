"""The integers of a question's mechanisms: what a charter states, and the loss that follows from them.  [CHARTER.3]

Both sides compute them from epsilon, the policy and the public edges; nobody takes a threshold or a scale from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from visibility_aware_edge_ldp.campaign.canonical import Content, shortened
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION
from visibility_aware_edge_ldp.public.degree_survey import LISTS, DegreeSurvey
from visibility_aware_edge_ldp.public.hub_survey import PLAIN, HubSurvey
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Survey: TypeAlias = PositionSurvey | DegreeSurvey | TriangleSurvey | HubSurvey
Stated: TypeAlias = dict[str, Content]
Losses: TypeAlias = dict[Visibility, Fraction]

RESPONSE, LAPLACE, SUMS, COUNTS = "randomized response", "discrete Laplace", "row sums", "hub counts"
_UP = Context(prec=90, rounding=ROUND_CEILING)
_LAST_DIGIT = Decimal("1e-60")


def stated(survey: Survey) -> tuple[Stated, ...]:
    """For each round, the integers that its mechanism is sampled with."""
    if isinstance(survey, PositionSurvey):
        return tuple(_responses(survey, number) for number in range(1, survey.rounds + 1))
    if isinstance(survey, DegreeSurvey):
        return (_degrees(survey),)
    if isinstance(survey, TriangleSurvey):
        return _responses(survey.first, 1), _row_sums(survey)
    return (_hub_counts(survey),)


def shares(survey: Survey) -> tuple[Fraction, ...]:
    """Each round's part of epsilon."""
    if isinstance(survey, PositionSurvey):
        return survey.shares
    if isinstance(survey, TriangleSurvey):
        first = survey.first.epsilon / survey.epsilon
        return first, 1 - first
    return (Fraction(1),)


def round_loss(mechanism: Stated) -> Losses:
    """What an edge of each class loses by all reports of a round, from the stated integers alone, rounded up."""
    losses: dict[Content, Any] = {RESPONSE: _of_responses, LAPLACE: _of_laplace, SUMS: _of_sums, COUNTS: _of_counts}
    found: Losses = losses[mechanism["kind"]](mechanism)
    return found


def total_loss(mechanisms: Sequence[Stated]) -> Losses:
    """What an edge of each class loses by all rounds together: losses add.  [COMPOSITION.1]"""
    rounds = [round_loss(mechanism) for mechanism in mechanisms]
    return {kind: sum((each[kind] for each in rounds), Fraction(0)) for kind in rounds[0]}


@cache
def response_loss(threshold: int) -> Fraction:
    """ln((2^64 − T)/T), rounded up: what randomized response with this threshold loses.  [RR.1]"""
    if not 0 < 2 * threshold < RESOLUTION:
        raise ProtocolViolation(f"A flip threshold is above 0 and below 2^63; {threshold} protects nothing.")
    ratio = _UP.divide(Decimal(RESOLUTION - threshold), Decimal(threshold))
    # The logarithm is right to half a unit of its ninetieth digit, whichever way it was rounded.
    logarithm = _UP.add(_UP.ln(ratio), Decimal("1e-80"))
    return Fraction(logarithm.quantize(_LAST_DIGIT, ROUND_CEILING, _UP))


def refuse_misstated(charter: Charter, survey: Survey) -> None:
    """Refuses a charter that states anything else than what follows from epsilon, the policy and the public edges."""
    own: dict[str, Any] = {"shares": [str(each) for each in shares(survey)], "mechanisms": list(stated(survey))}
    said: dict[str, Any] = {"shares": [str(each) for each in charter.shares], "mechanisms": list(charter.mechanisms)}
    other = _difference(said, own, "")
    if other is not None:
        raise ProtocolViolation(f"The charter does not follow from its epsilon: {other}; do not answer it.")
    if charter.survey != survey.identity:
        raise ProtocolViolation("The charter names another survey than the one that its question is; do not answer it.")


def _difference(said: Content, own: Content, where: str) -> str | None:
    """The first place where two values differ, in words."""
    if said == own and type(said) is type(own):
        return None
    if isinstance(said, dict) and isinstance(own, dict) and said.keys() == own.keys():
        return next(found for key in own if (found := _difference(said[key], own[key], f"{where} {key}")))
    if isinstance(said, list) and isinstance(own, list) and len(said) == len(own):
        pairs = enumerate(zip(said, own, strict=True), 1)
        return next(found for i, (a, b) in pairs if (found := _difference(a, b, f"{where} {i}")))
    return f"of{where} it states {shortened(said)}, and {shortened(own)} follows"


def refuse_loss(charter: Charter, view: PublicView) -> None:
    """Refuses a charter whose integers cost more than its epsilon says.  [CHARTER.3]"""
    for kind, loss in total_loss(charter.mechanisms).items():
        if loss > view.policy.multiplier(kind) * charter.epsilon:
            raise ProtocolViolation(
                f"The charter's integers cost more per {kind} edge than its epsilon; do not answer it."
            )


def _responses(survey: PositionSurvey, number: int) -> Stated:
    thresholds: Stated = {str(kind): str(survey.mechanism(kind, number).threshold) for kind in NON_PUBLIC}
    return {"kind": RESPONSE, "thresholds": thresholds}


def _of_responses(mechanism: Mapping[str, Any]) -> Losses:
    return {Visibility[kind]: response_loss(int(text)) for kind, text in mechanism["thresholds"].items()}


def _degrees(survey: DegreeSurvey) -> Stated:
    rates: Stated = {str(kind): str(survey.mechanism(kind).rate) for kind in survey.classes}
    return {"kind": LAPLACE, "rates": rates, "lists": LISTS}


def _of_laplace(mechanism: Mapping[str, Any]) -> Losses:
    """An edge stands in two lists, and each end's number moves by one.  [DEGREE.2]"""
    return {Visibility[kind]: mechanism["lists"] * Fraction(rate) for kind, rate in mechanism["rates"].items()}


def _row_sums(survey: TriangleSurvey) -> Stated:
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


def _of_sums(mechanism: Mapping[str, Any]) -> Losses:
    """Reach and sum are paid for once by each step of a change.  [TRIANGLE.1]"""
    one = Fraction(mechanism["reach"]) + Fraction(mechanism["total"])
    return {Visibility[kind]: Fraction(steps) * one for kind, steps in mechanism["steps"].items()}


def _hub_counts(survey: HubSurvey) -> Stated:
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


def _of_counts(mechanism: Mapping[str, Any]) -> Losses:
    """The worse of a position that some territory holds, and of one that none does.  [HUB.5]"""
    noise = {number: Fraction(each["epsilon"]) for number, each in mechanism["noise"].items()}
    reach, held = mechanism["loose reach"], sum(noise.values(), Fraction(0))
    counted = noise["rest"] if mechanism["sharing"] == PLAIN else noise["all"] * Fraction(reach, reach + 1)
    worse = max(held, counted + Fraction(mechanism["loose"]))
    return {Visibility[kind]: worse for kind in mechanism["classes"]}
