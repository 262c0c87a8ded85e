"""The compiled twins of ``tiles``: rows are added first, and ones are counted last. Need numba, the extra ``fast``.

Triangles are Σ over a of ⟨row of a, Σ over its later neighbours b of the row of b⟩. Carry-save adders take sixteen
rows of 512 bits to one row of sixteens for the price of fifteen adders, one AND and one count of ones.

A row of a plane names other rows, by its ones. Added as bits they tell how many ones each column holds; added as
numbers they are a product of matrices.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint16, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled import instructions as code
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.compiled.instructions import NEAR_SIDES, ONES, ROOM, WORDS, list_ones
from visibility_aware_edge_ldp.compute.compiled.instructions import PANEL as SIDE
from visibility_aware_edge_ldp.compute.plain.bitset import zeros_in_line
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of

# Rows added at a time, and how many levels of adders that takes: the more, the fewer ones are counted.
GROUP, LEVELS = 16, 4
# Counts of up to 512 have so many binary digits.
DIGITS = 10
# Sides that are listed at a time.
AT_ONCE = 32
# Counts that are taken from others at a time.
_COLUMNS = 32
# Numbers added at a time, and so many rows of them as stay in the first cache.
LANES, NEAR_ROWS = 64, 128
_NUMBERS = ir.VectorType(ir.FloatType(), LANES)
_PLACES, _DISTANCES = code.places_of_ones(), code.places_of_ones(WORDS * 8)


@intrinsic  # type: ignore[untyped-decorator]
def _add_masked(typing: Any, panel: Any, places: Any, begin: Any, end: Any, masks: Any, row: Any, totals: Any) -> Any:
    """Add to ``totals`` the ones that the listed rows of ``panel`` share with a row of ``masks``, word by word.

    ``places`` are distances in octets; their number from ``begin`` to ``end`` is a multiple of GROUP. Row r of the
    masks adds to row r // 512 of the totals.
    """

    def write(builder: Any, rows: Any, listed: Any, begin: Any, end: Any, masks: Any, row: Any, totals: Any) -> None:
        count = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(code.ROW, [code.ROW]), f"llvm.ctpop.v{WORDS}i64"
        )
        mask = builder.load(code.row_at(builder, masks, row), align=8)

        def ones(row: Any) -> Any:
            """How many of this row's ones are in the mask."""
            return builder.call(count, [builder.and_(row, mask)])

        # The sums so far: rows of ones, twos, fours and eights that no carry has taken yet, and the sixteens counted.
        kept = [cgutils.alloca_once_value(builder, code.constant(code.ROW, 0)) for _ in range(LEVELS + 1)]
        with cgutils.for_range_slice(builder, begin, end, code.number(GROUP), code.WORD) as (place, _):
            *sums, counted = (builder.load(each) for each in kept)
            taken = iter(range(GROUP))

            def next_row() -> Any:
                distance = builder.load(builder.gep(listed, [builder.add(place, code.number(next(taken)))]))
                address = builder.add(builder.ptrtoint(rows, code.WORD), builder.zext(distance, code.WORD))
                return builder.load(builder.inttoptr(address, code.ROW.as_pointer()), align=8)

            carry = code.carry_of(builder, sums, next_row)
            for total, where in zip((*sums, builder.add(counted, ones(carry))), kept, strict=True):
                builder.store(total, where)
        *sums, total = (builder.load(each) for each in kept)
        for each in reversed(sums):
            total = builder.add(builder.shl(total, code.constant(code.ROW, 1)), ones(each))
        target = code.row_at(builder, totals, builder.sdiv(row, code.number(SIDE)))
        builder.store(builder.add(builder.load(target, align=8), total), target, align=8)

    return code.written(types.void(panel, places, types.int64, types.int64, masks, types.int64, totals), write)


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
                slot = columns[w * 64 + code.lowest_one(word)]
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


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_all(octets: Any, slots: Any, first: Any, last: Any, table: Any, ones: Any, ends: Any, listed: Any) -> None:
    """As ``instructions.list_sides``."""
    code.list_sides(octets, slots, first, last, table, ones, ends, listed)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _share(
    plane: Any, ends: Any, listed: Any, first_column: Any, first: Any, last: Any, panels: Any, slices: Any, counts: Any
) -> None:
    """Add to the counts what is shared through the slots from side ``first`` to ``last``."""
    levels, found = code.levels_of((last - first) * SIDE), np.empty(SIDE, np.uint16)
    for column in range(counts.shape[1] // SIDE):
        code.cut_strip(plane[first_column + column], first, last, panels)
        code.add_panels(panels, ends[0], listed[0], slices, levels)
        for i in range(slices.shape[0]):
            code.spread_columns(slices[i], levels, found)
            total = counts[i, column * SIDE : (column + 1) * SIDE]
            for x in range(SIDE):
                total[x] += found[x]


def _lists(planes: Any, slots: Any, first: int, last: int) -> Any:
    """The lists of all slots in some planes, panels with an empty row each, and slices for as many slots."""
    number, levels = -(-(last - first) // NEAR_SIDES), (code.levels_of(SIDE * (last - first)) + 7) // 8 * 8
    ends = np.empty((len(planes), slots.size * number + 1), np.int64)
    listed = np.empty((len(planes), slots.size * ((last - first) * SIDE + number * code.GROUP) + ROOM), np.uint16)
    for plane, *found in zip(planes, ends, listed, strict=True):
        _list_all(plane.view(np.uint8), slots, first, last, _PLACES, ONES, *found)
    return ends, listed, zeros_in_line(number, NEAR_SIDES * SIDE + 1, WORDS), zeros_in_line(slots.size, levels, WORDS)


def add_shared(near: Any, far: Any, slots: Any, first_column: int, through: tuple[int, int], counts: Any) -> None:
    """As ``tiles.add_shared``: the rows that a row names are added up, all columns of a panel at once.

    A quarter of all bits are ones where noise is strong, so that adding rows costs less than comparing them.
    """
    for first in range(through[0], through[1], AT_ONCE):
        last = min(first + AT_ONCE, through[1])
        ends, listed, panels, slices = _lists(near[None], slots, first, last)
        _share(far, ends, listed, first_column, first, last, panels, slices, counts)


@intrinsic  # type: ignore[untyped-decorator]
def _less(typing: Any, counts: Any, row: Any, beyond: Any, found: Any) -> Any:
    """Put into ``found``, for each column of a panel, its count less its bit in a row of words and less ``beyond``."""
    many = ir.VectorType(ir.IntType(found.dtype.bitwidth), _COLUMNS)

    def write(builder: Any, counts: Any, row: Any, beyond: Any, found: Any) -> None:
        pieces = builder.bitcast(row, ir.IntType(_COLUMNS).as_pointer())
        with code.panel_columns(builder, _COLUMNS) as column:
            piece = builder.load(builder.gep(pieces, [builder.udiv(column, code.number(_COLUMNS))]))
            bits = builder.zext(builder.bitcast(piece, ir.VectorType(ir.IntType(1), _COLUMNS)), many)
            whole, apart = (builder.load(code.at(builder, each, column, many), align=2) for each in (counts, beyond))
            rest = builder.sub(builder.sub(whole, bits), apart)
            builder.store(rest, code.at(builder, found, column, many), align=2)

    return code.written(types.void(counts, row, beyond, found), write)


@intrinsic  # type: ignore[untyped-decorator]
def _take_away(typing: Any, found: Any, less: Any) -> Any:
    """Take the counts of a panel's columns from others of the same width."""
    many = ir.VectorType(ir.IntType(found.dtype.bitwidth), _COLUMNS)

    def write(builder: Any, found: Any, less: Any) -> None:
        with code.panel_columns(builder, _COLUMNS) as column:
            left, right = (code.at(builder, each, column, many) for each in (found, less))
            rest = builder.sub(builder.load(left, align=2), builder.load(right, align=2))
            builder.store(rest, left, align=2)

    return code.written(types.void(found, less), write)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _derive(
    degrees: Any, words: Any, derived: Any, others: Any, slots: Any, beyond: Any, total: Any, first: Any
) -> None:
    """Counts from the derived plane: a column's ones, but for the slot itself, less those from all other planes."""
    for i in range(slots.size):
        mine = total[derived, i, first : first + SIDE]
        _less(degrees, words[slots[i]], beyond[i], mine)
        for other in others:
            if other < total.shape[0]:
                _take_away(mine, total[other, i, first : first + SIDE])


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _share_among(
    planes: Any, degrees: Any, derived: Any, others: Any, near: Any, slots: Any, ends: Any, listed: Any,
    first_column: Any, panels: Any, slices: Any, beyond: Any, counts: Any,
) -> None:  # fmt: skip
    """All counts: column after column, each of which is cut out once for all near planes."""
    sides, levels = planes.shape[1], code.levels_of(planes.shape[1] * SIDE)
    for far in range(counts.shape[0]):
        for column in range(first_column, first_column + counts.shape[3] // SIDE):
            first = (column - first_column) * SIDE
            code.cut_strip(planes[far, column], 0, sides, panels)
            for a in range(near.size):
                code.add_panels(panels, ends[a], listed[a], slices, levels)
                for i in range(slots.size):
                    total = counts[near[a], far, i, first : first + SIDE] if near[a] < counts.shape[0] else beyond[i]
                    code.spread_columns(slices[i], levels, total)
            if derived >= 0:
                here = degrees[far, column * SIDE : (column + 1) * SIDE]
                _derive(here, planes[far, column], derived, others, slots, beyond, counts[:, far], first)


def shared_among(
    planes: Any, degrees: Any, derived: int, others: tuple[int, ...], slots: Any, first_column: int, counts: Any
) -> None:
    """As ``tiles.shared_among``: a panel is read once for all planes, and the densest plane is not counted."""
    wanted = {*range(len(counts)), *others} - {derived}
    near, beyond = np.array(sorted(wanted)), np.zeros((slots.size, SIDE), counts.dtype)
    ends, listed, panels, slices = _lists([planes[each] for each in near], slots, 0, planes.shape[1])
    _share_among(
        planes, degrees.astype(counts.dtype), derived, np.array(others, np.int64), near, slots, ends, listed,
        first_column, panels, slices, beyond, counts,
    )  # fmt: skip


@intrinsic  # type: ignore[untyped-decorator]
def _add_numbers(typing: Any, panel: Any, places: Any, begin: Any, end: Any, sums: Any, start: Any) -> Any:
    """Add the listed rows of ``panel``, of LANES numbers each, to the LANES sums that begin at ``start``."""

    def write(builder: Any, rows: Any, listed: Any, begin: Any, end: Any, sums: Any, start: Any) -> None:
        target = code.at(builder, sums, start, _NUMBERS)
        total = cgutils.alloca_once_value(builder, builder.load(target, align=4))
        with cgutils.for_range_slice(builder, begin, end, code.number(1), code.WORD) as (place, _):
            row = builder.mul(builder.zext(builder.load(builder.gep(listed, [place])), code.WORD), code.number(LANES))
            numbers = builder.load(code.at(builder, rows, row, _NUMBERS), align=4)
            builder.store(builder.fadd(builder.load(total), numbers), total)
        builder.store(builder.load(total), target, align=4)

    return code.written(types.void(panel, places, types.int64, types.int64, sums, types.int64), write)


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
    """As ``tiles.times``."""
    lanes = -(-numbers.shape[1] // LANES)
    panels = zeros_in_line(lanes, numbers.shape[0], LANES // 2).view(np.float32)
    for lane in range(lanes):
        part = numbers[:, lane * LANES : (lane + 1) * LANES]
        panels[lane, :, : part.shape[1]] = part
    sums = np.zeros((lanes, last - first, LANES), np.float32)
    _times(plane.view(np.uint8), _PLACES, ONES, panels.reshape(lanes, -1, SIDE, LANES), first, last, sums)
    return sums.transpose(1, 0, 2).reshape(last - first, lanes * LANES)[:, : numbers.shape[1]]
