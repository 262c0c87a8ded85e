"""From the frozen reports of a campaign to its answers, as bytes: the same bytes whenever they are made again.

Everything here is made of the charter, the public documents and the reports alone, by the code that simulations use.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from visibility_aware_edge_ldp.aggregator import hub, position_rows, user_degrees, user_triangles
from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.heard_rows import heard_rows
from visibility_aware_edge_ldp.aggregator.hub import HubCollection
from visibility_aware_edge_ldp.aggregator.manipulation import RowLies
from visibility_aware_edge_ldp.aggregator.plausible import Flag, flagged_degrees, flagged_rows
from visibility_aware_edge_ldp.aggregator.reported_lies import HubLies, SumLies, degree_bound
from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection
from visibility_aware_edge_ldp.campaign import merkle
from visibility_aware_edge_ldp.campaign.canonical import digest
from visibility_aware_edge_ldp.campaign.charter import QUESTIONS, Charter
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.privacy.composition import Bill, Release
from visibility_aware_edge_ldp.public.degree_report import DegreeReport
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey
from visibility_aware_edge_ldp.public.hub_report import HubReport
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.row_report import RowReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView

Uploads: TypeAlias = Mapping[int, bytes] | Iterable[tuple[int, bytes]]
Bodies: TypeAlias = dict[int, bytes]

FORMAT = "va-edge-ldp estimates 1"
LEVEL = 0.95
# One in so many of those who answered is supposed to lie.
ONE_IN = 100
TRUST_WORDS = {
    "position": "each participant holds its own row of positions and randomizes each bit before it is sent",
    "degrees": "each participant holds its own friend list and adds noise to its numbers before they are sent",
    "triangles": "each participant holds its own row of positions, randomizes each bit, and adds noise to its sum",
    "hubs": "each public hub sees its friends' friends, counts, and adds noise before it sends",
}
ASSUMPTIONS = (
    "which positions are public follows from public knowledge alone",
    "the list of participants is public knowledge",
    "who stays away does so whatever its friend list",
)
DROPOUT = (
    "If those who stayed away had, one with another, half or twice as much of what is counted as those who answered, "
    "the estimate would be near the first or the second number."
)
LIES = "No choice of so many of those who answered, and of what they send, moves the estimate by more than this"


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


def estimate_bytes(charter: Charter, view: PublicView, reports: Mapping[int, Uploads]) -> bytes:
    """The answers of a campaign as JSON: sorted keys, no spaces, UTF-8.

    ``reports`` has each round's uploads by participant, in any order, which changes no byte; nor does the number of
    workers. (The standard error of POSITION's 4-cycles alone has last digits that follow BLAS's threads.)

    Estimates, standard errors and 95 % intervals; the loss per edge of each class against all reports; the certificate;
    who answered, and what it means that others did not; implausible reports; what liars could do; and the digests of
    all that this was made from.
    """
    questions = Questions(charter, view)
    rounds = {
        number: dict(sorted(dict(reports.get(number, {})).items())) for number in range(1, len(charter.rounds) + 1)
    }
    found = _findings(questions, rounds)
    estimates, refused = _estimates(found, charter.statistics)
    answers = Answers(estimates, _certificate(charter, view, found, questions, rounds))
    liars = -(-len(rounds[1]) // ONE_IN)
    content = {
        "format": FORMAT,
        "campaign": charter.identity,
        "documents": {"roster": charter.roster, "policy": charter.policy, "edges": charter.edges},
        "rounds": [_round(questions, number, rounds) for number in rounds],
        **answers.as_dict(LEVEL),
        "refused": refused,
        "loss": {str(kind): str(loss) for kind, loss in questions.losses.items()},
        "dropout": {"words": DROPOUT, "estimates": _dropout(found, estimates)},
        "flagged": [flag.as_dict() for flag in found.flagged],
        "manipulation": {
            "words": f"{LIES}{'' if charter.question == 'position' else ', while nobody is flagged'}.",
            "liars": liars,
            "bounds": {name: found.lies(name, liars) for name in estimates},
        },
    }
    return json.dumps(_plain(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _estimates(found: Findings, statistics: Sequence[str]) -> tuple[dict[str, Estimate], dict[str, str]]:
    """All at once if possible; otherwise those that can be made, and why others cannot."""
    try:
        return found.one(statistics), {}
    except BadStatistic:
        estimates: dict[str, Estimate] = {}
        refused: dict[str, str] = {}
        for name in statistics:
            try:
                estimates |= found.one([name])
            except BadStatistic as reason:
                refused[name] = str(reason)
        return estimates, refused


def _certificate(
    charter: Charter, view: PublicView, found: Findings, questions: Questions, rounds: Mapping[int, Bodies]
) -> Certificate:
    policy = view.policy
    return Certificate(
        trust=QUESTIONS[charter.question].trust,
        trust_words=f"{TRUST_WORDS[charter.question]}; the aggregator is not trusted.",
        bill=Bill((*policy.paid, *found.releases)),
        paid=policy.paid,
        policy=str(policy),
        classes={str(kind): size for kind, size in view.class_sizes.items() if size},
        response={f"round {number}": _response(questions, number, rounds)[2] for number in rounds},
        assumptions=(*ASSUMPTIONS, *policy.assumptions),
        simulated=False,
        campaign=charter.identity,
    )


def _response(questions: Questions, number: int, rounds: Mapping[int, Bodies]) -> tuple[int, int, float]:
    """How many were asked, how many answered, and their share; round 2 asks those who answered in round 1."""
    asked = int(questions.asked(number).sum()) if number == 1 else len(rounds[number - 1])
    return asked, len(rounds[number]), len(rounds[number]) / asked if asked else 1.0


def _round(questions: Questions, number: int, rounds: Mapping[int, Bodies]) -> dict[str, Any]:
    asked, answered, rate = _response(questions, number, rounds)
    leaves = [merkle.leaf(participant, digest(body)) for participant, body in rounds[number].items()]
    return {"asked": asked, "answered": answered, "response_rate": rate, "root": merkle.root(leaves).hex()}


def _dropout(found: Findings, estimates: Mapping[str, Estimate]) -> dict[str, list[float] | None]:
    result: dict[str, list[float] | None] = {}
    for name, estimate in estimates.items():
        value = estimate.value
        resting = None if isinstance(value, np.ndarray) else found.resting(name, float(value))
        result[name] = None if resting is None else [float(value) - resting / 2, float(value) + resting]
    return result


def _plain(content: Any) -> Any:
    """Numbers that JSON does not have are left out: an infinite bound is none."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _findings(questions: Questions, rounds: Mapping[int, Bodies]) -> Findings:
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
            report = questions.check_upload(participant, number, body, rounds[1].get(participant))
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
