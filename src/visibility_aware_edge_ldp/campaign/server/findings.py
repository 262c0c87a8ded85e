"""What the frozen reports of each question say, by the code that simulations use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np

from visibility_aware_edge_ldp.aggregator import hub, position_rows, user_degrees, user_triangles
from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.heard_rows import heard_rows
from visibility_aware_edge_ldp.aggregator.hub import HubCollection
from visibility_aware_edge_ldp.aggregator.manipulation import RowLies
from visibility_aware_edge_ldp.aggregator.plausible import Flag, flagged_degrees, flagged_rows
from visibility_aware_edge_ldp.aggregator.reported_lies import HubLies, SumLies, degree_bound
from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.campaign.upload import report_in
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.degree_report import DegreeReport
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey
from visibility_aware_edge_ldp.public.hub_report import HubReport
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.row_report import RowReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey

Bodies: TypeAlias = dict[int, bytes]


@dataclass(frozen=True, eq=False)
class Findings:
    """What a question's reports say.

    Parameters
    ----------
    one
        The estimates of some statistics; refuses what these reports cannot answer.
    releases
        What was paid for.
    resting
        For a statistic's value, how much of it rests on those who stayed away, to first order; None where none does.
    lies
        By how much so many liars move a statistic, at most.
    flagged
        Reports that no honest participant sends.
    """

    one: Callable[[Sequence[str]], dict[str, Estimate]]
    releases: tuple[Release, ...] = field(repr=False)
    resting: Callable[[str, float], float | None]
    lies: Callable[[str, int], float]
    flagged: Sequence[Flag]


def findings_of(questions: Questions, rounds: Mapping[int, Bodies]) -> Findings:
    """The findings of a question's reports, by round and participant; refuses reports of others."""
    survey = questions.survey
    if isinstance(survey, PositionSurvey):
        return _positions(survey, questions, rounds)
    if isinstance(survey, DegreeSurvey):
        return _degrees(survey, questions, rounds)
    if isinstance(survey, TriangleSurvey):
        return _triangles(survey, questions, rounds)
    return _hubs(survey, questions, rounds)


def _positions(survey: PositionSurvey, questions: Questions, rounds: Mapping[int, Bodies]) -> Findings:
    collection = PositionCollection(survey, questions.view)
    for number, bodies in rounds.items():
        for participant, body in bodies.items():
            first = rounds[1].get(participant)
            report = questions.check_upload(participant, number, body, None if first is None else report_in(first))
            collection.absorb(cast(PositionReport, report))
    rows = heard_rows(collection)
    lies = RowLies.of(collection)

    def resting(statistic: str, value: float) -> float | None:
        needed = position_rows.needed_in_all(rows, statistic) if rows.users.size < rows.asked else 0.0
        return (1 - rows.response_rate) * needed

    return Findings(
        lambda names: position_rows.estimate(collection, names),
        collection.releases,
        resting,
        lies.bound,
        flagged_rows(collection),
    )


def _degrees(survey: DegreeSurvey, questions: Questions, rounds: Mapping[int, Bodies]) -> Findings:
    collection = DegreeCollection(survey, questions.view)
    values = []
    for participant, body in rounds[1].items():
        report = cast(DegreeReport, questions.check_upload(participant, 1, body))
        collection.absorb(report)
        values.append(report.values[:, 0])
    flagged = flagged_degrees(survey, list(rounds[1]), np.array(values).T) if values else []
    away = 1 - collection.response_rate
    sums = ("edges", "stars", "tail")
    return Findings(
        lambda names: user_degrees.estimate(collection, names),
        collection.releases,
        lambda name, value: away * value if name.startswith(sums) else None,
        lambda name, liars: degree_bound(collection, name, liars),
        flagged,
    )


def _triangles(survey: TriangleSurvey, questions: Questions, rounds: Mapping[int, Bodies]) -> Findings:
    collection = TriangleCollection(survey, questions.view)
    for participant, body in rounds[1].items():
        collection.absorb_answers(cast(PositionReport, questions.check_upload(participant, 1, body)))
    transcript = collection.close_first_round()
    for participant, body in rounds[2].items():
        report = questions.check_upload(participant, 2, body, transcript=transcript.digest)
        collection.absorb(cast(RowReport, report))
    asked, first, second = collection.counts
    # Users are missed as owners of their sums and as holders of the others' far sides: two of them in a 4-cycle.
    far = 1 if survey.statistic == "triangles" else 2
    away = (1 - second / asked) + far * (1 - first / asked) if asked else 0.0
    lies = SumLies(collection)
    estimators = {"triangles": user_triangles.triangles, "four_cycles": user_triangles.four_cycles}
    return Findings(
        lambda names: {name: estimators[name](collection) for name in names},
        collection.releases,
        lambda name, value: away * value,
        lambda name, liars: lies.bound(liars),
        sorted([*flagged_rows(collection.first), *lies.flagged()]),
    )


def _hubs(survey: HubSurvey, questions: Questions, rounds: Mapping[int, Bodies]) -> Findings:
    collection = HubCollection(survey, questions.view)
    values: dict[int, tuple[int, ...]] = {}
    for participant, body in rounds[1].items():
        report = cast(HubReport, questions.check_upload(participant, 1, body))
        collection.absorb(report)
        values[report.hub] = report.values
    lies = HubLies(collection)
    return Findings(
        lambda names: {name: hub.estimate(collection) for name in names},
        collection.releases,
        lambda name, value: None,  # a hub that stays away takes its triangles with it: the interval says so
        lambda name, liars: lies.bound(liars),
        lies.flagged(values),
    )
