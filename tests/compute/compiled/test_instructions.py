"""Rows of bits added as bits, and ones listed by a table: against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba", reason="numba is not installed")

from numba import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

from visibility_aware_edge_ldp.compute.compiled import instructions as code  # noqa: E402
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows, zeros_in_line  # noqa: E402


@numba.njit  # type: ignore[untyped-decorator]
def counted(panel: Any, listed: Any, begin: Any, end: Any, slices: Any, counts: Any) -> None:
    code.count_columns(panel, listed, begin, end, slices, counts)


@numba.njit  # type: ignore[untyped-decorator]
def ones_of(octets: Any, table: Any, ones: Any, base: Any, places: Any) -> Any:
    return code.list_ones(octets, table, ones, 8, base, places, 0)


@numba.njit  # type: ignore[untyped-decorator]
def of_a_word(word: Any) -> Any:
    return code.popcount(word), code.lowest_one(word)


@pytest.mark.parametrize("rows", [0, 8, 24, 32, 40, 264, 4096])
@pytest.mark.parametrize("density", [0.02, 0.5, 1.0])
def test_columns_are_counted_as_by_adding_rows(rows: int, density: float) -> None:
    random = np.random.default_rng(rows)
    bits = random.random((50, code.PANEL)) < density
    panel = zeros_in_line(51, code.WORDS)
    panel[:50] = pack_rows(bits, code.PANEL)
    listed = random.integers(0, 51, rows + 8).astype(np.uint32)  # row 50 is empty
    slices = np.full((code.SLICES, code.WORDS), np.uint64(7))  # whatever was there before
    expected = np.vstack([bits, np.zeros((1, code.PANEL), bool)])[listed[8:]].sum(axis=0)
    for width in (np.uint16, np.uint32):
        counts = np.full(code.PANEL, 99, width)
        counted(panel, listed, 8, rows + 8, slices, counts)
        assert counts.tolist() == expected.tolist()


@pytest.mark.parametrize(("unit", "kind"), [(1, np.uint16), (64, np.uint16), (1, np.uint32)])
def test_ones_are_listed_in_order(unit: int, kind: type[np.unsignedinteger[Any]]) -> None:
    bits = np.random.default_rng(3).random(512) < 0.3
    octets, places = np.packbits(bits, bitorder="little"), np.zeros(512 + code.ROOM, kind)
    table = code.places_of_ones(unit, kind)
    end = ones_of(octets[:1], table, code.ONES, 5, places)
    assert places[:end].tolist() == (5 + unit * np.flatnonzero(bits[:8])).tolist()
    if unit == 1:
        end = ones_of(octets, table, code.ONES, 5, places)
        assert places[:end].tolist() == (5 + np.flatnonzero(bits)).tolist()


@pytest.mark.parametrize("word", [1, 6, 1 << 63, (1 << 64) - 1, 0x0F00])
def test_ones_of_a_word(word: int) -> None:
    assert of_a_word(np.uint64(word)) == (word.bit_count(), (word & -word).bit_length() - 1)


@pytest.mark.parametrize("levels", [3, 4, 5])
def test_both_ways_of_carrying_add_the_same(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of a processor with functions of three bits, and the way of all others."""
    rows = np.random.default_rng(levels).integers(0, 1 << 63, (2**levels + levels, code.WORDS), dtype=np.uint64)
    carries = []
    for carry_of in (code._carry_by_pairs, code._carry_by_threes):
        if carry_of is code._carry_by_threes and not code.has_ternary():
            continue
        monkeypatch.setattr(code, "carry_of", lambda builder, sums, row, way=carry_of: way(builder, sums, row, levels))
        found = np.zeros((levels + 1, code.WORDS), np.uint64)
        carrying(levels)(rows, found)
        carries.append(found)
    weights = 1 << np.arange(levels + 1)
    columns = np.unpackbits(rows.view(np.uint8), axis=1).astype(np.int64)
    before = columns[2**levels :] * weights[:levels, None]  # the sums that were there
    expected = columns[: 2**levels].sum(axis=0) + before.sum(axis=0)
    for found in carries:
        assert (weights @ np.unpackbits(found.view(np.uint8), axis=1).astype(np.int64)).tolist() == expected.tolist()


def carrying(levels: int) -> Any:
    """A kernel that adds the first 2^levels rows to the rows after them, each of one level more."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing: Any, rows: Any, found: Any) -> Any:
        def write(builder: Any, rows: Any, found: Any) -> None:
            taken = iter(range(2**levels))
            load = lambda index: builder.load(code.row_at(builder, rows, code.number(index)), align=8)  # noqa: E731
            sums = [load(2**levels + level) for level in range(levels)]
            carry = code.carry_of(builder, sums, lambda: load(next(taken)))
            for level, row in enumerate((*sums, carry)):
                builder.store(row, code.row_at(builder, found, code.number(level)), align=8)

        return code.written(types.void(rows, found), write)

    return numba.njit(lambda rows, found: add(rows, found))
