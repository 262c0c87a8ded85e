"""An ego survey on a roster: whom each respondent named, found in one list of people, and what did not match.

Alters are numbered within each ego, so that only their names or codes say who they are. Nothing is dropped silently:
`EgoSurvey.matching` has a row for every name that was given. From the rest follow a graph, each respondent's list of
friends, and, with survey weights, what each respondent stands for.
"""

import json
import os
import zipfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.errors import BadGraph, BadInput
from visibility_aware_edge_ldp.truth.ego_tables import EgoTables, Row, open_tables
from visibility_aware_edge_ldp.truth.graph import Graph, Respondents
from visibility_aware_edge_ldp.truth.header import plain
from visibility_aware_edge_ldp.truth.listing import Listing
from visibility_aware_edge_ldp.truth.roster import (
    AGAIN,
    ITSELF,
    NAMES,
    READ_AS,
    SEVERAL,
    UNKNOWN,
    Match,
    Matching,
    Roster,
    read_roster,
)

EITHER, BOTH, PERCEIVED = TIES = ("either", "both", "perceived")
HAJEK, HORVITZ_THOMPSON = WEIGHTINGS = ("hajek", "horvitz-thompson")
_CASE_IDS = ("networkcanvascaseid", "egoid", "puid", "ego", "networkcanvasegouuid")
_ENCRYPTED = "ENCRYPTED"


