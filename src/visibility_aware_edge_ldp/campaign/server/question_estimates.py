"""What the frozen reports of each question say, by the code that simulations use; and the first round's transcript."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.groups import GroupCollection
from visibility_aware_edge_ldp.aggregator.hubs import HubCollection
from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import PartCollection, PartPoisoning
from visibility_aware_edge_ldp.aggregator.nonresponse.positions import estimate as estimate_positions
from visibility_aware_edge_ldp.aggregator.nonresponse.positions import needed_in_all
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import reported_rows
from visibility_aware_edge_ldp.aggregator.nonresponse.waves import WaveFlags
from visibility_aware_edge_ldp.aggregator.poisoning import RowPoisoning, degree_bound, group_bound
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.report_screening import (
    Flag,
    HubPoisoning,
    SumPoisoning,
    flagged_degrees,
    flagged_rows,
)
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.campaign.question import Report
from visibility_aware_edge_ldp.campaign.server.stages import Erased, Stage, kept_until, refuse_too_soon
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreDamaged
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import Leaf, part_files, report_in, round_root
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.privacy import Release
from visibility_aware_edge_ldp.public.layout import part_of
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.statistic import statistic
from visibility_aware_edge_ldp.public.surveys import position
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.surveys.row_parts import PartSurvey, part_words
from visibility_aware_edge_ldp.public.transcript import Transcript, read_broadcast
from visibility_aware_edge_ldp.public.transcript_parts import AllAnswers, cut_part
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

Bodies: TypeAlias = dict[int, bytes]  # each participant's upload
WAVE_NOTE = (
    "the loss is that of all waves after the first, {}, together, against an edge's whole history, however many "
    "follow; of each edge at most so many changes are told: {}; who did not answer both this wave and the one before "
    "is not counted"
)
# Of damaged reports, so many are named in one sentence.
MOST_NAMED = 10


@dataclass(frozen=True, eq=False)
class QuestionEstimates:
    """What a question's reports say."""

    estimate: Callable[
        [Sequence[str]], dict[str, Estimate]
    ]  # of some statistics; refuses what these reports cannot answer
    releases: tuple[Release, ...] = field(repr=False)  # what was paid for
    # For a statistic's value, how much of it rests on those who stayed away, to first order; None where none does.
    nonresponse_part: Callable[[str, float], float | None]
    manipulation_bound: Callable[[str, int], float]  # by how much so many liars move a statistic, at most
    flagged: Sequence[Flag]  # reports that no honest participant sends
    response: Mapping[str, float] = field(default_factory=dict)  # of each group, the share that answered
    degree_step: float = 1.0  # noisy degrees are multiples of this, and a rest that public classes decide
    notes: tuple[str, ...] = ()  # what the certificate says besides
    more: Mapping[str, Any] = field(default_factory=dict)  # what the answers say besides


