"""What a participant's answers about one data epoch have cost each of its positions.  [LEDGER.2]

Pure: entries of the ledger in, numbers out. A position is the other person's name; rosters come and go. Kinds of entry:

roster   the names of a roster, in its order; ``names`` is the digest under which others speak of it
list     which names were asked about first now, and which of them are friends: this stays for the epoch
level    which positions answered now at the flip threshold ``key``/2^64, and what they said
charge   positions that a report which is not randomized response has cost ``key`` each
pairs    the same for a hub's report: ``key`` for every position between two others
memo     such a report itself, under what it is an answer to
upload   what was sent for a campaign's round;  receipt  what came back
caps     how much a position of each class may lose in an epoch, from now on
epoch    a data epoch that the participant has agreed to be asked about, and its own name there, the ``key``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.canonical import Content, decode, digest, encode
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, UnusableLedger
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.mechanisms.chain import DECIMALS, Level, loss
from visibility_aware_edge_ldp.privacy.parameters import Number, exact
from visibility_aware_edge_ldp.public.report import pack, unpack
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.public.wire import octets

Bits = npt.NDArray[np.bool_]
Units = npt.NDArray[np.int64]
Names = tuple[str, ...]
Caps = Mapping[Visibility, Fraction]

# Losses are added as whole numbers of this many to one, each rounded up, so that sums of arrays are exact.
ONE = 10**DECIMALS
DEFAULT_CAPS: Caps = {Visibility.FRIEND_VISIBLE: Fraction(2), Visibility.PRIVATE: Fraction(1)}
_LARGEST_CAP = 1000


def units(value: Fraction) -> int:
    """A loss in units, rounded up."""
    return -int(-value * ONE // 1)


@dataclass(frozen=True, eq=False)
class Request:
    """What a round asks of this participant's positions, from public data alone.

    Parameters
    ----------
    places
        For each non-public class, which names of the roster are asked about.
    thresholds
        The flip threshold of each class, where the round is randomized response that a chain can answer.
    charges
        What any other report costs a position of each class.
    pairs
        What a hub's report costs a position between two others.
    """

    places: Mapping[Visibility, Bits] = field(repr=False)
    thresholds: Mapping[Visibility, int] = field(default_factory=dict)
    charges: Mapping[Visibility, Fraction] = field(default_factory=dict)
    pairs: Mapping[Visibility, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Account:
    """One epoch as the ledger knows it, in the order of one roster's names. Private.

    ``known`` says of whom it is kept whether they are ``friends``; ``charged`` what all but chained answers have cost.
    """

    names: Names = field(repr=False)
    known: Bits = field(repr=False)
    friends: Bits = field(repr=False)
    levels: tuple[Level, ...] = field(repr=False)
    charged: Units = field(repr=False)
    pairs: int

    @property
    def lost(self) -> Units:
        """What each position has lost so far: its best chained answer, and everything else.  [LEDGER.2]"""
        return self.charged + best_loss(self.levels, len(self.names))

    def lost_after(self, requests: Sequence[Request]) -> Units:
        """What each position will have lost when these have been answered too."""
        asked = [
            Level(threshold, request.places[kind], np.zeros_like(request.places[kind]))
            for request in requests
            for kind, threshold in request.thresholds.items()
        ]
        charged = self.charged.copy()
        for request in requests:
            for kind, cost in request.charges.items():
                charged += np.where(request.places[kind], units(cost), 0)
        return charged + best_loss([*self.levels, *asked], len(self.names))

    def pairs_after(self, requests: Sequence[Request]) -> int:
        """The same for positions between two others; the dearest class stands for all."""
        return self.pairs + sum(units(max(request.pairs.values())) for request in requests if request.pairs)

    def refuse_beyond(self, caps: Caps, requests: Sequence[Request]) -> None:
        """Declines, from public prices alone, before any bit is looked at.  [LEDGER.2]"""
        lost, pairs = self.lost_after(requests), self.pairs_after(requests)
        for kind in NON_PUBLIC:
            places = [request.places[kind] for request in requests if kind in {**request.thresholds, **request.charges}]
            most = max((int(lost[each].max(initial=0)) for each in places), default=0)
            if any(kind in request.pairs for request in requests):
                most = max(most, pairs)
            if most > caps[kind] * ONE:
                raise Refused(
                    f"A {kind} edge would have lost ε = {most / ONE:.13g} in this epoch, and you allowed "
                    f"{float(caps[kind]):.13g}. Nothing was answered or sent."
                )


def best_loss(levels: Sequence[Level], count: int) -> Units:
    """What chained answers have cost each position: the loss of the best.  [CHAIN.3]"""
    found = np.zeros(count, np.int64)
    for level in levels:
        found = np.maximum(found, np.where(level.known, units(loss(level.threshold)), 0))
    return found


def account_of(entries: Sequence[Entry], names: Names) -> Account:
    """The account of an epoch, given its entries and all rosters'."""
    rosters = {entry.names: _names(entry.content) for entry in entries if entry.kind == "roster"}
    aligned = _Aligned(rosters, names)
    known, friends = _merged(aligned.two(entry) for entry in entries if entry.kind == "list") or aligned.nothing
    levels = []
    for key in sorted({entry.key for entry in entries if entry.kind == "level"}, key=int):
        merged = _merged(aligned.two(entry) for entry in entries if (entry.kind, entry.key) == ("level", key))
        levels.append(Level(int(key), *(merged or aligned.nothing)))
    charged = np.zeros(len(names), np.int64)
    for entry in entries:
        if entry.kind == "charge":
            charged += np.where(aligned.one(entry), int(entry.key), 0)
    pairs = sum(int(entry.key) for entry in entries if entry.kind == "pairs")
    return Account(names, known, friends, tuple(levels), charged, pairs)


