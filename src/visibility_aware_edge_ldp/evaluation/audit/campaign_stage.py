"""A participant of campaigns on the audit's stage: real charters, a real ledger in a folder, real uploads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.new import charter_of, drafted
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_entry
from visibility_aware_edge_ldp.campaign.participant.answering import Task, quote, record
from visibility_aware_edge_ldp.campaign.participant.friends import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, Page, create_ledger
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

EPOCH = "spring"
LEDGER = "ledger.db"
CLOSES = 4_000_000_000
# In memory where the machine has such a folder: a disk's own delays only blunt the audit and make it slow.
_MEMORY = Path("/dev/shm")  # noqa: S108 - a new folder inside, for its owner alone
# Caps are not what is audited: twins lose more than they should, and must not be stopped by that.
CAPS = dict.fromkeys(NON_PUBLIC, 100)
TWICE = ", twice"
ROUNDS = {"position": 1, "position, twice": 2, "degrees": 1, "triangles": 2, "hubs": 1}
STATISTICS = {"triangles": "triangles", "hubs": "triangles"} | dict.fromkeys(
    ("position", "position, twice", "degrees"), "edges"
)

Question = tuple[str, str]
"""What a campaign asks, and its epsilon per PRIVATE edge."""
Reader = Callable[[Page, Task], Page]
"""How the ledger is read when a task is answered: as it is, or as a forgetful twin does."""


def seats(
    names: Sequence[Hashable],
    policy: VisibilityPolicy,
    asked: Sequence[Question],
    edges: npt.ArrayLike = (),
    issuer: str = "ab" * 32,
) -> tuple[Seat, ...]:
    """The first participant's seat in campaigns that follow each other in one epoch, under names of their own."""
    documents, found = drafted(names, policy, edges, EPOCH), []
    for number, (question, epsilon) in enumerate(asked):
        own, wanted, title = question.removesuffix(TWICE), [STATISTICS[question]], f"Campaign {number}"
        due = tuple(Round(CLOSES + later, 1) for later in range(ROUNDS[question]))
        split = (Fraction(1, 2),) * 2 if question.endswith(TWICE) else ()
        charter = charter_of(documents, issuer, own, epsilon, wanted, due, title, EPOCH, split=split)
        found.append(Seat(charter, documents, 0))
    return tuple(found)


def first_round(seat: Seat) -> PositionSurvey:
    """What the first round of rows asks."""
    survey = seat.questions.survey
    first = survey.first if isinstance(survey, TriangleSurvey) else survey
    if not isinstance(first, PositionSurvey):
        raise ProtocolViolation(f"The question {seat.charter.question!r} does not ask for rows.")
    return first


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as place:
        yield Path(place)


@contextmanager
def new_ledger() -> Iterator[Ledger]:
    """The ledger of somebody who has answered nothing yet."""
    with folder() as place:
        yield laid_out(place)


def laid_out(place: Path) -> Ledger:
    """An empty ledger in a folder: a copy of one that was made once."""
    for name, content in _empty_ledger().items():
        (place / name).write_bytes(content)
    return Ledger(place / LEDGER)


@cache
def _empty_ledger() -> dict[str, bytes]:
    with folder() as place:
        create_ledger(place / LEDGER, caps_entry(CAPS))
        return {each.name: each.read_bytes() for each in place.iterdir()}


def as_it_is(page: Page, task: Task) -> Page:
    """The ledger, read as it stands."""
    return page


def answered(ledger: Ledger, task: Task, given: Friends | SeenEdges, coins: Coins, reader: Reader = as_it_is) -> bytes:
    """The upload, as the participant's program makes it and writes it down before it leaves.  [LEDGER.1]"""
    with ledger.writing() as found:
        page = reader(found, task)
        return record(page, task, given, quote(page, task), coins)


class Forgetful(Page):
    """A broken twin: a ledger of which some levels are not seen when the next answer is drawn."""

    def __init__(self, page: Page, remembered: Callable[[int], bool]) -> None:
        super().__init__(page._connection)
        self._remembered = remembered

    def entries(self, kind: str | None = None, epoch: str | None = None, key: str | None = None) -> list[Entry]:
        found = super().entries(kind, epoch, key)
        return [entry for entry in found if entry.kind != "level" or self._remembered(int(entry.key))]


def forgets_all(page: Page, task: Task) -> Page:
    """A broken twin: every campaign is answered as if it were the first."""
    return Forgetful(page, lambda threshold: False)


def forgets_worse(page: Page, task: Task) -> Page:
    """A broken twin: what was answered less accurately is not looked at."""
    here = min(task.seat.request(task.round).thresholds.values())
    return Forgetful(page, lambda threshold: threshold <= here)


def with_words_again(coins: Coins) -> Coins:
    """A broken twin: whatever was drawn first is handed out again, draw after draw."""
    drawn: list[bytes] = []

    def draw(count: int) -> bytes:
        if not drawn:
            drawn.append(coins(count))
        return (drawn[0] * -(-count // max(1, len(drawn[0]))))[:count]

    return draw
