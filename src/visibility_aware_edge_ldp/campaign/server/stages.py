"""The state of each round, how many reports came when, and both at one time as the page shows them.

Of arrivals there are counts of slots of time, and never who came in one. A round's slots are all of one length, chosen
when its first report comes so that at most some sixty of them fit until its deadline: enough for a curve, and no more
is known of anybody's time than the curve needs. What others are told has slots so long that some people share each,
once so many have come: who saw a device speak to the server does not learn whether it answered.
"""

from __future__ import annotations

import enum
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.amendments import Amended
    from visibility_aware_edge_ldp.campaign.charter import Charter, Round
    from visibility_aware_edge_ldp.campaign.directory import ServedCampaign
    from visibility_aware_edge_ldp.campaign.question import Question
    from visibility_aware_edge_ldp.campaign.server.rounds import Rounds

# For so long after the last deadline, in seconds, an estimate may be asked for; then it is made unasked.
PATIENCE = 30 * 86_400
MOST_SLOTS = 60
# In a slot that others are told of, at least so many reports came.
FEWEST = 5
WEEK = 7 * 86_400
# Lengths that people have words for: a minute, 5 and 15 of them, an hour, 6 of them, a day, and then whole weeks.
_LENGTHS = (60, 300, 900, 3_600, 21_600, 86_400)


class State(enum.StrEnum):
    """The states of a round, in the order in which it passes through them."""

    WAITING = "waiting"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class Stage:
    """One round: its state and, once it takes no more reports, how many it has and their Merkle root.

    ``opened`` and ``closed`` are seconds of Unix time, 0 where they are not known; ``sealed`` is the transcript's
    digest under ``salt``, which goes with the reports.
    """

    round: int
    state: State
    included: int = 0
    root: str = ""
    transcript: str = ""
    opened: int = 0
    closed: int = 0
    sealed: str = ""
    salt: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, row: Sequence[Any], digests: dict[int, Any], salts: dict[int, Any]) -> Stage:
        """From a row of the store, and what it keeps of each round's transcript."""
        number, state, included, root, opened, closed, sealed = row
        transcript, salt = bytes(digests.get(number, b"")).decode(), bytes(salts.get(number, b""))
        return cls(number, State(state), included, root, transcript, opened or 0, closed or 0, sealed or "", salt)


class NotReady(BadInput):
    """What was asked for is not there yet, or never will be."""


class Stopped(NotReady):
    """The making of the answers was stopped; nothing is lost, and it may be asked for again."""


class EstimateFailed(VaEdgeLdpError):  # noqa: N818
    """The process that makes the answers ended without any; its sentence says why, and the server goes on."""


class Erased(BadInput):
    """What was asked for was there, and is no more."""


def lacks(charter: Charter | Amended, stage: Stage) -> bool:
    """Whether a round takes no more reports and has too few, so that nothing will be estimated."""
    frozen = stage.state not in (State.WAITING, State.OPEN)
    return frozen and stage.included < charter.rounds[stage.round - 1].fewest


def kept_until(charter: Charter | Amended, stages: Iterable[Stage], made: int | None) -> int:
    """When reports are erased, in seconds of Unix time.

    The charter's time after the estimate, which was ``made`` then. Without one, after the deadline of the round that
    got too few reports, for then there will be none; and otherwise after the last deadline and some patience.
    """
    if made is not None:
        return made + charter.retention
    short = [charter.rounds[stage.round - 1].closes for stage in stages if lacks(charter, stage)]
    return (min(short) if short else charter.rounds[-1].closes + PATIENCE) + charter.retention


def refuse_too_soon(charter: Charter, stages: Iterable[Stage]) -> None:
    """Answers need every round closed, with enough reports."""
    for stage in stages:
        number, fewest = stage.round, charter.rounds[stage.round - 1].fewest
        if stage.state not in (State.CLOSED, State.ESTIMATED):
            raise NotReady(f"Round {number} is {stage.state}; the answers are made when all rounds are closed.")
        if stage.included < fewest:
            raise NotReady(f"Round {number} has {stage.included:,} reports and needs {fewest:,}: nothing is estimated.")


@dataclass(frozen=True)
class Slot:
    """A span of time: the second of Unix time that it begins at, and how many seconds it has."""

    since: int
    seconds: int


@dataclass(frozen=True)
class Arrived:
    """How many reports of a round came in a slot."""

    round: int
    slot: Slot
    reports: int