class _Aligned:
    """Bits that were written in the order of some roster, read in the order of this one."""

    def __init__(self, rosters: Mapping[str, Names], names: Names) -> None:
        self._rosters, self._names = rosters, names
        self._places: dict[str, npt.NDArray[np.int64]] = {}

    @property
    def nothing(self) -> tuple[Bits, Bits]:
        return np.zeros(len(self._names), np.bool_), np.zeros(len(self._names), np.bool_)

    def one(self, entry: Entry) -> Bits:
        return self._read(entry.names, entry.content)

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


def _merged(parts: object) -> tuple[Bits, Bits] | None:
    """Several entries as one; two that contradict each other cannot have been written here."""
    found: tuple[Bits, Bits] | None = None
    for known, ones in parts:  # type: ignore[attr-defined]
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


def list_entry(account: Account, epoch: str, friends: Bits, own: int) -> Entry | None:
    """Who is a friend, of all names of the roster that were not known before."""
    fresh = ~account.known & (np.arange(len(account.names)) != own)
    if not fresh.any():
        return None
    return Entry("list", epoch, "", roster_digest(account.names), pack(fresh) + pack(fresh & friends))


def level_entries(account: Account, epoch: str, answered: Sequence[Level]) -> list[Entry]:
    """What was said at positions that had not answered at this threshold yet."""
    before = {level.threshold: level.known for level in account.levels}
    found = []
    for level in answered:
        fresh = level.known & ~before.get(level.threshold, np.zeros_like(level.known))
        if fresh.any():
            content = pack(fresh) + pack(fresh & level.ones)
            found.append(Entry("level", epoch, str(level.threshold), roster_digest(account.names), content))
    return found


def charge_entries(account: Account, epoch: str, request: Request) -> list[Entry]:
    """What a report that is not a chained answer costs."""
    names = roster_digest(account.names)
    found = [
        Entry("charge", epoch, str(units(cost)), names, pack(request.places[kind]))
        for kind, cost in request.charges.items()
        if request.places[kind].any()
    ]
    if request.pairs:
        found.append(Entry("pairs", epoch, str(units(max(request.pairs.values())))))
    return found


def caps_entry(caps: Mapping[Visibility, Number]) -> Entry:
    """The entry that sets the caps."""
    written: dict[str, Content] = {str(kind): str(checked_caps(caps)[kind]) for kind in NON_PUBLIC}
    return Entry("caps", content=encode(written))


def caps_of(content: bytes) -> dict[Visibility, Fraction]:
    """The caps in such an entry."""
    written = decode(content)
    if not isinstance(written, dict):
        raise UnusableLedger("The ledger's caps cannot be read; bring back the newest copy.")
    return {kind: Fraction(str(written[str(kind)])) for kind in NON_PUBLIC}


def checked_caps(caps: Mapping[Visibility, Number]) -> dict[Visibility, Fraction]:
    """A cap for each class, exact, with at most twelve decimals; classes that are left out have the default."""
    found = dict(DEFAULT_CAPS)
    for kind, value in caps.items():
        cap = exact(value, f"the cap for {kind} edges")
        if kind not in NON_PUBLIC or not 0 <= cap <= _LARGEST_CAP or (cap * ONE).denominator != 1:
            raise BadInput(
                f"A cap is a number from 0 to {_LARGEST_CAP} with at most {DECIMALS} decimals, for FRIEND_VISIBLE or "
                f"PRIVATE edges; got {value} for {kind}."
            )
        found[kind] = cap
    return found


@lru_cache(maxsize=4)
def _written(names: Names) -> bytes:
    return encode(list[Content](names))


@lru_cache(maxsize=4)
def _names(content: bytes) -> Names:
    names = decode(content)
    return tuple(str(name) for name in names) if isinstance(names, list) else ()
