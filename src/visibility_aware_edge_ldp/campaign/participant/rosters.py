"""Rosters in the ledger: bits written in the order of one roster, read in the order of another.  [LEDGER.2]"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.canonical import Content, decode, digest, encode
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, UnusableLedger
from visibility_aware_edge_ldp.public.report import unpack
from visibility_aware_edge_ldp.public.wire import octets

Bits = npt.NDArray[np.bool_]
Names = tuple[str, ...]


class Aligned:
    """Bits that were written in the order of some roster, read in the order of this one."""

    def __init__(self, entries: Iterable[Entry], names: Names) -> None:
        self._rosters: Mapping[str, Names] = {e.names: _names(e.content) for e in entries if e.kind == "roster"}
        self._names = names
        self._places: dict[str, npt.NDArray[np.int64]] = {}

    @property
    def none(self) -> Bits:
        return np.zeros(len(self._names), np.bool_)

    @property
    def nothing(self) -> tuple[Bits, Bits]:
        return self.none, self.none

    def one(self, entry: Entry) -> Bits:
        return self._read(entry.names, entry.content)

    def any(self, entries: Iterable[Entry]) -> Bits:
        """Where one of these entries has a bit."""
        found: Bits = np.logical_or.reduce([self.none, *(self.one(entry) for entry in entries)])
        return found

    def two(self, entry: Entry) -> tuple[Bits, Bits]:
        half = len(entry.content) // 2
        return self._read(entry.names, entry.content[:half]), self._read(entry.names, entry.content[half:])

    def _read(self, roster: str, packed: bytes) -> Bits:
        if roster not in self._rosters or len(packed) != octets(len(self._rosters[roster])):
            raise UnusableLedger("The ledger speaks of a roster that it does not hold; bring back the newest copy.")
        places = self._of(roster)
        # Whom that roster does not name, it says nothing about: the bit after the last one is 0.
        return np.append(unpack(packed, len(self._rosters[roster])), False)[places]

    def _of(self, roster: str) -> npt.NDArray[np.int64]:
        if roster not in self._places:
            numbers = {name: number for number, name in enumerate(self._rosters[roster])}
            absent = len(numbers)
            self._places[roster] = np.array([numbers.get(name, absent) for name in self._names], np.int64)
        return self._places[roster]


def merged(parts: Iterable[tuple[Bits, Bits]]) -> tuple[Bits, Bits] | None:
    """Several entries as one; two that contradict each other cannot have been written here."""
    found: tuple[Bits, Bits] | None = None
    for known, ones in parts:
        if found is None:
            found = known, ones
            continue
        if (found[0] & known & (found[1] ^ ones)).any():
            raise UnusableLedger("The ledger holds two answers for one position; it cannot have been written so.")
        found = found[0] | known, found[1] | ones
    return found


def roster_digest(names: Names) -> str:
    """Under which digest the ledger speaks of a roster."""
    return digest(_written(names))


def roster_entry(names: Names) -> Entry:
    """The entry that makes a roster's order known."""
    return Entry("roster", names=roster_digest(names), content=_written(names))


@lru_cache(maxsize=4)
def _written(names: Names) -> bytes:
    return encode(list[Content](names))


@lru_cache(maxsize=4)
def _names(content: bytes) -> Names:
    names = decode(content)
    return tuple(str(name) for name in names) if isinstance(names, list) else ()