def question_estimates(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    """What a question's reports say, by round and participant; refuses reports of others."""
    return ESTIMATES[terms.question.name](terms, rounds)


def _reports(terms: Terms, bodies: Bodies, number: int = 1, transcript: str = "") -> Iterator[Report]:
    """The reports in a round's uploads, each checked."""
    for participant, body in bodies.items():
        yield terms.check_upload(participant, number, body, transcript=transcript)


def _positions(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    collection = PositionCollection(terms.survey, terms.view)
    for number, bodies in rounds.items():
        for participant, body in bodies.items():
            first = rounds[1].get(participant)
            report = terms.check_upload(participant, number, body, None if first is None else report_in(first))
            collection.absorb(report)
    rows = reported_rows(collection)
    lies = RowPoisoning.of(collection)

    asked = [kind for kind in NON_PUBLIC if terms.view.class_sizes[kind]]
    steps = [float(np.ptp([float(each) for each in terms.survey.channel(kind).scores])) for kind in asked]

    def nonresponse_part(statistic: str, value: float) -> float | None:
        needed = needed_in_all(rows, statistic) if rows.users.size < rows.asked else 0.0
        return (1 - rows.response_rate) * needed

    return QuestionEstimates(
        lambda names: estimate_positions(collection, names),
        collection.releases,
        nonresponse_part,
        lies.bound,
        flagged_rows(collection),
        degree_step=max(steps, default=1.0),
    )


def _degrees(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    collection = DegreeCollection(terms.survey, terms.view)
    values = []
    for report in _reports(terms, rounds[1]):
        collection.absorb(report)
        values.append(report.values[:, 0])
    flagged = flagged_degrees(terms.survey, list(rounds[1]), np.array(values).T) if values else []
    nonresponse = 1 - collection.response_rate
    sums = ("edges", "stars", "tail")
    return QuestionEstimates(
        lambda names: estimate_all(collection, names),
        collection.releases,
        lambda name, value: nonresponse * value if name.startswith(sums) else None,
        lambda name, liars: degree_bound(collection, name, liars),
        flagged,
    )


def _groups(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    collection = GroupCollection(terms.survey, terms.view)
    values = []
    for report in _reports(terms, rounds[1]):
        collection.absorb(report)
        values.append(report.values[:, 0])
    return QuestionEstimates(
        lambda names: estimate_all(collection, names),
        collection.releases,
        lambda name, value: None,  # absent members of each group are weighed by those who answered
        lambda name, liars: group_bound(collection, name, liars),
        flagged_degrees(terms.survey, list(rounds[1]), np.array(values).T) if values else [],
        collection.response_by_group(),
    )


def _triangles(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    collection = RowCollection(terms.survey, terms.view)
    for report in _reports(terms, rounds[1]):
        collection.absorb_answers(report)
    digest = collection.close_first_round().digest
    # Users are missed as owners of their sums and as holders of the others' far sides: two of them in a 4-cycle.
    far = statistic(terms.survey.statistic).sides - 2
    return _of_sums(terms, rounds[2], collection, digest, SumPoisoning(collection), far)


def _parts(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    survey: PartSurvey = terms.survey
    collection = PartCollection(survey, terms.view, named=lambda answers: part_files(_cut(survey, answers))[0])
    for report in _reports(terms, rounds[1]):
        collection.absorb_answers(report)
    told = f"everybody downloaded {part_words(terms.view.n, survey.groups)}; an edge loses no less for that"
    digest = collection.first_answers.digest
    return replace(_of_sums(terms, rounds[2], collection, digest, PartPoisoning(collection), 1), notes=(told,))


def _of_sums(
    terms: Terms,
    second: Bodies,
    collection: RowCollection | PartCollection,
    digest: str,
    lies: SumPoisoning | PartPoisoning,
    far: int,
) -> QuestionEstimates:
    """What users' sums of the second round tell; ``far`` is how many other users a subgraph takes answers of."""
    for report in _reports(terms, second, 2, digest):
        collection.absorb(report)
    asked, first, answered = collection.counts
    nonresponse = (1 - answered / asked) + far * (1 - first / asked) if asked else 0.0
    return QuestionEstimates(
        lambda names: estimate_all(collection, names),
        collection.releases,
        lambda name, value: nonresponse * value,
        lambda name, liars: lies.bound(liars),
        sorted([*flagged_rows(collection.first), *lies.flagged()]),
    )


def _cut(survey: PartSurvey, answers: AllAnswers) -> Iterator[bytes]:
    """The bytes of every part."""
    return (cut_part(survey, number, answers).encode() for number in range(survey.parts))


def _hubs(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    collection = HubCollection(terms.survey, terms.view)
    values: dict[int, tuple[int, ...]] = {}
    for report in _reports(terms, rounds[1]):
        collection.absorb(report)
        values[report.hub] = report.values
    lies = HubPoisoning(collection)
    return QuestionEstimates(
        lambda names: estimate_all(collection, names),
        collection.releases,
        lambda name, value: None,  # a hub that stays away takes its triangles with it: the interval says so
        lambda name, liars: lies.bound(liars),
        lies.flagged(values),
    )


def _waves(terms: Terms, rounds: Mapping[int, Bodies]) -> QuestionEstimates:
    wave, survey = terms.charter.wave, terms.survey
    number = 2 if wave is None else wave.number
    # Who missed the wave before tells of more than one; that stands at the server, and is not counted.
    reports = [each for each in _reports(terms, rounds[1]) if each.since == number - 1]
    found = WaveFlags.of(terms.view, survey.mechanism, reports, int(terms.asked(1).sum()))
    return QuestionEstimates(
        lambda names: {name: each.estimate for name, each in found.changed(survey.releases).items()},
        survey.releases,
        lambda name, value: None,  # what the absent would tell now, they tell when they answer again
        found.bound,
        [],
        notes=(WAVE_NOTE.format(survey.first, survey.changes),),
        more={
            "wave": {
                "first": survey.first,
                "number": number,
                "changes": survey.changes,
                "counted": len(reports),
                "noise": found.noise,
            }
        },
    )


# How each question's reports are estimated from, by the question's name.
ESTIMATES: dict[str, Callable[[Terms, Mapping[int, Bodies]], QuestionEstimates]] = {
    "position": _positions,
    "degrees": _degrees,
    "groups": _groups,
    "triangles": _triangles,
    "parts": _parts,
    "hubs": _hubs,
    "waves": _waves,
}


def flagged_in(store: Store, terms: Terms) -> list[Flag]:
    """What is flagged in the frozen reports of a store; the published answers say how many reports that are."""
    stages = store.stages()
    refuse_too_soon(terms.charter, stages)
    if store.erased_at() is not None:
        raise Erased("The reports were erased, and with them whose were flagged; the answers say how many were.")
    if time.time() >= kept_until(terms.charter, stages, store.estimated_at()):
        raise Erased(
            "The time for which reports are kept is over, so they were due to go. Start the server, which erases them."
        )
    reports = {stage.round: store.bodies(stage.round) for stage in stages}
    for stage in stages:
        refuse_damage(stage, store.leaves(stage.round), reports[stage.round])
    return list(question_estimates(terms, reports).flagged)


@dataclass(frozen=True, eq=False)
class FirstRoundBroadcast:
    """The first round's transcript: who answered, the octets that are kept, and what names it.

    Without ``parts`` everybody reads the octets; otherwise each participant reads its own part, as it is sent.
    """

    octets: bytes = field(repr=False)
    transcript: Transcript = field(repr=False)
    view: PublicView = field(repr=False)
    digest: str
    parts: list[bytes] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, terms: Terms, octets: bytes, transcript: Transcript) -> "FirstRoundBroadcast":
        """All of it; parts have the root of their tree for a name."""
        if terms.charter.parts is None:
            return cls(octets, transcript, terms.view, transcript.digest)
        answers = AllAnswers(transcript, terms.view)
        return cls(octets, transcript, terms.view, *part_files(_cut(terms.survey, answers)))

    def report(self, participant: int) -> bytes:
        """What a participant reported in the first round."""
        start, count = row_start(self.view.n, participant), self.view.n - 1 - participant
        planes = self.transcript.answered, self.transcript.ones
        answered, ones = (part_of(plane, start, count).tobytes() for plane in planes)
        return position.encode(PositionReport(self.transcript.survey, 1, start, count, answered, ones))


def first_survey(terms: Terms) -> PositionSurvey | None:
    """The survey of a first round that a second one follows."""
    found: PositionSurvey | None = terms.row_survey if len(terms.charter.rounds) > 1 else None
    return found


def broadcast_of(terms: Terms, bodies: Iterable[bytes]) -> FirstRoundBroadcast | None:
    """The transcript of these reports; none where no second round follows."""
    survey = first_survey(terms)
    if survey is None:
        return None
    collection = PositionCollection(survey, terms.view)
    for body in bodies:
        collection.absorb(position.decode(report_in(body)))
    octets = collection.transcript.broadcast(terms.view)
    return FirstRoundBroadcast.of(terms, octets, read_broadcast(survey.identity, octets, terms.view))


def stored_broadcast(terms: Terms, octets: bytes, digest: str) -> FirstRoundBroadcast:
    """The transcript that was stored; refuses one that is not what was broadcast."""
    survey, found = first_survey(terms), None
    with suppress(ProtocolViolation):
        read = None if survey is None else read_broadcast(survey.identity, octets, terms.view)
        found = None if read is None else FirstRoundBroadcast.of(terms, octets, read)
    if found is None or found.digest != digest:
        raise StoreDamaged("The kept transcript is not the one that was broadcast. Restore the store from a copy.")
    return found


def refuse_damage(stage: Stage, leaves: Sequence[Leaf], bodies: Mapping[int, bytes]) -> None:
    """The kept reports must be those that receipts were given for, and that the root names; says whose are not."""
    where = f"Round {stage.round}: "
    if round_root(leaves) != stage.root or len(leaves) != stage.included:
        raise StoreDamaged(f"{where}the kept digests are not the ones that were frozen. Restore the store from a copy.")
    missing = [participant for participant, _ in leaves if participant not in bodies]
    surplus = bodies.keys() - {participant for participant, _ in leaves}
    changed = [
        participant
        for participant, digest in leaves
        if participant in bodies and hashlib.sha256(bodies[participant]).digest() != digest
    ]
    for numbers, what in ((missing, "missing"), (changed, "not as acknowledged"), (surplus, "in no receipt")):
        if numbers:
            raise StoreDamaged(f"{where}of {_numbered(numbers)} the report is {what}. Restore the store from a copy.")


def _numbered(participants: Iterable[int]) -> str:
    """Some participants by their numbers in the roster, and how many more there are."""
    found = sorted(participants)
    more = f" and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
    return f"participants number {', '.join(map(str, found[:MOST_NAMED]))}{more}"
