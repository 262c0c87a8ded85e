"""Rows of bits added as bits, 512 columns at a time: what the compiled kernels are made of. Need the extra ``fast``.

A carry-save adder takes three rows of one weight to one row of the same and one of twice the weight (Warren, Hacker's
Delight, 2nd ed., section 5-1). So adding a row costs about one adder, however many counters of however many bits there
are: *slice* l holds bit l of all 512 counts. Written as vectors of eight words, which every processor's compiler
backend splits into the widest registers that it has.
"""

from __future__ import annotations

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

        def carried(level: int) -> Any:
            """The next row of weight 2^level."""
            if level == 0:
                row = builder.load(builder.gep(listed, [builder.add(place, number(next(taken)))]))
                return load_row(builder, row_at(builder, rows, builder.zext(row, WORD)))
            x, y = carried(level - 1), carried(level - 1)
            carry, sums[level - 1] = add_carrying(builder, sums[level - 1], x, y)
            return carry

        carry = carried(LEVELS)
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
def spread_slices(typing: Any, slices: Any, levels: Any, counts: Any) -> Any:
    """The counts of a panel's columns from so many slices; their array says how wide they are, 16 or 32 bits."""
    signature = types.void(slices, types.int64, counts)
    lanes, width = 16, counts.dtype.bitwidth

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held, counted = (array_data(context, builder, signature, args, i) for i in (0, 2))
        short, long = ir.IntType(lanes), ir.IntType(width)
        many = ir.VectorType(long, lanes)
        zeros = ir.Constant(many, [0] * lanes)
        each = ir.Constant(many, [1 << lane for lane in range(lanes)])
        pieces = builder.bitcast(held, short.as_pointer())
        before = builder.block
        outer, inner, store, done = (builder.append_basic_block(name) for name in ("piece", "slice", "store", "spread"))
        builder.branch(outer)

        builder.position_at_end(outer)
        piece = builder.phi(WORD)
        piece.add_incoming(number(0), before)
        builder.branch(inner)

        builder.position_at_end(inner)
        level, total = builder.phi(WORD), builder.phi(many)
        level.add_incoming(args[1], outer)
        total.add_incoming(zeros, outer)
        here = builder.sub(level, number(1))
        index = builder.add(builder.mul(here, number(PANEL // lanes)), piece)
        bits = builder.load(builder.gep(pieces, [index]))
        bits = bits if width == lanes else builder.zext(bits, long)
        one = ir.IntType(32)
        filled = builder.insert_element(ir.Constant(many, ir.Undefined), bits, ir.Constant(one, 0))
        spread = builder.shuffle_vector(
            filled, ir.Constant(many, ir.Undefined), ir.Constant(ir.VectorType(one, lanes), [0] * lanes)
        )
        # The highest slice first: all that is counted doubles with every further slice.
        is_one = builder.sext(builder.icmp_signed("==", builder.and_(spread, each), each), many)
        more = builder.sub(builder.add(total, total), is_one)
        level.add_incoming(here, inner)
        total.add_incoming(more, inner)
        builder.cbranch(builder.icmp_signed(">", here, number(0)), inner, store)

        builder.position_at_end(store)
        target = builder.gep(counted, [builder.mul(piece, number(lanes))])
        builder.store(more, builder.bitcast(target, many.as_pointer())).align = 2
        following = builder.add(piece, number(1))
        piece.add_incoming(following, store)
        builder.cbranch(builder.icmp_signed("<", following, number(PANEL // lanes)), outer, done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


@intrinsic  # type: ignore[untyped-decorator]
def lowest_one(typing: Any, word: Any) -> Any:
    """The place of the lowest one of a word that has one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
