"""Edge lists as text: SNAP files, CSV and their relatives, plain or gzipped.

Whole numbers go through NumPy's own reader. Whatever that refuses is read line by line, which is
slower, understands any names, and is the only place that can say which line is wrong.
"""

import io
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import numpy as np

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.formats import read_matrix
from visibility_aware_edge_ldp.truth.header import TableOptions
from visibility_aware_edge_ldp.truth.listing import Integers, Listing, from_integers, from_names, places, sort_nodes
from visibility_aware_edge_ldp.truth.text_file import RawText, TextTable, is_data, split_fields

EXTRA_COLUMNS = "columns beyond the two node names were ignored"
HEADER = "the first line was read as a header"
_ANY_SEPARATOR = re.compile(rb"[,;\s]+")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))
_BATCH = 1 << 12
_WHOLE = re.compile(rb"[+-]?[0-9]{1,4000}")
_MISSING = {b"nan", b"na", b"n/a", b"null", b"none"}


def read_edge_list(raw: RawText, path: Path, options: TableOptions | None = None) -> Listing:
    """The edges that a text file lists.

    Parameters
    ----------
    raw
        The text: two node names to a line, separated by white space, tab, comma or semicolon; ``#`` and ``%`` begin
        comments; further columns are ignored. Or an adjacency matrix.
    path
        Where it came from.
    options
        Columns, header and delimiter, where they shall not be decided here.
    """
    text = TextTable.of(raw, path, options or TableOptions())
    if text.options == TableOptions() and (rows := text.rows_of_a_square()):
        matrix = read_matrix(rows, text.source)
        if matrix is not None:
            return matrix
    text.refuse_adjacency_list()
    listing = _by_numpy(text)
    return listing if listing is not None else _by_lines(text)


# ── whole numbers, by NumPy ──


def _by_numpy(text: TextTable) -> Listing | None:
    """The listing when all names are 64-bit integers in a regular layout, else None."""
    width = len(text.fields)
    if width < 2:
        return None
    # NumPy knows one comment sign at a time; a file with both goes the slow way.
    pairs = _loadtxt(text, "%" if text.data.find(b"%", text.start) >= 0 else "#", width)
    if pairs is None:
        return None
    notes = [*text.notes, *([HEADER] if text.may_be_header else [])]
    notes += [EXTRA_COLUMNS] if width > 2 else []
    return from_integers(pairs, notes)


