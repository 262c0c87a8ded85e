"""The compiled twin of ``rows.earlier_sums``: whole numbers, 512 columns at a time. Needs numba, the extra ``fast``."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.kernels.adders import GROUP, PANEL, WORD, array_data, number
from visibility_aware_edge_ldp.kernels.cached import njit
from visibility_aware_edge_ldp.kernels.column_counts import bits_of, count_columns, whole_groups, workspace
from visibility_aware_edge_ldp.kernels.listing import ONES, ROOM, list_ones, places_of_ones

_PLACES = places_of_ones(dtype=np.uint32)


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


def _adder(wide: bool) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def add_products(typing: Any, shared: Any, early: Any, bits: Any, sums: Any) -> Any:
        """Add to ``sums`` those of N, t, N², Nt and t² over a panel's columns, and over those with a one.

        Products of two columns are added up in 32 bits, 32 times: enough where N and t are below 2^13. Wide ones, below
        2^15, are added up as halves of 16 bits.
        """
        signature = types.void(shared, early, bits, sums)
        lanes = 16

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [array_data(context, builder, signature, args, i) for i in range(4)]
            half, whole = ir.IntType(16), ir.IntType(32)
            shorts, longs, words = (
                ir.VectorType(*each) for each in ((half, lanes), (whole, lanes), (whole, lanes // 2))
            )
            before = builder.block
            loop, done = builder.append_basic_block("columns"), builder.append_basic_block("added")

            def every_second(row: Any, first: int) -> Any:
                places = ir.Constant(ir.VectorType(whole, lanes // 2), list(range(first, lanes, 2)))
                return builder.shuffle_vector(row, ir.Constant(longs, ir.Undefined), places)

            def paired(x: Any, y: Any) -> Any:
                """x · y, added up two by two."""
                products = builder.mul(builder.sext(x, longs), builder.sext(y, longs))
                return builder.add(every_second(products, 0), every_second(products, 1))

            builder.branch(loop)
            builder.position_at_end(loop)
            place = builder.phi(WORD)
            place.add_incoming(number(0), before)
            kept = [builder.phi(words) for _ in range(16 if wide else 10)]
            rows = []
            for array in arrays[:3]:
                row = builder.load(builder.bitcast(builder.gep(array, [place]), shorts.as_pointer()))
                row.align = 2
                rows.append(row)
            x, y, bit = rows
            ones, mask = ir.Constant(shorts, [1] * lanes), builder.neg(bit)
            held, tied = builder.and_(x, mask), builder.and_(y, mask)
            single = [paired(x, ones), paired(y, ones), paired(x, bit), paired(y, bit)]
            double = [paired(*each) for each in ((x, x), (x, y), (y, y), (x, held), (x, tied), (y, tied))]
            low, high = (ir.Constant(words, [value] * (lanes // 2)) for value in (0xFFFF, 16))
            if wide:
                double = [part for row in double for part in (builder.and_(row, low), builder.lshr(row, high))]
            found = [builder.add(phi, row) for phi, row in zip(kept, single + double, strict=True)]
            for phi, row in zip(kept, found, strict=True):
                phi.add_incoming(ir.Constant(words, [0] * (lanes // 2)), before)
                phi.add_incoming(row, loop)
            following = builder.add(place, number(lanes))
            place.add_incoming(following, loop)
            builder.cbranch(builder.icmp_signed("<", following, number(PANEL)), loop, done)

            builder.position_at_end(done)

            long = ir.VectorType(WORD, lanes // 2)
            add_up = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(WORD, [long]), f"llvm.vector.reduce.add.v{lanes // 2}i64"
            )

            def total(row: Any) -> Any:
                return builder.call(add_up, [builder.zext(row, long)])

            totals = [total(row) for row in found]
            if wide:
                halves = totals[4:]
                totals[4:] = [
                    builder.add(one, builder.shl(more, number(16)))
                    for one, more in zip(halves[::2], halves[1::2], strict=True)
                ]
            for index, more in zip((0, 1, 5, 6, 2, 3, 4, 7, 8, 9), totals, strict=True):
                target = builder.gep(arrays[3], [number(index)])
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
    sizes, ends, listed = _before(panels.view(np.uint8), wanted, start, stop, _PLACES, ONES)
    counts, before = np.empty((2, PANEL), np.uint16 if stop < 1 << 16 else np.uint32)
    bits = np.empty(PANEL, np.uint16)
    return _earlier_sums(panels, wanted, start, stop, ends, listed, counts, before, bits), sizes
