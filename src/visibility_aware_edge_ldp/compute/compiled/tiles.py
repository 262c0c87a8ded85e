"""The compiled twins of ``tiles``: rows are added first, and ones are counted last. Need numba, the extra ``fast``.

Triangles are Σ over a of ⟨row of a, Σ over its later neighbours b of the row of b⟩. Carry-save adders take sixteen
rows of 512 bits to one row of sixteens for the price of fifteen adders, one AND and one count of ones.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint16, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled.bitset import strips_of as strips_of
from visibility_aware_edge_ldp.compute.compiled.carry_save import (
    ONES,
    ROOM,
    ROW,
    WORD,
    WORDS,
    array_data,
    carry_of,
    list_ones,
    load_row,
    lowest_one,
    number,
    places_of_ones,
    row_at,
    store_row,
)
from visibility_aware_edge_ldp.compute.compiled.carry_save import PANEL as SIDE
from visibility_aware_edge_ldp.compute.jit_cache import njit
from visibility_aware_edge_ldp.compute.plain.bitset import zeros_in_line
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of

# Rows added at a time, and how many levels of adders that takes: the more, the fewer ones are counted.
GROUP, LEVELS = 16, 4
# Counts of up to 512 have so many binary digits.
DIGITS = 10


@intrinsic  # type: ignore[untyped-decorator]
def _add_masked(typing: Any, panel: Any, places: Any, begin: Any, end: Any, masks: Any, row: Any, totals: Any) -> Any:
    """Add to ``totals`` the ones that the listed rows of ``panel`` share with a row of ``masks``, word by word.

    ``places`` are distances in octets; their number from ``begin`` to ``end`` is a multiple of GROUP. Row r of the
    masks adds to row r // 512 of the totals.
    """
    signature = types.void(panel, places, types.int64, types.int64, masks, types.int64, totals)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, listed, masked, summed = (array_data(context, builder, signature, args, i) for i in (0, 1, 4, 6))
        row_pointer = ROW.as_pointer()
        count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ROW, [ROW]), f"llvm.ctpop.v{WORDS}i64")

        def ones(row: Any) -> Any:
            """How many of this row's ones are in the mask."""
            return builder.call(count, [builder.and_(row, mask)])

        mask = load_row(builder, row_at(builder, masked, args[5]))
        # The sums so far: rows of ones, twos, fours and eights that no carry has taken yet, and the sixteens counted.
        kept = [cgutils.alloca_once_value(builder, ir.Constant(ROW, [0] * WORDS)) for _ in range(LEVELS + 1)]
        with cgutils.for_range_slice(builder, args[2], args[3], number(GROUP), WORD) as (place, _):
            *sums, counted = (builder.load(each) for each in kept)
            taken = iter(range(GROUP))

            def next_row() -> Any:
                distance = builder.load(builder.gep(listed, [builder.add(place, number(next(taken)))]))
                address = builder.add(builder.ptrtoint(rows, WORD), builder.zext(distance, WORD))
                return load_row(builder, builder.inttoptr(address, row_pointer))

            carry = carry_of(builder, sums, next_row)
            for row, where in zip((*sums, builder.add(counted, ones(carry))), kept, strict=True):
                builder.store(row, where)
        *sums, total = (builder.load(each) for each in kept)
        for row in reversed(sums):
            total = builder.add(builder.shl(total, ir.Constant(ROW, [1] * WORDS)), ones(row))
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


@njit(nogil=True)  # type: ignore[untyped-decorator]
def _fill(flat: Any, place: Any, first: Any, last: Any, n: Any, runs: Any, result: Any) -> None:
    """Whole words are shifted into place; ``flat`` is words, with a spare one at the end."""
    for u in range(first, last):
        for r in range(runs.shape[0]):
            begin = max(runs[r, 0], u + 1)
            if begin >= runs[r, 1]:
                continue
            slot = runs[r, 2] + begin - runs[r, 0]
            end = runs[r, 2] + runs[r, 1] - runs[r, 0]
            for w in range(slot >> 6, (end + 63) >> 6):
                skipped = max(slot - w * 64, 0)  # columns of the first word that are not after u
                source = place + (begin - u - 1) + (w * 64 + skipped - slot)
                offset = uint64(source & 63)
                word = flat[source >> 6] >> offset
                if offset:
                    word |= flat[(source >> 6) + 1] << (uint64(64) - offset)
                word <<= uint64(skipped)
                if end - w * 64 < 64:
                    word &= (uint64(1) << uint64(end - w * 64)) - uint64(1)
                result[u - first, w] = word
        place += n - 1 - u


def tile_row(flat: Any, place: int, nodes: Any, n: int, runs: Any, sides: int) -> Any:
    """As ``tiles.tile_row``."""
    result = np.zeros((SIDE, sides * WORDS), np.uint64)
    padded = np.zeros((flat.size + 15) // 8 * 8, np.uint8)
    padded[: flat.size] = flat
    _fill(padded.view("<u8"), place, *nodes, n, runs, result)
    return result


@njit(nogil=True)  # type: ignore[untyped-decorator]
def column_ones(rows: Any) -> Any:
    """As ``tiles.column_ones``: 64 columns are counted at once, one word for each binary digit of their counts."""
    counts = np.zeros(rows.shape[1] * 64, dtype=np.int32)
    digits = np.zeros((WORDS, DIGITS), dtype=np.uint64)
    for left in range(0, rows.shape[1], WORDS):
        digits[:] = uint64(0)
        for row in range(rows.shape[0]):
            for w in range(WORDS):
                carry, digit = rows[row, left + w], 0
                while carry:
                    kept = digits[w, digit]
                    digits[w, digit] = kept ^ carry
                    carry &= kept
                    digit += 1
        for w in range(WORDS):
            for bit in range(64):
                total = 0
                for digit in range(DIGITS):
                    total += int((digits[w, digit] >> uint64(bit)) & uint64(1)) << digit
                counts[(left + w) * 64 + bit] = total
    return counts