def _loadtxt(text: TextTable, comments: str, width: int) -> Integers | None:
    separator = text.separator.decode() if text.separator else None
    columns = text.columns if width > 2 else None  # without a choice of columns ragged lines are refused
    skip = text.skip + bool(text.may_be_header)
    stream = os.fspath(text.path.absolute()) if text.path else io.TextIOWrapper(io.BytesIO(text.data), "latin-1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy only warns about decimals and about empty input
        try:
            found = np.loadtxt(
                stream,
                dtype=np.int64,
                comments=comments,
                delimiter=separator,
                skiprows=skip,
                usecols=columns,
                ndmin=2,
                encoding="latin-1",
            )
        except (ValueError, Warning):
            return None
    return found if found.shape[1] == 2 and len(found) else None


# ── any names, line by line ──


def _by_lines(text: TextTable) -> Listing:
    _refuse_binary(text)
    index: defaultdict[bytes, int] = defaultdict(count().__next__)
    blocks, ragged = [], False
    for number, lines in _batches(text):
        left, right, extra = _names(lines, number, text)
        ragged |= extra
        if left:
            # The first line's names come first, so that a header can be cut off again.
            places(index, (left[0], right[0]))
            blocks.append(np.stack([places(index, left), places(index, right)], axis=1))
    names, pairs = list(index), np.concatenate(blocks)
    notes = [*text.notes, *([EXTRA_COLUMNS] if ragged else [])]
    if text.has_header(bool((pairs[1:] < 2).any())):
        names, pairs = _without_first(names, pairs)
        notes.append(HEADER)
    return interpret(names, pairs, notes, text.source)


def _without_first(names: list[bytes], pairs: Integers) -> tuple[list[bytes], Integers]:
    """The names and pairs of all lines but the first."""
    kept, moved = np.unique(pairs[1:], return_inverse=True)
    return [names[i] for i in kept], moved.reshape(-1, 2)


def _batches(text: TextTable) -> Iterator[tuple[int, list[bytes]]]:
    stream, number = io.BytesIO(text.data), text.skip + 1
    stream.seek(text.start)
    while lines := list(islice(stream, _BATCH)):
        yield number, lines
        number += len(lines)


def _names(lines: list[bytes], number: int, text: TextTable) -> tuple[list[bytes], list[bytes], bool]:
    """Left names, right names, and whether any line had more."""
    (i, j), separator = text.columns, text.separator
    most = max(i, j) + 1
    rows = [line.split(separator, most) for line in map(bytes.strip, lines) if line and line[0] not in b"#%"]
    widths = set(map(len, rows))
    if text.has_quotes or min(widths, default=most) < most:
        rows = list(_careful(lines, number, text))
    left, right = [row[i] for row in rows], [row[j] for row in rows]
    if separator:
        left, right = [name.strip() for name in left], [name.strip() for name in right]
    if not (all(left) and all(right)):
        list(_careful(lines, number, text))  # raises, with the number of the line
    return left, right, max(map(len, rows), default=2) > 2


def _careful(lines: list[bytes], number: int, text: TextTable) -> Iterator[list[bytes]]:
    """Fields of each data line, or the refusal of the first line that has too few."""
    i, j = text.columns
    for here, line in enumerate(map(bytes.strip, lines), number):
        if not is_data(line):
            continue
        fields = split_fields(line, text.separator)
        if len(fields) <= max(i, j):
            fields = _numbers(line)
        if len(fields) <= max(i, j) or not (fields[i] and fields[j]):
            raise BadGraph(
                f"Line {here} of {text.source} does not name two nodes: {_shown(line)}. "
                "Put two names on each line, or begin the line with # if it is a comment."
            )
        yield fields


def _numbers(line: bytes) -> list[bytes]:
    """Fields of a line that uses another separator than the first line did; only if they are numbers.

    "Alice Smith" in a comma-separated file is one name and must not become two.
    """
    fields = _ANY_SEPARATOR.split(line)
    return fields if all(is_whole(name) for name in fields[:2]) else []


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _refuse_binary(text: TextTable) -> None:
    if len(text.data.translate(None, _CONTROL)) != len(text.data):
        raise BadGraph(f"{text.source} is not a text file. Give an edge list as UTF-8 text, plain or gzipped.")


# ── what written names mean ──


def is_whole(name: bytes) -> bool:
    """Whether a name is written as a whole number."""
    return _WHOLE.fullmatch(name) is not None


def interpret(names: list[bytes], pairs: Integers, notes: list[str], source: str) -> Listing:
    """Names as whole numbers where all of them are, else as text.

    Parameters
    ----------
    names
        The distinct names as written.
    pairs
        One row of positions in ``names`` for each line.
    """
    odd = [name for name in names if not is_whole(name)]
    if odd and len(odd) < len(names) and {name.lower() for name in odd} <= _MISSING:
        raise BadGraph(f"{source} has a missing node name ({odd[0].decode()}) among numbers. Remove the lines with it.")
    if not odd:
        return _from_values([int(name) for name in names], pairs, notes)
    decimals = _decimals(names)
    if decimals is not None:
        return _from_values(decimals, pairs, [*notes, "node ids written as decimals were read as whole numbers"])
    return sort_nodes(Listing(_decoded(names, source), pairs, tuple(notes)))


def _decimals(names: list[bytes]) -> list[int] | None:
    """The whole numbers that these decimals write ("3.0", "3e0"), if all of them do."""
    try:
        values = [float(name) for name in names]
    except ValueError:
        return None
    whole = all(value.is_integer() and abs(value) < 2**53 for value in values)
    return [int(value) for value in values] if whole else None


def _from_values(values: list[int], pairs: Integers, notes: list[str]) -> Listing:
    if min(values) >= -(2**63) and max(values) < 2**63:
        return from_integers(np.array(values, dtype=np.int64)[pairs], notes)
    left, right = (map(values.__getitem__, column.tolist()) for column in pairs.T)
    return from_names(left, right, notes)


def _decoded(names: list[bytes], source: str) -> list[str]:
    try:
        return [name.decode("utf-8") for name in names]
    except UnicodeDecodeError:
        raise BadGraph(f"{source} is not UTF-8 text. Convert it, for example with iconv -t UTF-8.") from None
