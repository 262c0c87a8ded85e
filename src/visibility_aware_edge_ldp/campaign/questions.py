"""The questions that a campaign can ask, by name: each one value, a protocol with its rounds and its words.

Rows answer with one randomized bit for each position: "position" in one round or two, "triangles" with one noisy sum
over all first answers in round 2. Counts are sent with noise: "degrees" asks everybody how many friends it has in each
class, "groups" how many in each public group, and "hubs" asks public hubs how many triangles they see.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign import waves
from visibility_aware_edge_ldp.campaign.question import (
    NO_CHOICE,
    Bits,
    Labels,
    Losses,
    Question,
    Received,
    RoundFormat,
    Stated,
    refuse_silence,
    response_loss,
    row_format,
)
from visibility_aware_edge_ldp.campaign.signed_documents import Content
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, did_you_mean
from visibility_aware_edge_ldp.public.layout import Layout
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.surveys import degrees, groups, hubs, rows
from visibility_aware_edge_ldp.public.surveys.degrees import LISTS, DegreeReport, DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, HubReport, HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.surveys.row_parts import PartRule, PartSurvey, part_survey
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, RowSurvey, row_surveys
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

LAPLACE, COUNTS, SUMS, PART_SUMS = "discrete Laplace", "hub counts", "row sums", "row sums over a part"
ASKS_BITS = "for each person listed after you in the roster, whether you are friends: one randomized bit each"
PAGE_ASKS_BITS = "for each of the others that it answers for, whether they are friends: one randomized bit each"
PAGE_ASKS_CHANGES = (
    "for each of the others that it answers for, whether they became friends since it last answered, and whether they "
    "ceased to be: two randomized bits each"
)
# Rows' reaches and sums are cut off here before they are sent.  [TRIANGLE.2]
FARTHEST = 1 << 61


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
        row_format(1, _first, f"{ASKS_BITS}; then one noisy sum over your list"),
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


def _stated_degrees(survey: DegreeSurvey) -> Stated:
    rates: Stated = {str(kind): str(survey.mechanism(kind).rate) for kind in survey.classes}
    return {"kind": LAPLACE, "rates": rates, "lists": LISTS}


def _degrees_loss(mechanism: Mapping[str, Any]) -> Losses:
    """An edge stands in two lists, and each end's number moves by one.  [DEGREE.2]"""
    return {Visibility[kind]: mechanism["lists"] * Fraction(rate) for kind, rate in mechanism["rates"].items()}


def _checked_numbers(layout: Layout[Any], survey: DegreeSurvey, received: Received) -> DegreeReport:
    report: DegreeReport = received.decoded(layout, survey.identity)
    if (report.start, report.count, report.classes) != (received.participant, 1, len(survey.asked)):
        raise ProtocolViolation("This is the report of another participant, or of other numbers than are asked.")
    refuse_silence(bool(report.answered[0]))
    return report


def _of_numbers(
    name: str, survey: Callable[[PublicView, Fraction], DegreeSurvey], layout: Layout[Any], asks: str, by_groups: bool
) -> Question:
    """A question about everybody's numbers of friends, each sent with noise."""
    return Question(
        name,
        PROTOCOLS[name],
        lambda view, epsilon, statistics, split: survey(view, epsilon),
        lambda view, survey: np.asarray(view.users_with(survey.classes).any(axis=0)),
        # An edge is charged at what both ends' reports cost, so nothing of it is left to others.
        lambda participant, nodes: np.ones(nodes, np.bool_),
        (
            RoundFormat(
                f"how many friends you have in each {asks}, with noise",
                LAPLACE,
                _stated_degrees,
                _degrees_loss,
                lambda survey: layout.size(count=1, classes=len(survey.asked)),
                partial(_checked_numbers, layout),
            ),
        ),
        Labels(
            f"how many friends it has{' in each group' if by_groups else ''}, with noise added",
            "each participant holds its own friend list and adds noise to its numbers before they are sent",
            f"{NO_CHOICE}, while nobody is flagged.",
            ("Noisy numbers", "Noise is added to each number of friends. Nobody can tell how much."),
        ),
        by_groups=by_groups,
    )


