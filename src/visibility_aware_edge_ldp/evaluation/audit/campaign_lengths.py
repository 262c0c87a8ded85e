"""How many bytes an upload has: the same for everybody's friend and for nobody's, in every question.  [CHARTER.6]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

import numpy as np

from visibility_aware_edge_ldp.campaign.documents import in_order
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friends import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.campaign.upload import report_in
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import (
    EPOCH,
    ROUNDS,
    answered,
    new_ledger,
    seats,
)
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import Bits, fresh_coins
from visibility_aware_edge_ldp.evaluation.audit.timed_clients import beginning
from visibility_aware_edge_ldp.public import codec
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

PEOPLE = 40
DEGREES = (0, 1, 20, PEOPLE - 1)
# Words that begin every draw: noise near 0, and noise far out on either side.
WORDS = (1 << 63, 1 << 44, (1 << 64) - (1 << 44))
Sent = Callable[[bytes, int], bytes]
"""What leaves, given the upload and the degree."""


def as_it_is(upload: bytes, degree: int) -> bytes:
    """The real program sends the upload and nothing else."""
    return upload


def byte_for_each_friend(upload: bytes, degree: int) -> bytes:
    """A broken twin: the list goes with it, hidden but as long as it is."""
    return upload + bytes(degree)


@cache
def _seat(question: str) -> Seat:
    """A person of forty; a hub is one whose friendships are public."""
    names = in_order([f"person {number}" for number in range(PEOPLE)], EPOCH)
    if question != "hubs":
        return seats(names, VisibilityPolicy.nothing(), [(question, "1")])[0]
    star = [(0, other) for other in range(1, PEOPLE)]
    return seats(names, VisibilityPolicy.from_profiles({names[0]: "public"}, rule="any"), [(question, "1")], star)[0]


def uploads(seat: Seat, degree: int, word: int) -> Iterator[tuple[int, bytes]]:
    """All rounds' uploads of somebody with so many friends, or of a hub that sees so many edges at each friend."""
    given = _edges(degree) if seat.charter.question == "hubs" else Friends(_friends(degree), ())
    coins = beginning(word, fresh_coins("lengths", seat.charter.title, degree))
    with new_ledger() as ledger:
        task = Task(seat, 1)
        first = answered(ledger, task, given, coins)
        yield 1, first
        if len(seat.charter.rounds) > 1:
            yield 2, answered(ledger, _second(seat, first), given, coins)


def _friends(degree: int) -> Bits:
    return np.arange(PEOPLE) > PEOPLE - 1 - degree


def _edges(degree: int) -> SeenEdges:
    u, v = np.triu_indices(PEOPLE, 1)
    seen = np.stack([u, v], axis=1)[v - u <= degree]
    return SeenEdges(seen.astype(np.int32), ())


def _second(seat: Seat, first: bytes) -> Task:
    """The second round; for triangles on a transcript in which the others said 0."""
    survey, view, own = seat.questions.survey, seat.view, codec.decode(report_in(first))
    if not isinstance(survey, TriangleSurvey):
        return Task(seat, 2)
    ones = np.zeros(-(-view.positions // 8), np.uint8)
    ones[: len(own.ones)] = np.frombuffer(own.ones, np.uint8)
    heard = Transcript(survey.first.identity, view.class_bits[Visibility.PRIVATE], ones)
    return Task(seat, 2, heard.answered.tobytes() + heard.ones.tobytes(), heard.digest)


def audit_lengths(name: str, questions: Iterable[str], about: str, sent: Sent = as_it_is) -> Finding:
    """By how many bytes the uploads of one question and round differ, among themselves and from what is public."""
    lengths: dict[tuple[str, int], set[int]] = {}
    for question in questions:
        seat = _seat(question)
        for degree in DEGREES:
            for word in WORDS:
                for number, upload in uploads(seat, degree, word):
                    seen = lengths.setdefault((question, number), {seat.questions.upload_size(seat.number, number)})
                    seen.add(len(sent(upload, degree)))
    apart = max(max(seen) - min(seen) for seen in lengths.values())
    return Finding(name, "exact", (Loss("length", 0, apart),), len(lengths) * len(DEGREES) * len(WORDS), about)


def _every_question() -> Finding:
    about = "bytes, not ε: degrees 0, 1, 20 and 39 of 39, near and far noise, every question and round"
    return audit_lengths("campaign uploads", ROUNDS, about)


BROKEN = "The upload grows by a byte for each friend."
AUDITS = (Audit("campaign uploads", "exact", _every_question),)
TWINS = (
    Audit(
        "campaign uploads, a byte for each friend",
        "exact",
        partial(audit_lengths, "campaign uploads, a byte for each friend", ["position"], BROKEN, byte_for_each_friend),
        BROKEN,
    ),
)
