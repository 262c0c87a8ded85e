"""How many reports came when: counts of slots of time, and never who came in one.

A round's slots are all of one length, chosen when its first report comes so that at most some sixty of them fit until
its deadline: enough for a curve, and no more is known of anybody's time than the curve needs. What others are told has
slots so long that some people share each, once so many have come: who saw a device speak to the server does not learn
whether it answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from visibility_aware_edge_ldp.campaign.charter import Charter

MOST_SLOTS = 60
# In a slot that others are told of, at least so many reports came.
FEWEST = 5
WEEK = 7 * 86_400
# Lengths that people have words for: a minute, 5 and 15 of them, an hour, 6 of them, a day, and then whole weeks.
_LENGTHS = (60, 300, 900, 3_600, 21_600, 86_400)


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
    for length in _LENGTHS:
        if left <= MOST_SLOTS * length:
            return length
    return WEEK * -int(-left // (MOST_SLOTS * WEEK))


class Arrivals:
    """The counts of all rounds, as the store keeps them."""

    def __init__(self, charter: Charter, clock: Callable[[], float] = time.time) -> None:
        self._charter, self._clock = charter, clock
        self._lengths: dict[int, int] = {}
        self._counts: dict[int, dict[int, int]] = {number: {} for number in range(1, len(charter.rounds) + 1)}

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
        counts = self._counts[number]
        counts[slot.since] = counts.get(slot.since, 0) + 1

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
    first, found = min(counts), dict[int, int]()
    for since, reports in counts.items():
        begins = first + (since - first) // seconds * seconds
        found[begins] = found.get(begins, 0) + reports
    return found