def _stated_part_sums(survey: PartSurvey) -> Stated:
    parts: Stated = {"kind": PART_SUMS, "groups": survey.groups, "parts": survey.parts}
    return {**_stated_sums(survey), **parts}


_PART_FORMATS = (
    TRIANGLES.formats[0],
    replace(
        TRIANGLES.formats[1],
        asks="one sum over your friend list, computed from the part of everybody's first answers that the public coin "
        "gives you, and the list's length, with noise",
        mechanism=PART_SUMS,
        stated=_stated_part_sums,
    ),
)


def _in_parts(rule: PartRule) -> Question:
    """Triangles where each participant downloads one part of the first answers.  [PARTS.0]"""
    return replace(
        TRIANGLES,
        name="parts",
        survey=lambda view, epsilon, statistics, split: _part_survey(view, epsilon, rule),
        formats=_PART_FORMATS,
    )


def _part_survey(view: PublicView, epsilon: Fraction, rule: PartRule) -> PartSurvey:
    if rule.groups > view.n:
        raise ProtocolViolation(
            f"{view.n:,} people are put into {rule.groups:,} groups, of which most are empty, so that parts of the "
            "first answers tell nothing. Let everybody download more."
        )
    return part_survey(view, epsilon, rule.groups, rule.coin)


DEGREES = _of_numbers("degrees", degree_survey, degrees.LAYOUT, "class", False)
GROUPS = _of_numbers("groups", groups.group_survey, groups.LAYOUT, "group and class", True)


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


def _wave_loss(mechanism: Mapping[str, Any]) -> Losses:
    """Each change that may be told costs what randomized response does.  [CHANGES.1]"""
    thresholds = mechanism["thresholds"].items()
    return {Visibility[kind]: mechanism["changes"] * response_loss(int(text)) for kind, text in thresholds}


def _wave_format(number: int) -> RoundFormat:
    """The one round of a wave after the first."""
    head = waves.LAYOUT.size(count=0)
    check = partial(waves.checked, number)
    return RoundFormat(waves.ASKS, waves.TOLD, waves.stated, _wave_loss, lambda survey: head, check, by_rows=True)


QUESTIONS: dict[str, Question] = {each.name: each for each in (POSITION, DEGREES, GROUPS, TRIANGLES, HUBS)}
_FORMATS = (_wave_format(2), *_PART_FORMATS, *(each for question in QUESTIONS.values() for each in question.formats))
_LOSSES = {each.mechanism: each.loss for each in _FORMATS}


def question_named(name: str) -> Question:
    """The question of this name; refuses an unknown one."""
    if name not in QUESTIONS:
        raise BadInput(f"{name!r} is not a question; ask one of {', '.join(QUESTIONS)}.{did_you_mean(name, QUESTIONS)}")
    return QUESTIONS[name]


@lru_cache(maxsize=64)
def question_of(name: str, wave: waves.Wave | None = None, parts: PartRule | None = None) -> Question:
    """The question that a charter of this name asks.

    A wave after the first asks positions what has changed; where there are parts, triangles are summed from them.
    """
    if parts is not None:
        return _in_parts(parts)
    if wave is None:
        return QUESTIONS[name]
    return replace(
        POSITION,
        name="waves",
        survey=partial(waves.wave_survey, wave),
        formats=(_wave_format(wave.number),),
        labels=replace(POSITION.labels, asks=PAGE_ASKS_CHANGES),
        shares=lambda survey: (Fraction(1),),
        row_survey=lambda survey: survey,
        several=False,
        splits=False,
        by_waves=True,
    )


def round_loss(mechanism: Stated) -> Losses:
    """What an edge of each class loses by all reports of a round, from the stated integers alone, rounded up."""
    return _LOSSES[str(mechanism["kind"])](mechanism)


def total_loss(mechanisms: Sequence[Stated]) -> Losses:
    """What an edge of each class loses by all rounds together: losses add.  [COMPOSITION.1]"""
    rounds = [round_loss(mechanism) for mechanism in mechanisms]
    return {kind: sum((each[kind] for each in rounds), Fraction(0)) for kind in rounds[0]}
