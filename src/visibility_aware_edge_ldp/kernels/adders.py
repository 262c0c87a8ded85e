"""Rows of bits added as bits, 512 columns at a time: what the compiled kernels are made of. Need the extra ``fast``.

A carry-save adder takes three rows of one weight to one row of the same and one of twice the weight (Warren, Hacker's
Delight, 2nd ed., section 5-1). So adding a row costs about one adder, however many counters of however many bits there
are: *slice* l holds bit l of all 512 counts. Written as vectors of eight words, which every processor's compiler
backend splits into the widest registers that it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

PANEL, WORDS = 512, 8
# Rows added at a time, and how many levels of adders that takes; slices above hold their carries in memory.
GROUP, LEVELS = 8, 3
# 2^24 rows can be added.
SLICES = 24
WORD, ROW = ir.IntType(64), ir.VectorType(ir.IntType(64), WORDS)


def add_carrying(builder: Any, kept: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The carries and the sum of three rows of bits."""
    half = builder.xor(x, y)
    return builder.or_(builder.and_(x, y), builder.and_(half, kept)), builder.xor(half, kept)


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


@intrinsic  # type: ignore[untyped-decorator]
def add_rows(typing: Any, panel: Any, listed: Any, begin: Any, end: Any, slices: Any, waiting: Any) -> Any:
    """Write to ``slices`` how many of the listed rows of a panel hold a one in each of its columns.

    The rows are ``listed`` from ``begin`` to ``end``, a multiple of GROUP. ``slices`` begin as zeros; ``waiting`` has
    room for a row of each weight that waits for another.
    """
    signature = types.void(panel, listed, types.int64, types.int64, slices, waiting)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, listed, held, pending = (array_data(context, builder, signature, args, i) for i in (0, 1, 4, 5))
        begin, end = args[2], args[3]
        zeros = ir.Constant(ROW, [0] * WORDS)
        before = builder.block
        group, climb, meet, wait, done = (
            builder.append_basic_block(name) for name in ("group", "climb", "meet", "wait", "done")
        )
        builder.cbranch(builder.icmp_signed("<", begin, end), group, done)

        builder.position_at_end(group)
        place = builder.phi(WORD)
        place.add_incoming(begin, before)
        kept = [builder.phi(ROW) for _ in range(LEVELS)]
        for phi in kept:
            phi.add_incoming(zeros, before)
        sums, taken = list(kept), iter(range(GROUP))

        def next_row() -> Any:
            row = builder.load(builder.gep(listed, [builder.add(place, number(next(taken)))]))
            return load_row(builder, row_at(builder, rows, builder.zext(row, WORD)))

        carry = carry_of(builder, sums, next_row)
        groups = builder.lshr(builder.sub(place, begin), number(LEVELS))
        builder.branch(climb)

        # Every second row of a weight meets the one that waits, and their carry climbs on.
        builder.position_at_end(climb)
        level, rising, left = builder.phi(WORD), builder.phi(ROW), builder.phi(WORD)
        level.add_incoming(number(LEVELS), group)
        rising.add_incoming(carry, group)
        left.add_incoming(groups, group)
        odd = builder.trunc(left, ir.IntType(1))
        builder.cbranch(odd, meet, wait)

        builder.position_at_end(meet)
        there = row_at(builder, held, level)
        other = load_row(builder, row_at(builder, pending, level))
        higher, total = add_carrying(builder, load_row(builder, there), other, rising)
        store_row(builder, total, there)
        level.add_incoming(builder.add(level, number(1)), meet)
        rising.add_incoming(higher, meet)
        left.add_incoming(builder.lshr(left, number(1)), meet)
        builder.branch(climb)

        builder.position_at_end(wait)
        store_row(builder, rising, row_at(builder, pending, level))
        following = builder.add(place, number(GROUP))
        place.add_incoming(following, wait)
        for phi, total in zip(kept, sums, strict=True):
            phi.add_incoming(total, wait)
        builder.cbranch(builder.icmp_signed("<", following, end), group, done)

        builder.position_at_end(done)
        for index, total in enumerate(sums):
            phi = builder.phi(ROW)
            phi.add_incoming(zeros, before)
            phi.add_incoming(total, wait)
            sums[index] = phi
        for index, total in enumerate(sums):
            store_row(builder, total, row_at(builder, held, number(index)))
        return context.get_dummy_value()

    return signature, generate


@intrinsic  # type: ignore[untyped-decorator]
def settle(typing: Any, groups: Any, levels: Any, slices: Any, waiting: Any) -> Any:
    """Add to the slices the rows that still wait after so many groups."""
    signature = types.void(types.int64, types.int64, slices, waiting)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held, pending = (array_data(context, builder, signature, args, i) for i in (2, 3))
        groups, levels = args[0], args[1]
        zeros = ir.Constant(ROW, [0] * WORDS)
        before = builder.block
        loop, done = builder.append_basic_block("level"), builder.append_basic_block("settled")
        builder.cbranch(builder.icmp_signed("<", number(LEVELS), levels), loop, done)
        builder.position_at_end(loop)
        level, carry, left = builder.phi(WORD), builder.phi(ROW), builder.phi(WORD)
        level.add_incoming(number(LEVELS), before)
        carry.add_incoming(zeros, before)
        left.add_incoming(groups, before)
        there = row_at(builder, held, level)
        row = builder.select(
            builder.trunc(left, ir.IntType(1)), load_row(builder, row_at(builder, pending, level)), zeros
        )
        higher, total = add_carrying(builder, load_row(builder, there), row, carry)
        store_row(builder, total, there)
        following = builder.add(level, number(1))
        level.add_incoming(following, loop)
        carry.add_incoming(higher, loop)
        left.add_incoming(builder.lshr(left, number(1)), loop)
        builder.cbranch(builder.icmp_signed("<", following, levels), loop, done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


@intrinsic  # type: ignore[untyped-decorator]
def lowest_one(typing: Any, word: Any) -> Any:
    """The place of the lowest one of a word that has one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