def slot_length(left: float) -> int:
    """The shortest length that cuts so many seconds into few enough slots."""
    weeks = WEEK * -int(-left // (MOST_SLOTS * WEEK))
    return next((length for length in _LENGTHS if left <= MOST_SLOTS * length), weeks)


class Arrivals:
    """The counts of all rounds, as the store keeps them."""

    def __init__(self, charter: Charter, clock: Callable[[], float] = time.time) -> None:
        self._charter, self._clock = charter, clock
        self._lengths: dict[int, int] = {}
        self._counts = {number: Counter[int]() for number in range(1, len(charter.rounds) + 1)}

    def load(self, kept: Iterable[Arrived]) -> None:
        """Go on with what is kept."""
        for each in kept:
            self._lengths[each.round] = each.slot.seconds
            self._counts[each.round][each.slot.since] = each.reports

    def now(self, number: int) -> Slot:
        """The slot of a round that a report is in which comes now."""
        now = self._clock()
        if number not in self._lengths:
            self._lengths[number] = slot_length(self._charter.rounds[number - 1].closes - now)
        length = self._lengths[number]
        return Slot(int(now) // length * length, length)

    def add(self, number: int, slot: Slot) -> None:
        """One more report is on disk."""
        self._counts[number][slot.since] += 1

    def clear(self) -> None:
        """Forget all counts; slots keep their length."""
        for counts in self._counts.values():
            counts.clear()

    def of(self, number: int) -> tuple[Arrived, ...]:
        """What others are told of a round, in the order of time; slots in which nothing came are left out."""
        seconds, counts = self._lengths.get(number, 0), dict(self._counts[number])
        while len(counts) > 1 and min(counts.values()) < FEWEST:
            seconds *= 2
            counts = _merged(counts, seconds)
        return tuple(Arrived(number, Slot(since, seconds), counts[since]) for since in sorted(counts))

    def as_dict(self, number: int) -> dict[str, object]:
        """Plain values for JSON: how long the slots are, and when each begins and how many came in it."""
        found = self.of(number)
        length = found[0].slot.seconds if found else 0
        return {"seconds": length, "counts": [[each.slot.since, each.reports] for each in found]}


def _merged(counts: dict[int, int], seconds: int) -> dict[int, int]:
    """The same reports in slots of so many seconds from the first one on."""
    first, found = min(counts), Counter[int]()
    for since, reports in counts.items():
        found[first + (since - first) // seconds * seconds] += reports
    return found


@dataclass(frozen=True)
class PageState:
    """Counts, states and digests; nothing here is about one participant, but for what the answers say.

    ``made`` is when the answers were made, and ``kept`` whether reports are still more than their digests; None where
    the store did not say.
    """

    served: ServedCampaign = field(repr=False)
    now: int
    stages: tuple[Stage, ...]
    asked: tuple[int, ...]
    received: tuple[int, ...]
    arrivals: tuple[tuple[Arrived, ...], ...]
    answers: bytes | None = field(default=None, repr=False)
    made: int | None = None
    kept: bool | None = True
    amended: Amended | None = field(default=None, repr=False)

    @classmethod
    def of(cls, rounds: Rounds) -> PageState:
        """What the rounds are now; called beside the event loop, not on it."""
        stages, received, answers = dict(rounds.stages), dict(rounds.received), rounds.answers
        ended = answers is not None or any(map(rounds.lacks, stages))
        made, kept = rounds.retained() if ended else (None, True)
        return cls(
            rounds.served,
            int(rounds.clock()),
            tuple(stages.values()),
            tuple(rounds.asked(number) for number in stages),
            tuple(received[number] for number in stages),
            tuple(rounds.arrivals.of(number) for number in stages),
            answers,
            made,
            kept,
            rounds.amended,
        )

    @property
    def charter(self) -> Charter:
        return self.served.charter

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds, with the deadlines that hold now."""
        return (self.amended or self.charter).rounds

    @property
    def question(self) -> Question:
        return self.served.terms.question

    @cached_property
    def content(self) -> dict[str, Any]:
        """The answers; empty before there are any."""
        return {} if self.answers is None else dict(json.loads(self.answers))

    def lacks(self, number: int) -> bool:
        """Whether a round has closed with too few reports, so that nothing will be estimated."""
        return lacks(self.charter, self.stages[number - 1])

    @property
    def failed(self) -> bool:
        return any(self.lacks(stage.round) for stage in self.stages)

    @property
    def settles(self) -> bool:
        """Whether reports are about to be replaced by their digests."""
        over = self.charter.retention == 0 or self.now >= self.kept_until
        return self.ended and self.kept is not False and over

    @property
    def ended(self) -> bool:
        """Whether there are answers, or it is known that there will be none."""
        return self.answers is not None or self.failed

    @property
    def kept_until(self) -> int:
        """When reports are erased; known as soon as the campaign has ended, and at the latest before."""
        return kept_until(self.amended or self.charter, self.stages, self.made)

    @property
    def finished(self) -> bool:
        """Whether this page has nothing more to wait for."""
        return self.ended and not self.settles
