"""The friend list as its holder gives it: a file, standard input, names, or a function that brings them."""

import csv
import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Page, UnusableLedger
from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, digest, encode, shortened
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.name_matching import SHOWN, matched
from visibility_aware_edge_ldp.public.layout import octets, unpack

Bits = npt.NDArray[np.bool_]
Given = Iterable[object]
# A path ("-": standard input), names, or a function that brings names. A hub gives pairs of names instead.
Source = str | Path | Given | Callable[[], Given]
Names = tuple[str, ...]
ReadAs = tuple[tuple[str, str], ...]
"""Names as they were typed, and as the roster writes them."""


@dataclass(frozen=True, eq=False)
class Friends:
    """Which names of the roster are friends, and what was given that the roster does not know. Private."""

    bits: Bits = field(repr=False)
    unknown: tuple[str, ...] = field(repr=False)
    read_as: ReadAs = field(repr=False, default=())

    def understood(self) -> list[str]:
        """How many friends the list names, how others were read, and which names were left out."""
        friends = f"The list names {counted(int(self.bits.sum()), 'friend')} in the roster."
        return [friends, *_read_as(self.read_as), *_left_out(self.unknown)]

    def remarks(self) -> list[str]:
        """How names were read, which were left out; and that nobody is named, which may be a mistake."""
        nobody = "The list names nobody of the roster: the answer is that of somebody without friends."
        return [*_read_as(self.read_as), *_left_out(self.unknown), *([] if self.bits.any() else [nobody])]


@dataclass(frozen=True, eq=False)
class SeenEdges:
    """The edges that a hub sees, as pairs of numbers, the smaller first, sorted; and unknown names. Private."""

    pairs: npt.NDArray[np.int32] = field(repr=False)
    unknown: tuple[str, ...] = field(repr=False)
    read_as: ReadAs = field(repr=False, default=())

    def understood(self) -> list[str]:
        """How many edges the list names, how names were read, and which were left out."""
        edges = counted(len(self.pairs), "edge")
        return [f"The list names {edges} between people of the roster.", *self.remarks()]

    def remarks(self) -> list[str]:
        """How names were read, and which were left out."""
        return [*_read_as(self.read_as), *_left_out(self.unknown)]


def read_friends(source: Source, roster: Names, own: int) -> Friends:
    """The friends among the roster's names, forgivingly read; refuses a list that names its own holder."""
    given = matched((_name(row[0] if isinstance(row, list) else row) for row in _rows(source)), roster)
    if roster[own] in given.found:
        raise BadInput("The friend list names its own holder; leave that line out.")
    bits = np.fromiter((name in given.found for name in roster), np.bool_, len(roster))
    return Friends(bits, given.unknown, given.read_as)


def read_edges(source: Source, roster: Names) -> SeenEdges:
    """What a hub sees: one pair of names a line or a row."""
    named = [_both_ends(row) for row in _rows(source)]
    given = matched((name for ends in named for name in ends), roster)
    numbers = {name: number for number, name in enumerate(roster)}
    numbers |= {typed: numbers[name] for typed, name in given.read_as}
    known = [sorted((numbers[one], numbers[two])) for one, two in named if one in numbers and two in numbers]
    if twice := next((roster[one] for one, two in known if one == two), None):
        raise BadInput(f"An edge joins two people; {shortened(twice)} stands on both sides.")
    pairs = sorted(set(map(tuple, known)))
    return SeenEdges(np.array(pairs, np.int32).reshape(-1, 2), given.unknown, given.read_as)


def _both_ends(row: object) -> tuple[str, str]:
    """The two names of an edge."""
    ends = _ends(row) if isinstance(row, str) else row
    if not isinstance(ends, (list, tuple)) or len(ends) < 2:
        raise BadInput(
            f"A hub gives pairs of names, one edge a line, with a comma, a tab or a blank between; "
            f"{shortened(row)} is none."
        )
    first, second = (_name(end) for end in ends[:2])
    if first == second:
        raise BadInput(f"An edge joins two people; {shortened(first)} stands on both sides.")
    return first, second


def _ends(line: str) -> list[str]:
    """The two names of a line; names that have blanks need a comma or a tab between them."""
    mark = next((mark for mark in (",", "\t") if mark in line), None)
    words = line.split(mark)
    return words if mark or len(words) == 2 else []


def _rows(source: Source) -> Given:
    """What was given, one name or one row at a time."""
    if callable(source):
        return source()
    if isinstance(source, (str, Path)):
        return _written(*_text(source))
    return source