@dataclass(frozen=True, eq=False)
class EgoSurvey:
    """An ego survey whose names were found in a roster. Private.

    Parameters
    ----------
    names
        The roster.
    named
        For each respondent, by its place in the roster: whom it named, sorted, and nobody outside the roster.
    matching
        What became of every name.
    perceived
        Ties between alters as their ego sees them, as pairs of places.
    ties
        Which ties the graph has: named by "either" end, by "both" where both were asked, or "perceived" by an ego, too.
    weights
        What each respondent stands for, by its place; None without survey weights.
    weighting
        How totals are made from weights: "hajek" (scaled to the size of the roster) or "horvitz-thompson".
    """

    names: tuple[str, ...]
    named: Mapping[int, tuple[int, ...]] = field(repr=False)
    matching: Matching = field(repr=False)
    perceived: frozenset[tuple[int, int]] = field(repr=False, default=frozenset())
    ties: str = EITHER
    weights: Mapping[int, float] | None = field(repr=False, default=None)
    weighting: str = HAJEK
    source: str = "an ego survey"

    @cached_property
    def agreement(self) -> tuple[int, int]:
        """Of how many ties between two respondents both named each other, and how many of them either named."""
        arcs = {(ego, alter) for ego, alters in self.named.items() for alter in alters if alter in self.named}
        return sum((v, u) in arcs for u, v in arcs if u < v), len({(min(arc), max(arc)) for arc in arcs})

    @property
    def pairs(self) -> set[tuple[int, int]]:
        """The ties, as pairs of places, the smaller first."""
        found = {(min(ego, alter), max(ego, alter)) for ego, alters in self.named.items() for alter in alters}
        if self.ties == PERCEIVED:
            return found | self.perceived
        if self.ties == BOTH:
            asked = self.named.keys()
            return {(u, v) for u, v in found if not {u, v} <= asked or (v in self.named[u] and u in self.named[v])}
        return found

    @cached_property
    def graph(self) -> Graph:
        """The reports of all respondents as one graph on the roster; with weights it carries them."""
        pairs = np.array(sorted(self.pairs), np.int64).reshape(-1, 2)
        found = Listing(_plain(self.names), pairs, tuple(self.lines())).graph(self.source)
        if self.weights is None:
            return found
        return Graph(found.names, found.edges, found.notes, found.source, sample=self._respondents(self.weights))

    def _respondents(self, weights: Mapping[int, float]) -> Respondents:
        lists = [self.named.get(person, ()) for person in range(len(self.names))]
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists], dtype=np.int64)])
        friends = np.fromiter((each for one in lists for each in one), np.int32, int(offsets[-1]))
        each = np.array([weights.get(person, 0.0) for person in range(len(self.names))])
        return Respondents(offsets, friends, each, self.weighting == HAJEK)

    def lines(self) -> list[str]:
        """What was read, in sentences without a name."""
        asked, rows = len(self.named), [row for row in self.matching.rows if row.ego]
        counts = {outcome: sum(row.outcome == outcome for row in rows) for outcome in (READ_AS, SEVERAL, UNKNOWN)}
        strangers = sum(not row.ego for row in self.matching.lost)
        told = f"{asked:,} of {len(self.names):,} people of the roster were asked and named {len(rows):,} alters"
        lost = [f"{counts[each]:,} {words}" for each, words in _FATES.items() if counts[each]]
        both, either = self.agreement
        agreed = f"ties between two who were asked: {either:,}; in {both:,} of them"
        return [
            f"{told}{': ' if lost else ''}{', '.join(lost)}",
            *([f"{strangers:,} who were asked are not in the roster and are left out"] if strangers else []),
            *([f"{agreed} ({both / either:.0%}) both named each other"] if either else []),
            _TIE_WORDS[self.ties],
        ]  # fmt: skip

    def friends(self, name: str) -> list[str]:
        """Whom a person of the roster named, for its own client."""
        place = {each: number for number, each in enumerate(self.names)}
        if place.get(name) not in self.named:
            raise BadInput(f"{name!r} was not asked in this survey. Give a name of the roster that was.")
        return [self.names[friend] for friend in self.named[place[name]]]

    def write_friends(self, folder: str | Path) -> list[Path]:
        """A list of friends for `campaign answer` of each respondent, in a folder that only its owner may enter."""
        place = Path(folder)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        width, written = len(str(len(self.names))), list[Path]()
        index = [("file", "name"), *((f"{each + 1:0{width}}.json", self.names[each]) for each in sorted(self.named))]
        contents = {file: json.dumps(self.friends(name), ensure_ascii=False) for file, name in index[1:]}
        contents["index.json"] = json.dumps(dict(index[1:]), ensure_ascii=False, indent=1)
        for file, text in contents.items():
            written.append(place / file)
            with open(os.open(written[-1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
                out.write(f"{text}\n")
        return written


_FATES = {
    READ_AS: "found by a name that differs in capitals, accents or marks",
    SEVERAL: "left out because they fit several people",
    UNKNOWN: "left out because they are not in the roster",
}
_TIE_WORDS = {
    EITHER: "a tie is there where either end named the other",
    BOTH: "a tie between two who were asked is there where both named each other; with others, where the one asked did",
    PERCEIVED: "a tie is there where either end named the other, or an ego said that two of its alters know each other",
}


def is_ego_survey(path: str | Path) -> bool:
    """Whether this is a folder or a ZIP archive, which hold an ego survey or nothing that is read."""
    place = Path(path).expanduser()
    return place.is_dir() or (place.is_file() and zipfile.is_zipfile(place))


def read_ego_survey(
    source: Any,
    *,
    roster: Any = None,
    columns: tuple[str, str] | str | None = None,
    ties: str = EITHER,
    weights: str | None = None,
    weighting: str = HAJEK,
) -> EgoSurvey:
    """Read what egor or Network Canvas exported, and find all names in a roster.

    Parameters
    ----------
    source
        A folder, a ZIP archive, a CSV or GraphML file, or several files.
    roster
        Everybody who could have been named: names, or a file of them; a CSV file may have a name and a code for each.
        Without it, those who were asked.
    columns
        By which column egos and alters are called, such as "participant,nickname". Without it: a column "name", "label"
        or "code"; of egos otherwise the case ID or the ego's ID.
    ties
        "either" (one end named the other), "both" (both did, where both were asked), or "perceived" (ties between
        alters as egos see them, too).
    weights
        A column of the egos' table with survey weights.
    weighting
        "hajek": weights are scaled so that they add up to the roster; "horvitz-thompson": they are one over the chance
        of being drawn, as they stand.

    Raises
    ------
    BadGraph
        When no column says who an alter is, or names are encrypted.

    Examples
    --------
    >>> survey = read_ego_survey("egos/", roster="people.csv")  # doctest: +SKIP
    >>> survey.matching.lines(), survey.graph.m  # doctest: +SKIP
    """
    if ties not in TIES or weighting not in WEIGHTINGS:
        raise BadInput(f"Ties are {', '.join(TIES)}, and weighting is {' or '.join(WEIGHTINGS)}.")
    tables = open_tables(source)
    chosen = tuple(columns.split(",")) if isinstance(columns, str) else columns or ("", "")
    if len(chosen) != 2:
        raise BadInput(
            "Name two columns: one by which egos are called, one by which alters are, such as CASE,NICKNAME."
        )
    called = {ego: _called(row, chosen[0], _CASE_IDS, "ego") or ego for ego, row in tables.egos.items()}
    people = Roster(list(dict.fromkeys(called.values()))) if roster is None else read_roster(roster)
    who, matches = {ego: people.find(name) for ego, name in called.items()}, list[Match]()
    place = {name: number for number, name in enumerate(people.names)}
    lists, alters = _lists(tables, people, who, chosen[1], matches)
    named = {place[ego]: tuple(sorted(place[alter] for alter in found)) for ego, found in lists.items()}
    ends = (tuple(alters.get((ego, end), "") for end in pair) for ego, *pair in tables.ties)
    perceived = frozenset((min(u, v), max(u, v)) for u, v in _places(ends, place) if u != v)
    each = None if weights is None else _weights(tables, who, weights, weighting)
    found = None if each is None else {place[name]: weight for name, weight in each.items()}
    return EgoSurvey(
        people.names, named, Matching([*who.values(), *matches]), perceived, ties, found, weighting, _name_of(source)
    )


def _plain(names: Sequence[str]) -> Sequence[Hashable]:
    """Names as tables of attributes have them: whole numbers, where all are."""
    whole = all(name.isascii() and name.isdecimal() and str(int(name)) == name for name in names)
    return [int(name) for name in names] if whole else names


def _places(pairs: Iterable[tuple[str, ...]], place: Mapping[str, int]) -> Iterable[tuple[int, int]]:
    return ((place[one], place[two]) for one, two in pairs if one in place and two in place)


def _name_of(source: Any) -> str:
    return Path(source).name if isinstance(source, (str, os.PathLike)) else "an ego survey"


def _called(row: Row, column: str, otherwise: Sequence[str], whose: str) -> str:
    """What a row calls its person: the value of a column that was chosen, or of one that names people."""
    known = {plain(title): title for title in row}
    if row and column and column not in row and plain(column) not in known:
        raise BadGraph(f"There is no column {column!r} of an {whose}. It has: {', '.join(row)}. Name one of these.")
    wanted = [column if column in row else known[plain(column)]] if column and row else []
    titles = wanted or [known[name] for name in (*NAMES, *otherwise) if name in known]
    if row and not titles:
        raise BadGraph(
            f"No column says who an {whose} is, only its number within one interview: {', '.join(row)}. Say which "
            "columns name egos and alters: --columns EGO,ALTER (in Python, columns=(…, …))."
        )
    found = next((row[title] for title in titles if row[title]), "")
    if found == _ENCRYPTED:
        raise BadGraph("The names are encrypted in this export. Export it again with the names, or with codes.")
    return found


def _lists(
    tables: EgoTables, people: Roster, who: Mapping[str, Match], column: str, matches: list[Match]
) -> tuple[dict[str, set[str]], dict[tuple[str, str], str]]:
    """Whom each person who was asked named, and who each alter is; every name is added to ``matches``."""
    lists: dict[str, set[str]] = {match.person: set() for match in who.values() if match.person}
    alters: dict[tuple[str, str], str] = {}
    for ego, alter, row in tables.alters:
        own, match = who[ego].person, people.find(_called(row, column, (), "alter"), who[ego].given)
        alters[ego, alter] = match.person
        if match.person and match.person == own:
            match = match._replace(outcome=ITSELF)
        elif match.person and own:
            match = match._replace(outcome=AGAIN) if match.person in lists[own] else match
            lists[own].add(match.person)
        matches.append(match)
    return lists, alters


def _weights(tables: EgoTables, who: Mapping[str, Match], column: str, weighting: str) -> dict[str, float]:
    """The survey weight of each person who was asked and is in the roster."""
    found: dict[str, float] = {}
    for ego, row in tables.egos.items():
        text, person = row.get(column), who[ego].person
        try:
            weight = float((text or "").replace(",", "."))
        except ValueError:
            raise BadInput(
                f"The ego {ego!r} has no number in the column {column!r}; it has: {', '.join(row)}."
            ) from None
        if not (np.isfinite(weight) and weight > 0) or (weighting == HORVITZ_THOMPSON and weight < 1):
            least = "at least 1, one over a chance" if weighting == HORVITZ_THOMPSON else "above 0"
            raise BadInput(f"The ego {ego!r} has the weight {text}; a weight is {least}. Leave out who was not drawn.")
        if person in found:
            raise BadInput("A person was asked twice, and weights are for one interview each. Keep one of them.")
        if person:
            found[person] = weight
    return found
