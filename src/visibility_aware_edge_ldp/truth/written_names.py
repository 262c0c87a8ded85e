"""What names written in a file mean: numbers, text, or the headings of columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.listing import Integers, Listing, from_integers, from_names, sort_nodes

EDGE_COLUMNS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"))
HEADER = "the first line was read as a header"

_WHOLE = re.compile(rb"[+-]?[0-9]{1,4000}")
_MISSING = {b"nan", b"na", b"n/a", b"null", b"none"}


def is_whole(name: bytes) -> bool:
    """Whether a name is written as a whole number."""
    return _WHOLE.fullmatch(name) is not None


def is_word(name: bytes) -> bool:
    """Whether a name is not a number of any kind, "nan" included."""
    try:
        float(name)
    except ValueError:
        return True
    return False


def edge_columns(header: Sequence[str]) -> tuple[int, int]:
    """Which two columns hold the edge: source/target and the like by name, else the first two."""
    lower = [str(name).strip().lower() for name in header]
    for left, right in EDGE_COLUMNS:
        if left in lower and right in lower:
            return lower.index(left), lower.index(right)
    return 0, 1


def interpret(names: list[bytes], pairs: Integers, notes: list[str], source: str) -> Listing:
    """Decide whether names are numbers or text, and whether the first pair was a header.

    Parameters
    ----------
    names
        The distinct names as written, the two of the first pair in front.
    pairs
        One row of positions in ``names`` for each line.
    """
    if _has_header(names, pairs):
        names, pairs = names[2:], pairs[1:] - 2
        notes = [*notes, HEADER]
    odd = [name for name in names if not is_whole(name)]
    if odd and len(odd) < len(names) and {name.lower() for name in odd} <= _MISSING:
        raise BadGraph(f"{source} has a missing node name ({odd[0].decode()}) among numbers. Remove the lines with it.")
    if not odd:
        return _from_values([int(name) for name in names], pairs, notes)
    decimals = _decimals(names)
    if decimals is not None:
        return _from_values(decimals, pairs, [*notes, "node ids written as decimals were read as whole numbers"])
    return sort_nodes(Listing(_decoded(names, source), pairs, tuple(notes)))


def _has_header(names: list[bytes], pairs: Integers) -> bool:
    """Is the first line a header: words above numbers, or the usual words, seen nowhere else?"""
    if len(pairs) < 2 or pairs[0, 0] == pairs[0, 1] or (pairs[1:] < 2).any():
        return False
    if not all(map(is_word, names[:2])):
        return False
    usual = tuple(name.lower().decode("utf-8", "replace") for name in names[:2]) in EDGE_COLUMNS[:3]
    return usual or all(is_whole(name) for name in names[2:]) or _decimals(names[2:]) is not None


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
