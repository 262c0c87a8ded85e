"""The compiled twins of ``shared``: rows are added up, column by column. Need numba, the extra ``fast``.

A row of a plane names other rows, by its ones. Added as bits they tell how many ones each column holds; added as
numbers they are a product of matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from visibility_aware_edge_ldp.kernels.adders import GROUP, WORD, WORDS
from visibility_aware_edge_ldp.kernels.adders import PANEL as SIDE
from visibility_aware_edge_ldp.kernels.bitset import zeros_in_line
from visibility_aware_edge_ldp.kernels.cached import njit
from visibility_aware_edge_ldp.kernels.column_counts import count_columns, workspace
from visibility_aware_edge_ldp.kernels.listing import ONES, ROOM, list_ones, places_of_ones

# A panel of so many sides stays in the second cache.
NEAR_SIDES = 8
# Numbers added at a time.
LANES = 64
_NUMBERS = ir.VectorType(ir.FloatType(), LANES)


_PLACES = places_of_ones()


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
        rows, listed, kept = (context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 1, 4))
        begin, end, at = args[2], args[3], args[5]
        pointer = _NUMBERS.as_pointer()
        target = builder.bitcast(builder.gep(kept, [at]), pointer)
        first = builder.load(target)
        first.align = 4
        before = builder.block
        loop, after = builder.append_basic_block("row"), builder.append_basic_block("added")
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
        builder.position_at_end(loop)
        place, total = builder.phi(WORD), builder.phi(_NUMBERS)
        place.add_incoming(begin, before)
        total.add_incoming(first, before)
        number_of_row = builder.zext(builder.load(builder.gep(listed, [place])), WORD)
        start = builder.mul(number_of_row, ir.Constant(WORD, LANES))
        row = builder.load(builder.bitcast(builder.gep(rows, [start]), pointer))
        row.align = 4
        following, more = builder.add(place, ir.Constant(WORD, 1)), builder.fadd(total, row)
        place.add_incoming(following, loop)
        total.add_incoming(more, loop)
        builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
        builder.position_at_end(after)
        result = builder.phi(_NUMBERS)
        result.add_incoming(first, before)
        result.add_incoming(more, loop)
        builder.store(result, target).align = 4
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _times(octets: Any, table: Any, ones: Any, panels: Any, first: Any, last: Any, sums: Any) -> None:
    """Add, for the slots from ``first`` to ``last``, the numbers of all slots that they have ones with."""
    places = np.empty(SIDE + ROOM, np.uint16)
    for side in range(octets.shape[0]):
        for slot in range(first, last):
            end = list_ones(octets[side, slot], table, ones, 8, 0, places, 0)
            for lanes in range(panels.shape[0]):
                start = (lanes * sums.shape[1] + slot - first) * LANES
                _add_numbers(panels[lanes, side], places, 0, end, sums, start)


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