def from_input() -> list[object]:
    """The list on standard input, which can be read once only."""
    return list(_written(_text("-")[0], ""))


def _text(source: str | Path) -> tuple[str, str]:
    """The text, and how its file's name ends."""
    if source == "-":
        return sys.stdin.read(), ""
    path = Path(source)
    try:
        return path.read_text("utf-8-sig"), path.suffix.lower()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"The friend list {path} cannot be read ({error}); give a UTF-8 file, or - for input."
        ) from error


def _written(text: str, ending: str) -> Given:
    if ending == ".json" or text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadInput(f"The friend list is not a JSON list: {error}.") from error
        if not isinstance(rows, list):
            raise BadInput("The friend list must be a JSON list of names.")
        return rows
    if ending == ".csv":
        return [row for row in csv.reader(text.splitlines()) if row and row[0].strip()]
    return [line for line in text.splitlines() if line.strip()]


def _name(given: object) -> str:
    """A name as rosters write it."""
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise BadInput(f"A name is a text or a whole number; {shortened(given)} is neither.")
    return unicodedata.normalize("NFC", str(given).strip())


class Aligned:
    """Bits that were written in the order of some roster, read in the order of this one."""

    def __init__(self, entries: Iterable[Entry], names: Names) -> None:
        self._rosters: Mapping[str, Names] = {e.names: _names_in(e.content) for e in entries if e.kind == "roster"}
        self._names = names
        self._places: dict[str, npt.NDArray[np.int64]] = {}

    @property
    def none(self) -> Bits:
        return np.zeros(len(self._names), np.bool_)

    def one(self, entry: Entry) -> Bits:
        return self._read(entry.names, entry.content)

    def any(self, entries: Iterable[Entry]) -> Bits:
        """Where one of these entries has a bit."""
        found: Bits = np.logical_or.reduce([self.none, *(self.one(entry) for entry in entries)])
        return found

    def merged(self, entries: Iterable[Entry]) -> tuple[Bits, Bits]:
        """What is known and what is 1 by all these entries; two that contradict each other were not written here."""
        known, ones = self.none, self.none
        for entry in entries:
            half = len(entry.content) // 2
            more, said = (self._read(entry.names, part) for part in (entry.content[:half], entry.content[half:]))
            if (known & more & (ones ^ said)).any():
                raise UnusableLedger("The ledger holds two answers for one position; it cannot have been written so.")
            known, ones = known | more, ones | said
        return known, ones

    def _read(self, roster: str, packed: bytes) -> Bits:
        if roster not in self._rosters or len(packed) != octets(len(self._rosters[roster])):
            raise UnusableLedger("The ledger speaks of a roster that it does not hold; bring back the newest copy.")
        # Whom that roster does not name, it says nothing about: the bit after the last one is 0.
        return np.append(unpack(packed, len(self._rosters[roster])), False)[self._places_in(roster)]

    def _places_in(self, roster: str) -> npt.NDArray[np.int64]:
        if roster not in self._places:
            numbers = {name: number for number, name in enumerate(self._rosters[roster])}
            self._places[roster] = np.array([numbers.get(name, len(numbers)) for name in self._names], np.int64)
        return self._places[roster]


def roster_digest(names: Names) -> str:
    """Under which digest the ledger speaks of a roster."""
    return digest(_roster_bytes(names))


def roster_entry(names: Names) -> Entry:
    """The entry that makes a roster's order known."""
    return Entry("roster", names=roster_digest(names), content=_roster_bytes(names))


def write_roster(page: Page, names: Names) -> None:
    """Make a roster's order known, once."""
    if all(entry.names != roster_digest(names) for entry in page.entries("roster")):
        page.append(roster_entry(names))


@lru_cache(maxsize=4)
def _roster_bytes(names: Names) -> bytes:
    return encode(list[Content](names))


@lru_cache(maxsize=4)
def _names_in(content: bytes) -> Names:
    names = decode(content)
    return tuple(str(name) for name in names) if isinstance(names, list) else ()


def counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _left_out(names: Sequence[str]) -> list[str]:
    return [f"Not in the roster, and left out: {_some(list(map(repr, names)))}."] if names else []


def _read_as(pairs: ReadAs) -> list[str]:
    return [f"Read as names of the roster: {_some([f'{one!r} as {two!r}' for one, two in pairs])}."] if pairs else []


def _some(words: list[str]) -> str:
    more = f" and {len(words) - SHOWN:,} more" if len(words) > SHOWN else ""
    return f"{', '.join(words[:SHOWN])}{more}"
