"""Rows of bits added as bits, and ones listed by a table: against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba", reason="numba is not installed")

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
