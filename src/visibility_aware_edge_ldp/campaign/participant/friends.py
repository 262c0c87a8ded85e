"""The friend list as its holder gives it: a file, standard input, names, or a function that brings them."""

from __future__ import annotations

import csv
import json
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.canonical import shortened
from visibility_aware_edge_ldp.errors import BadInput

Bits = npt.NDArray[np.bool_]
Given = Iterable[object]
Source = str | Path | Given | Callable[[], Given]
"""A path ("-": standard input), names, or a function that brings names. A hub gives pairs of names instead."""
Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Friends:
    """Which names of the roster are friends, and what was given that the roster does not know. Private."""

    bits: Bits = field(repr=False)
    unknown: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class SeenEdges:
    """The edges that a hub sees, as pairs of numbers, the smaller first, sorted; and unknown names. Private."""

    pairs: npt.NDArray[np.int32] = field(repr=False)
    unknown: tuple[str, ...] = field(repr=False)


def read_friends(source: Source, roster: Names, own: int) -> Friends:
    """The friends among the roster's names; refuses a list that names its own holder."""
    given = {_name(row[0] if isinstance(row, list) else row) for row in _rows(source)}
    if roster[own] in given:
        raise BadInput("The friend list names its own holder; leave that line out.")
    bits = np.fromiter((name in given for name in roster), np.bool_, len(roster))
    return Friends(bits, tuple(sorted(given - set(roster))))


def read_edges(source: Source, roster: Names) -> SeenEdges:
    """What a hub sees: one pair of names a line or a row."""
    numbers = {name: number for number, name in enumerate(roster)}
    pairs, unknown = set(), set()
    for row in _rows(source):
        ends = _ends(row) if isinstance(row, str) else row
        if not isinstance(ends, (list, tuple)) or len(ends) < 2:
            raise BadInput(
                f"A hub gives pairs of names, one edge a line, with a comma, a tab or a blank between; "
                f"{shortened(row)} is none."
            )
        first, second = (_name(end) for end in ends[:2])
        if first == second:
            raise BadInput(f"An edge joins two people; {shortened(first)} stands on both sides.")
        unknown |= {first, second} - numbers.keys()
        if first in numbers and second in numbers:
            pairs.add(tuple(sorted((numbers[first], numbers[second]))))
    return SeenEdges(np.array(sorted(pairs), np.int32).reshape(-1, 2), tuple(sorted(unknown)))


def _ends(line: str) -> list[str]:
    """The two names of a line; names that have blanks need a comma or a tab between them."""
    for mark in (",", "\t"):
        if mark in line:
            return line.split(mark)
    words = line.split()
    return words if len(words) == 2 else []


def _rows(source: Source) -> Given:
    """What was given, one name or one row at a time."""
    if callable(source):
        return source()
    if isinstance(source, (str, Path)):
        return _written(*_text(source))
    return source


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
