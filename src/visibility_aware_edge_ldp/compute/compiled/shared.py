"""The compiled twins of ``shared``: rows are added up, column by column. Need numba, the extra ``fast``.

A row of a plane names other rows, by its ones. Added as bits they tell how many ones each column holds; added as
numbers they are a product of matrices.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled.carry_save import (
    GROUP,
    ONES,
    PANEL,
    ROOM,
    WORD,
    WORDS,
    array_data,
    list_ones,
    number,
    places_of_ones,
)
from visibility_aware_edge_ldp.compute.compiled.carry_save import PANEL as SIDE
from visibility_aware_edge_ldp.compute.compiled.column_counts import bits_of, count_columns, whole_groups, workspace
from visibility_aware_edge_ldp.compute.jit_cache import njit
from visibility_aware_edge_ldp.compute.plain.bitset import zeros_in_line

# A panel of so many sides stays in the second cache.
NEAR_SIDES = 8
# Numbers added at a time, and so many rows of them as stay in the first cache.
LANES, NEAR_ROWS = 64, 128
_NUMBERS = ir.VectorType(ir.FloatType(), LANES)
_PLACES = places_of_ones()
_WIDE_PLACES = places_of_ones(dtype=np.uint32)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_all(octets: Any, slots: Any, first: Any, last: Any, table: Any, ones: Any, ends: Any, listed: Any) -> None:
    """For each slot, the slots of some sides that it has ones with; filled up to whole groups with an empty row."""
    end = ends[0] = 0
    for i in range(slots.size):
        for side in range(first, last):
            end = list_ones(octets[side, slots[i]], table, ones, 8, (side - first) * SIDE, listed, end)
        while end & (GROUP - 1):
            listed[end] = (last - first) * SIDE
            end += 1
        ends[i + 1] = end


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _share(
    plane: Any, ends: Any, listed: Any, first_column: Any, first: Any, last: Any, panel: Any, counts: Any
) -> None:
    """Add to the counts what is shared through the slots from side ``first`` to ``last``.

    ``panel`` has room for them and for an empty row.
    """
    size, work, found = (last - first) * SIDE, workspace(), np.empty(SIDE, np.uint16)
    for column in range(counts.shape[1] // SIDE):
        panel[:size] = plane[first_column + column, first * SIDE : last * SIDE]
        for i in range(ends.size - 1):
            if ends[i] < ends[i + 1]:
                count_columns(panel, listed, ends[i], ends[i + 1], work, found)
                total = counts[i, column * SIDE : (column + 1) * SIDE]
                for x in range(SIDE):
                    total[x] += found[x]


def add_shared(near: Any, far: Any, slots: Any, first_column: int, through: tuple[int, int], counts: Any) -> None:
    """As ``shared.add_shared``: the rows that a row names are added up, all columns of a panel at once.

    A quarter of all bits are ones where noise is strong, so that adding rows costs less than comparing them.
    """
    octets, ends = near.view(np.uint8), np.empty(slots.size + 1, np.int64)
    listed = np.empty(slots.size * (NEAR_SIDES * SIDE + GROUP) + ROOM, np.uint16)
    for first in range(through[0], through[1], NEAR_SIDES):
        last = min(first + NEAR_SIDES, through[1])
        _list_all(octets, slots, first, last, _PLACES, ONES, ends, listed)
        _share(far, ends, listed, first_column, first, last, zeros_in_line((last - first) * SIDE + 1, WORDS), counts)


@intrinsic  # type: ignore[untyped-decorator]
def _add_numbers(typing: Any, panel: Any, places: Any, begin: Any, end: Any, sums: Any, at: Any) -> Any:
    """Add the listed rows of ``panel``, of LANES numbers each, to the LANES sums that start at ``at``."""
    signature = types.void(panel, places, types.int64, types.int64, sums, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, listed, kept = (array_data(context, builder, signature, args, i) for i in (0, 1, 4))
        pointer = _NUMBERS.as_pointer()
        target = builder.bitcast(builder.gep(kept, [args[5]]), pointer)
        total = cgutils.alloca_once_value(builder, builder.load(target, align=4))
        with cgutils.for_range_slice(builder, args[2], args[3], number(1), WORD) as (place, _):
            row = builder.mul(builder.zext(builder.load(builder.gep(listed, [place])), WORD), number(LANES))
            numbers = builder.load(builder.bitcast(builder.gep(rows, [row]), pointer), align=4)
            builder.store(builder.fadd(builder.load(total), numbers), total)
        builder.store(builder.load(total), target, align=4)
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _times(octets: Any, table: Any, ones: Any, panels: Any, first: Any, last: Any, sums: Any) -> None:
    """Add, for the slots from ``first`` to ``last``, the numbers of all slots that they have ones with."""
    places = np.empty(NEAR_ROWS + ROOM, np.uint16)
    for part in range(octets.shape[0] * (SIDE // NEAR_ROWS)):
        side, row = part // (SIDE // NEAR_ROWS), part % (SIDE // NEAR_ROWS) * NEAR_ROWS
        for slot in range(first, last):
            end = list_ones(octets[side, slot, row // 8 : (row + NEAR_ROWS) // 8], table, ones, 8, 0, places, 0)
            for lanes in range(panels.shape[0]):
                start = (lanes * sums.shape[1] + slot - first) * LANES
                _add_numbers(panels[lanes, side, row:], places, 0, end, sums, start)


def times(plane: Any, numbers: Any, first: int, last: int) -> Any:
    """As ``shared.times``."""
    lanes = -(-numbers.shape[1] // LANES)
    panels = zeros_in_line(lanes, numbers.shape[0], LANES // 2).view(np.float32)
    for lane in range(lanes):
        part = numbers[:, lane * LANES : (lane + 1) * LANES]
        panels[lane, :, : part.shape[1]] = part
    sums = np.zeros((lanes, last - first, LANES), np.float32)
    _times(plane.view(np.uint8), _PLACES, ONES, panels.reshape(lanes, -1, SIDE, LANES), first, last, sums)
    return sums.transpose(1, 0, 2).reshape(last - first, lanes * LANES)[:, : numbers.shape[1]]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _before(octets: Any, wanted: Any, start: Any, stop: Any, table: Any, ones: Any) -> Any:
    """For each user from ``start`` to ``stop`` the earlier ones that it has ones with: whole groups, and how many."""
    sizes, ends = np.zeros(stop - start, np.int64), np.zeros(stop - start + 1, np.int64)
    listed = np.empty((stop - start) * (stop + GROUP) + ROOM, np.uint32)
    end, rest = 0, np.empty(1, np.uint8)
    for j in range(start, stop):
        first = end
        if wanted[j]:
            own = j // PANEL
            for panel in range(own):
                end = list_ones(octets[panel, j], table, ones, 8, panel * PANEL, listed, end)
            whole = j % PANEL // 8
            end = list_ones(octets[own, j, :whole], table, ones, 8, own * PANEL, listed, end)
            rest[0] = octets[own, j, whole] & ((1 << (j % 8)) - 1)
            end = list_ones(rest, table, ones, 8, j // 8 * 8, listed, end)
        sizes[j - start] = end - first
        while end & (GROUP - 1):
            listed[end] = octets.shape[1] - 1
            end += 1
        ends[j - start + 1] = end
    return sizes, ends, listed


_AT_ONCE = 16
_SHORTS, _LONGS, _SUMS, _WORDS = (
    ir.VectorType(ir.IntType(bits), _AT_ONCE // part) for bits, part in ((16, 1), (32, 1), (32, 2), (64, 2))
)


def _products(builder: Any, x: Any, y: Any, bit: Any) -> tuple[list[Any], list[Any]]:
    """Of 16 columns' N and t: sums and products, added up two by two, of all columns and of those with a one."""

    def every_second(row: Any, first: int) -> Any:
        places = ir.Constant(ir.VectorType(ir.IntType(32), _AT_ONCE // 2), list(range(first, _AT_ONCE, 2)))
        return builder.shuffle_vector(row, ir.Constant(_LONGS, ir.Undefined), places)

    def paired(x: Any, y: Any) -> Any:
        """x · y, added up two by two."""
        products = builder.mul(builder.sext(x, _LONGS), builder.sext(y, _LONGS))
        return builder.add(every_second(products, 0), every_second(products, 1))

    ones, mask = ir.Constant(_SHORTS, [1] * _AT_ONCE), builder.neg(bit)
    held, tied = builder.and_(x, mask), builder.and_(y, mask)
    single = [paired(x, ones), paired(y, ones), paired(x, bit), paired(y, bit)]
    return single, [paired(*each) for each in ((x, x), (x, y), (y, y), (x, held), (x, tied), (y, tied))]


def _adder(wide: bool) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def add_products(typing: Any, shared: Any, early: Any, bits: Any, sums: Any) -> Any:
        """Add to ``sums`` those of N, t, N², Nt and t² over a panel's columns, and over those with a one.

        Products of two columns are added up in 32 bits, 32 times: enough where N and t are below 2^13. Wide ones, below
        2^15, are added up as halves of 16 bits.
        """
        signature = types.void(shared, early, bits, sums)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            *read, written = (array_data(context, builder, signature, args, i) for i in range(4))
            none, low, high = (ir.Constant(_SUMS, [value] * (_AT_ONCE // 2)) for value in (0, 0xFFFF, 16))
            kept = [cgutils.alloca_once_value(builder, none) for _ in range(16 if wide else 10)]
            with cgutils.for_range_slice(builder, number(0), number(PANEL), number(_AT_ONCE), WORD) as (column, _):
                places = (builder.bitcast(builder.gep(array, [column]), _SHORTS.as_pointer()) for array in read)
                single, double = _products(builder, *(builder.load(place, align=2) for place in places))
                if wide:
                    double = [part for row in double for part in (builder.and_(row, low), builder.lshr(row, high))]
                for total, row in zip(kept, single + double, strict=True):
                    builder.store(builder.add(builder.load(total), row), total)
            add_up = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(WORD, [_WORDS]), f"llvm.vector.reduce.add.v{_AT_ONCE // 2}i64"
            )
            totals = [builder.call(add_up, [builder.zext(builder.load(each), _WORDS)]) for each in kept]
            if wide:
                halves = zip(totals[4::2], totals[5::2], strict=True)
                totals[4:] = [builder.add(one, builder.shl(more, number(16))) for one, more in halves]
            for index, more in zip((0, 1, 5, 6, 2, 3, 4, 7, 8, 9), totals, strict=True):
                target = builder.gep(written, [number(index)])
                builder.store(builder.add(builder.load(target), more), target)
            return context.get_dummy_value()

        return signature, generate

    return add_products


_add_products, _add_wide_products = _adder(False), _adder(True)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_long_products(shared: Any, early: Any, bits: Any, sums: Any) -> None:
    """The same for any N and t."""
    for x in range(PANEL):
        one, other = np.int64(shared[x]), np.int64(early[x])
        for side in range(1 + bits[x]):
            sums[side, 0] += one
            sums[side, 1] += other
            sums[side, 2] += one * one
            sums[side, 3] += one * other
            sums[side, 4] += other * other


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _earlier_sums(
    panels: Any, wanted: Any, start: Any, stop: Any, ends: Any, listed: Any, counts: Any, before: Any, bits: Any
) -> Any:
    number, rows, _ = panels.shape
    sums = np.zeros((stop - start, 2, 5), np.int64)
    everybody = whole_groups(np.array([0, start]), np.arange(start), rows - 1)[1]
    work = workspace()
    for panel in range(start // PANEL, number):
        first = panel * PANEL
        count_columns(panels[panel], everybody, 0, (start + GROUP - 1) // GROUP * GROUP, work, before)
        for j in range(start, min(stop, first + PANEL)):
            bits_of(panels[panel, j], bits)
            passed = max(j + 1 - first, 0)  # columns that are not after j, nor after anybody who follows
            bits[:passed] = before[:passed] = 0
            if wanted[j]:
                count_columns(panels[panel], listed, ends[j - start], ends[j - start + 1], work, counts)
                counts[:passed] = 0
                if stop <= 1 << 13:
                    _add_products(counts, before, bits, sums[j - start])
                elif stop <= 1 << 15:
                    _add_wide_products(counts, before, bits, sums[j - start])
                else:
                    _add_long_products(counts, before, bits, sums[j - start])
            for x in range(PANEL):
                before[x] += bits[x]
    return sums


def earlier_sums(panels: Any, wanted: Any, start: int, stop: int) -> Any:
    """As ``rows.earlier_sums``."""
    sizes, ends, listed = _before(panels.view(np.uint8), wanted, start, stop, _WIDE_PLACES, ONES)
    counts, before = np.empty((2, PANEL), np.uint16 if stop < 1 << 16 else np.uint32)
    bits = np.empty(PANEL, np.uint16)
    return _earlier_sums(panels, wanted, start, stop, ends, listed, counts, before, bits), sizes
