"""A roster that names are looked for in: forgivingly, with a row for every name and what became of it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.name_matching import key, suggestions
from visibility_aware_edge_ldp.tabular import Records, Tabular
from visibility_aware_edge_ldp.truth.attributes import read_rows
from visibility_aware_edge_ldp.truth.header import plain
from visibility_aware_edge_ldp.truth.text_file import load_bytes

FOUND, READ_AS, SEVERAL, UNKNOWN, ITSELF, AGAIN = (
    "found", "read as", "fits several", "not in the roster", "is the ego itself", "named again",
)  # fmt: skip
NAMES = ("name", "names", "fullname", "label", "nickname", "code", "alias", "pseudonym")
"""Columns that say what people are called, without capitals, dots and blanks."""
_CALLED = ("id", "node", "person", *NAMES)


class Match(NamedTuple):
    """What became of one name: who gave it (nobody: the ego's own name), and whom of the roster it means."""

    ego: str
    given: str
    outcome: str
    person: str = ""
    perhaps: tuple[str, ...] = ()


class Matching(Tabular):
    """A row for every name of a survey: the ego who gave it, the name, what became of it, and who is meant. Private."""

    def __init__(self, rows: Sequence[Match]) -> None:
        self.rows = rows

    def records(self) -> Records:
        """One dictionary for each name."""
        return [{**row._asdict(), "perhaps": "; ".join(row.perhaps)} for row in self.rows]

    @property
    def lost(self) -> list[Match]:
        """Names that mean nobody of the roster, or several people of it."""
        return [row for row in self.rows if row.outcome in (SEVERAL, UNKNOWN)]

    def lines(self) -> list[str]:
        """A line for each name that was not found, with those that may be meant."""
        return list(dict.fromkeys(map(_line, self.lost)))


def _line(row: Match) -> str:
    who = f"named by {row.ego!r}" if row.ego else "asked"
    alike = " or ".join(map(repr, row.perhaps))
    if row.outcome == SEVERAL:
        return f"{row.given!r} ({who}) fits several people: {alike}."
    return f"{row.given!r} ({who}) is not in the roster{f'; did you mean {alike}?' if alike else '.'}"


class Roster:
    """People, each with one name or several things to be called by, such as a name and a code."""

    def __init__(self, names: Sequence[str], called: Sequence[tuple[str, ...]] | None = None) -> None:
        self.names = tuple(names)
        if len(set(self.names)) < len(self.names):
            raise BadInput("A name stands in the roster twice. Give each person a name of its own.")
        self._exact, self._forgiven = dict[str, set[int]](), dict[str, set[int]]()
        for person, words in enumerate(called or [(name,) for name in self.names]):
            for word in filter(None, words):
                self._exact.setdefault(word, set()).add(person)
                self._forgiven.setdefault(key(word), set()).add(person)
        self._words = tuple(self._exact)

    def find(self, given: str, ego: str = "") -> Match:
        """Whom of the roster a name means; capitals, accents, marks and the order of words are forgiven."""
        for places, outcome in ((self._exact.get(given), FOUND), (self._forgiven.get(key(given)), READ_AS)):
            if places is not None and len(places) == 1:
                return Match(ego, given, outcome, self.names[next(iter(places))])
            if places is not None:
                return Match(ego, given, SEVERAL, perhaps=tuple(self.names[each] for each in sorted(places)))
        return Match(ego, given, UNKNOWN, perhaps=tuple(suggestions(given, self._words)))


def read_roster(source: Any) -> Roster:
    """A roster: names, a text file with one on each line, or a CSV file whose columns id, name, code, … all count."""
    if not isinstance(source, (str, os.PathLike)):
        return Roster([str(name) for name in source])
    path = Path(source).expanduser()
    if path.suffix.lower() not in (".csv", ".gz"):
        lines = load_bytes(path, BadInput).data.decode("utf-8", "replace").splitlines()
        return Roster([line.strip() for line in lines if line.strip()])
    header, rows = read_rows(path)
    columns = [place for place, title in enumerate(header) if plain(title) in _CALLED] or [0]
    called = [tuple(row[place].strip() for place in columns) for row in rows]
    return Roster([words[0] for words in called], called)
