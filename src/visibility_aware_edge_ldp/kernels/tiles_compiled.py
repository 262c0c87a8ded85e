"""The compiled twins of ``tiles``: rows are added first, and ones are counted last. Need numba, the extra ``fast``.

Triangles are Σ over a of ⟨row of a, Σ over its later neighbours b of the row of b⟩. Carry-save adders take sixteen
rows of 512 bits to one row of sixteens for the price of fifteen adders, one AND and one count of ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint16, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.kernels.adders import PANEL as SIDE
from visibility_aware_edge_ldp.kernels.adders import (
    ROW,
    WORD,
    WORDS,
    array_data,
    carry_of,
    load_row,
    lowest_one,
    number,
    row_at,
    store_row,
)
from visibility_aware_edge_ldp.kernels.bitset import zeros_in_line
from visibility_aware_edge_ldp.kernels.cached import njit
from visibility_aware_edge_ldp.kernels.cores import on_cores, pieces_of
from visibility_aware_edge_ldp.kernels.listing import ONES, ROOM, list_ones, places_of_ones
from visibility_aware_edge_ldp.kernels.planes_compiled import strips_of as strips_of

# Rows added at a time, and how many levels of adders that takes: the more, the fewer ones are counted.
GROUP, LEVELS = 16, 4


@intrinsic  # type: ignore[untyped-decorator]
def _add_masked(typing: Any, panel: Any, places: Any, begin: Any, end: Any, masks: Any, row: Any, totals: Any) -> Any:
    """Add to ``totals`` the ones that the listed rows of ``panel`` share with a row of ``masks``, word by word.

    ``places`` are distances in octets; their number from ``begin`` to ``end`` is a multiple of GROUP. Row r of the
    masks adds to row r // 512 of the totals.
    """
    signature = types.void(panel, places, types.int64, types.int64, masks, types.int64, totals)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, listed, masked, summed = (array_data(context, builder, signature, args, i) for i in (0, 1, 4, 6))
        begin, end, row_pointer = args[2], args[3], ROW.as_pointer()
        count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ROW, [ROW]), f"llvm.ctpop.v{WORDS}i64")

        def ones(row: Any) -> Any:
            """How many of this row's ones are in the mask."""
            return builder.call(count, [builder.and_(row, mask)])

        def worth(counts: Any, level: int) -> Any:
            return builder.shl(counts, ir.Constant(ROW, [level] * WORDS))

        mask = load_row(builder, row_at(builder, masked, args[5]))
        before = builder.block
        loop, after = builder.append_basic_block("group"), builder.append_basic_block("counted")
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)

        builder.position_at_end(loop)
        place = builder.phi(WORD)
        place.add_incoming(begin, before)
        # The sums so far: rows of ones, twos, fours and eights that no carry has taken yet, and the sixteens counted.
        kept = [builder.phi(ROW) for _ in range(LEVELS + 1)]
        for phi in kept:
            phi.add_incoming(ir.Constant(ROW, [0] * WORDS), before)
        sums, taken = kept[:LEVELS], iter(range(GROUP))

        def next_row() -> Any:
            distance = builder.load(builder.gep(listed, [builder.add(place, number(next(taken)))]))
            address = builder.add(builder.ptrtoint(rows, WORD), builder.zext(distance, WORD))
            return load_row(builder, builder.inttoptr(address, row_pointer))

        counted = builder.add(kept[LEVELS], ones(carry_of(builder, sums, next_row)))
        following = builder.add(place, number(GROUP))
        place.add_incoming(following, loop)
        results = [*sums, counted]
        for phi, result in zip(kept, results, strict=True):
            phi.add_incoming(result, loop)
        builder.cbranch(builder.icmp_signed("<", following, end), loop, after)

        builder.position_at_end(after)
        finals = []
        for result in results:
            phi = builder.phi(ROW)
            phi.add_incoming(ir.Constant(ROW, [0] * WORDS), before)
            phi.add_incoming(result, loop)
            finals.append(phi)
        total = worth(finals[LEVELS], LEVELS)
        for level, row in enumerate(finals[:LEVELS]):
            total = builder.add(total, worth(ones(row), level))
        target = row_at(builder, summed, builder.sdiv(args[5], number(SIDE)))
        store_row(builder, builder.add(load_row(builder, target), total), target)
        return context.get_dummy_value()

    return signature, generate


_DISTANCES = places_of_ones(WORDS * 8)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_rows(first: Any, distances: Any, ones: Any, starts: Any, places: Any) -> None:
    """For each row, where the rows it names lie in a panel; filled up to whole groups with the panel's empty row."""
    end = 0
    for row in range(starts.size - 1):
        starts[row] = end
        end = list_ones(first[row], distances, ones, 8 * WORDS * 8, 0, places, end)
        while end & (GROUP - 1):
            places[end] = uint16(SIDE * WORDS * 8)
            end += 1
    starts[starts.size - 1] = end


def listed(first: Any) -> Any:
    """As ``tiles.listed``: for each row of the tiles, distances in a panel of 513 rows, the last one empty."""
    rows = np.ascontiguousarray(first).reshape(-1, WORDS)
    starts = np.empty(len(rows) + 1, np.int64)
    places = np.empty(len(rows) * GROUP + int(np.bitwise_count(rows).sum(dtype=np.int64)) + ROOM, np.uint16)
    _list_rows(rows.view(np.uint8), _DISTANCES, ONES, starts, places)
    return starts, places[: starts[-1]]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_counts(starts: Any, places: Any, masks: Any, panel: Any, totals: Any) -> None:
    for row in range(starts.size - 1):
        _add_masked(panel, places, starts[row], starts[row + 1], masks, row, totals)


def triangle_counts(lists: Any, second: Any, third: Any) -> Any:
    """As ``tiles.triangle_counts``."""
    panel = zeros_in_line(SIDE + 1, WORDS)
    panel[:SIDE] = third
    totals = np.zeros((len(second), WORDS), np.int64)
    _add_counts(*lists, np.ascontiguousarray(second), panel, totals)
    return totals.sum(axis=1)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _move(rows: Any, slots: Any, columns: Any, result: Any) -> None:
    for i in range(slots.size):
        row = slots[i]
        for w in range(rows.shape[1]):
            word = rows[i, w]
            while word:
                slot = columns[w * 64 + lowest_one(word)]
                result[slot >> 9, row, (slot >> 6) & 7] |= uint64(1) << uint64(slot & 63)
                word &= word - uint64(1)


def moved(rows: Any, slots: Any, columns: Any, sides: int) -> Any:
    """As ``tiles.moved``; every row goes to a row of its own, so that cores do not meet."""
    result = np.zeros((sides, sides * SIDE, WORDS), np.uint64)
    list(
        on_cores(lambda part: _move(rows[slice(*part)], slots[slice(*part)], columns, result), pieces_of(0, len(slots)))
    )
    return result


def arranged(plane: Any, slots: Any, sides: int) -> Any:
    """As ``tiles.arranged``."""
    return moved(plane, slots, slots, sides)
