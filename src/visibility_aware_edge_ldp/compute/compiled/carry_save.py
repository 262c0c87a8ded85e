"""Rows of bits added as bits, 512 columns at a time: what the compiled kernels are made of. Need the extra ``fast``.

A carry-save adder takes three rows of one weight to one row of the same and one of twice the weight (Warren, Hacker's
Delight, 2nd ed., section 5-1). So adding a row costs about one adder, however many counters of however many bits there
are: *slice* l holds bit l of all 512 counts. Written as vectors of eight words, which every processor's compiler
backend splits into the widest registers that it has.

Rows are listed by the ones of other rows, an octet at a time. A table has, for every octet, the places of its ones. All
eight entries are written at once, and the next octet's begin after those that were meant; so lists need room for eight
entries more than they have in the end.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.jit_cache import njit

PANEL, WORDS = 512, 8
# Rows added at a time where there are few and where there are many, and how many levels of adders that takes.
GROUP, LEVELS = 8, 3
BLOCK, BLOCK_LEVELS = 32, 5
# 2^24 rows can be added.
SLICES = 24
WORD, ROW = ir.IntType(64), ir.VectorType(ir.IntType(64), WORDS)
ROOM = 8
ONES = np.bitwise_count(np.arange(256, dtype=np.uint8)).astype(np.int64)


def carry_of(builder: Any, sums: list[Any], row: Callable[[], Any]) -> Any:
    """Add 2^levels rows to ``sums``, of so many levels, and return what they carry to the level above.

    Two rows x and y of a level travel as x and x ⊕ y, so that adding two such pairs takes eight operations in place of
    ten (Demenkov, Kojevnikov, Kulikov and Yaroslavtsev, 2010).
    """

    def pair(level: int) -> tuple[Any, Any]:
        """The next two rows worth 2^level, as one of them and as both."""
        if level == 0:
            x, y = row(), row()
            return x, builder.xor(x, y)
        below = level - 1
        first, both = pair(below)
        total = builder.xor(sums[below], both)
        differs = builder.or_(both, builder.xor(first, sums[below]))  # total ⊕ the first carry
        second, others = pair(below)
        agrees = builder.and_(builder.not_(others), builder.xor(second, total))  # total ⊕ the second carry
        sums[below] = builder.xor(total, others)
        return builder.xor(agrees, total), builder.xor(differs, agrees)

    first, both = pair(len(sums) - 1)
    kept = sums[-1]
    sums[-1] = builder.xor(kept, both)
    return builder.xor(first, builder.and_(both, builder.xor(first, kept)))


def number(value: int) -> Any:
    return ir.Constant(WORD, value)


def array_data(context: Any, builder: Any, signature: Any, args: Any, index: int) -> Any:
    return context.make_array(signature.args[index])(context, builder, args[index]).data


def row_at(builder: Any, rows: Any, index: Any) -> Any:
    """Where row ``index`` of rows that lie one after the other begins."""
    first = builder.bitcast(rows, ROW.as_pointer())
    return builder.gep(first, [index])


def load_row(builder: Any, place: Any) -> Any:
    row = builder.load(place)
    row.align = 8
    return row


def store_row(builder: Any, row: Any, place: Any) -> None:
    builder.store(row, place).align = 8


def _adder(levels_at_once: int) -> Any:
    """Adds 2^levels rows at a time."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing: Any, panel: Any, listed: Any, place: Any, slices: Any, levels: Any) -> Any:
        """Add to ``slices``, of so many levels, the rows of a panel that are listed from ``place`` on."""
        signature = types.void(panel, listed, types.int64, slices, types.int64)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            rows, places, held = (array_data(context, builder, signature, args, i) for i in (0, 1, 3))
            taken = iter(range(1 << levels_at_once))

            def next_row() -> Any:
                row = builder.load(builder.gep(places, [builder.add(args[2], number(next(taken)))]))
                return load_row(builder, row_at(builder, rows, builder.zext(row, WORD)))

            there = [row_at(builder, held, number(level)) for level in range(levels_at_once)]
            sums = [load_row(builder, place) for place in there]
            carry = cgutils.alloca_once_value(builder, carry_of(builder, sums, next_row))
            for place, total in zip(there, sums, strict=True):
                store_row(builder, total, place)
            above = builder.sub(args[4], number(levels_at_once))
            with cgutils.for_range(builder, above, intp=WORD) as level:
                place = row_at(builder, held, builder.add(level.index, number(levels_at_once)))
                kept, rising = load_row(builder, place), builder.load(carry)
                store_row(builder, builder.xor(kept, rising), place)
                builder.store(builder.and_(kept, rising), carry)
            return context.get_dummy_value()

        return signature, generate

    return add


_add_group, _add_block = _adder(LEVELS), _adder(BLOCK_LEVELS)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def add_rows(panel: Any, listed: Any, begin: Any, end: Any, slices: Any, levels: Any) -> None:
    """Add to ``slices`` how many of the listed rows of a panel hold a one in each of its columns.

    The rows are ``listed`` from ``begin`` to ``end``, a multiple of GROUP; ``levels`` slices have room for all of them.
    """
    while end - begin >= BLOCK:
        _add_block(panel, listed, begin, slices, levels)
        begin += BLOCK
    while begin < end:
        _add_group(panel, listed, begin, slices, levels)
        begin += GROUP


@intrinsic  # type: ignore[untyped-decorator]
def lowest_one(typing: Any, word: Any) -> Any:
    """The place of the lowest one of a word that has one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def places_of_ones(unit: int = 1, dtype: Any = np.uint16) -> Any:
    """(256, 8): for each octet the places of its ones, in units; what follows them means nothing.

    Lists that are made with the table have entries of its type.
    """
    table = np.zeros((256, 8), dtype)
    for octet in range(256):
        table[octet, : ONES[octet]] = [bit * unit for bit in range(8) if octet >> bit & 1]
    return table


@intrinsic  # type: ignore[untyped-decorator]
def _put_octet(typing: Any, table: Any, octet: Any, base: Any, places: Any, end: Any) -> Any:
    """Write the eight entries that a table has for an octet, each plus ``base``, to the places from ``end`` on."""
    signature = types.void(table, types.int64, types.int64, places, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        entry, one = ir.IntType(table.dtype.bitwidth), ir.IntType(32)
        eight = ir.VectorType(entry, 8)
        entries, written = (array_data(context, builder, signature, args, i) for i in (0, 3))
        found = builder.load(builder.gep(builder.bitcast(entries, eight.as_pointer()), [args[1]]))
        found.align = 2
        unknown = ir.Constant(eight, ir.Undefined)
        filled = builder.insert_element(unknown, builder.trunc(args[2], entry), ir.Constant(one, 0))
        spread = builder.shuffle_vector(filled, unknown, ir.Constant(ir.VectorType(one, 8), [0] * 8))
        target = builder.bitcast(builder.gep(written, [args[4]]), eight.as_pointer())
        builder.store(builder.add(found, spread), target).align = 2
        return context.get_dummy_value()

    return signature, generate


@njit(inline="always")  # type: ignore[untyped-decorator]
def list_ones(octets: Any, table: Any, ones: Any, step: Any, base: Any, places: Any, end: Any) -> Any:
    """Append the places of the ones of a row of octets, ``step`` from octet to octet; returns where the list ends."""
    for i in range(octets.size):
        octet = octets[i]
        _put_octet(table, octet, base + i * step, places, end)
        end += ones[octet]
    return end
