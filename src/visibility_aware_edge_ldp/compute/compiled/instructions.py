"""Rows of bits added as bits, 512 columns at a time: what kernels are made of. Needs numba, the extra ``fast``.

A carry-save adder takes three rows of one weight to one row of the same and one of twice the weight (Warren, Hacker's
Delight, 2nd ed., section 5-1). So adding a row costs about one adder, however many counters of however many bits there
are: *slice* l holds bit l of all 512 counts. Written as vectors of eight words, which every processor's compiler
backend splits into the widest registers that it has.

Slices are transposed to numbers. Eight slices hold one octet of every count. Their octets are interleaved, so that a
word has the same eight columns of all eight slices, and each word is mirrored as a square of 8 × 8 bits (section 7-3).

Rows are listed by the ones of other rows, an octet at a time. A table has, for every octet, the places of its ones. All
eight entries are written at once, and the next octet's begin after those that were meant; so lists need room for eight
entries more than they have in the end.

Nothing here is compiled or kept by itself: ``@register_jitable`` makes it part of each kernel that calls it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic, register_jitable

PANEL, WORDS = 512, 8
# Rows added at a time where there are few and where there are many, and how many levels of adders that takes.
GROUP, LEVELS = 8, 3
BLOCK, BLOCK_LEVELS = 32, 5
# Levels that stay in registers while rows are added, and how many rows they can count.
OWN_LEVELS = 10
MANY = (1 << OWN_LEVELS) - BLOCK
# 2^24 rows can be added.
SLICES = 24
OCTET, SHORT, PLACE, WORD = (ir.IntType(bits) for bits in (8, 16, 32, 64))
ROW = ir.VectorType(WORD, WORDS)
ROOM = 8
# Sides of PANEL rows that are added at a time: a panel of them stays in the second cache.
NEAR_SIDES = 2
# Functions of three bits, by what they are for 000, 001, …: whether an odd number of them is one, and whether most are.
_ODD, _MOST = 0x96, 0xE8
ONES = np.bitwise_count(np.arange(256, dtype=np.uint8)).astype(np.int64)
_SIXTEEN, _COLUMNS = ir.VectorType(OCTET, 16), 32
_SQUARES = ir.VectorType(WORD, _COLUMNS // 8)
_SWAPS = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))


def written(signature: Any, write: Callable[..., Any]) -> Any:
    """What ``intrinsic`` wants. ``write`` gets a builder and the arguments, of an array its first number's address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = zip(signature.args, args, strict=True)
        found = write(builder, *(data_of(context, builder, kind, arg) for kind, arg in given))
        return context.get_dummy_value() if found is None else found

    return signature, generate


def data_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The address of an array's first number; of anything else the value itself."""
    return context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value


def number(value: int) -> Any:
    return ir.Constant(WORD, value)


def constant(kind: Any, value: Any) -> Any:
    """A vector of one number."""
    return ir.Constant(kind, [value] * kind.count)


def everywhere(builder: Any, scalar: Any, kind: Any) -> Any:
    """A vector of one number that is known when the code runs."""
    unknown = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(unknown, scalar, ir.Constant(PLACE, 0))
    return builder.shuffle_vector(first, unknown, places([0] * kind.count))


def at(builder: Any, array: Any, place: Any, kind: Any) -> Any:
    """The address of a vector that begins at a place of an array."""
    return builder.bitcast(builder.gep(array, [place]), kind.as_pointer())


def row_at(builder: Any, rows: Any, index: Any) -> Any:
    """The address of row ``index`` of rows that lie one after the other."""
    return builder.gep(builder.bitcast(rows, ROW.as_pointer()), [index])


@contextmanager
def panel_columns(builder: Any, step: int) -> Iterator[Any]:
    """A loop over the columns of a panel, so many at a time: the first of each."""
    with cgutils.for_range_slice(builder, number(0), number(PANEL), number(step), WORD) as (column, _):
        yield column


def places(chosen: Any) -> Any:
    """Which numbers of two vectors a shuffle takes."""
    return ir.Constant(ir.VectorType(PLACE, len(chosen)), list(chosen))


@intrinsic  # type: ignore[untyped-decorator]
def popcount(typing: Any, word: Any) -> Any:
    """The processor's own count of ones; Python has no operator for it."""
    return written(types.uint64(types.uint64), lambda builder, word: builder.ctpop(word))


@intrinsic  # type: ignore[untyped-decorator]
def lowest_one(typing: Any, word: Any) -> Any:
    """The place of the lowest one of a word that has one."""
    one = ir.Constant(ir.IntType(1), 1)
    return written(types.int64(types.uint64), lambda builder, word: builder.cttz(word, one))


def carry_of(builder: Any, sums: list[Any], row: Callable[[], Any]) -> Any:
    """Add 2^levels rows to ``sums``, of so many levels, and return what they carry to the level above."""
    return (_carry_by_threes if has_ternary() else _carry_by_pairs)(builder, sums, row, len(sums))


def has_ternary() -> bool:
    """Whether the processor that is compiled for has any function of three bits as one instruction on whole rows."""
    *_, features = cpu_target.target_context.codegen().magic_tuple()
    return "+avx512f" in features.split(",")


def _carry_by_threes(builder: Any, sums: list[Any], row: Callable[[], Any], level: int) -> Any:
    """The next row worth 2^level, by adders of two instructions: x ⊕ y ⊕ z, and what two of the three say."""
    if level == 0:
        return row()
    x, y = (_carry_by_threes(builder, sums, row, level - 1) for _ in range(2))
    three = (sums[level - 1], x, y)
    kind = ir.FunctionType(ROW, [ROW, ROW, ROW, PLACE])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.pternlog.q.512")
    sums[level - 1], carry = (builder.call(function, [*three, ir.Constant(PLACE, code)]) for code in (_ODD, _MOST))
    return carry


def _carry_by_pairs(builder: Any, sums: list[Any], row: Callable[[], Any], levels: int) -> Any:
    """The same without such instructions.

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

    first, both = pair(levels - 1)
    kept = sums[-1]
    sums[-1] = builder.xor(kept, both)
    return builder.xor(first, builder.and_(both, builder.xor(first, kept)))


def _two_of(builder: Any, x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    """The sum of three rows of one weight: a row of the same, and one of twice the weight."""
    both = builder.xor(x, y)
    return builder.xor(both, z), builder.xor(x, builder.and_(both, builder.xor(x, z)))


@intrinsic  # type: ignore[untyped-decorator]
def _add_listed(typing: Any, panel: Any, listed: Any, begin: Any, end: Any, slices: Any, levels: Any) -> Any:
    """Add to ``slices``, of so many levels, the rows of a panel that are listed from ``begin`` to ``end``.

    At most MANY rows, a multiple of GROUP. Their own count is kept in registers and added last.
    """

    def write(builder: Any, rows: Any, listed: Any, begin: Any, end: Any, held: Any, levels: Any) -> None:
        kept = [cgutils.alloca_once_value(builder, constant(ROW, 0)) for _ in range(OWN_LEVELS)]

        def add(first: Any, at_once: int) -> None:
            taken = iter(range(1 << at_once))

            def next_row() -> Any:
                row = builder.load(builder.gep(listed, [builder.add(first, number(next(taken)))]))
                return builder.load(row_at(builder, rows, builder.zext(row, WORD)), align=8)

            sums = [builder.load(place) for place in kept[:at_once]]
            rising = carry_of(builder, sums, next_row)
            for place, total in zip(kept[:at_once], sums, strict=True):
                builder.store(total, place)
            for place in kept[at_once:]:
                total = builder.load(place)
                builder.store(builder.xor(total, rising), place)
                rising = builder.and_(total, rising)

        rest = builder.and_(builder.sub(end, begin), number(BLOCK - 1))
        last = builder.sub(end, rest)
        with cgutils.for_range_slice(builder, begin, last, number(BLOCK), WORD) as (place, _):
            add(place, BLOCK_LEVELS)
        for at_once in range(BLOCK_LEVELS - 1, LEVELS - 1, -1):
            size = number(1 << at_once)
            with builder.if_then(builder.icmp_unsigned("!=", builder.and_(rest, size), number(0))):
                after = builder.and_(rest, number((BLOCK - 1) & ~((2 << at_once) - 1)))
                add(builder.add(last, after), at_once)
        carry = constant(ROW, 0)
        for level, place in enumerate(kept):
            target = row_at(builder, held, number(level))
            total, carry = _two_of(builder, builder.load(target, align=8), builder.load(place), carry)
            builder.store(total, target, align=8)
        rising = cgutils.alloca_once_value(builder, carry)
        with cgutils.for_range(builder, builder.sub(levels, number(OWN_LEVELS)), intp=WORD) as level:
            target = row_at(builder, held, builder.add(level.index, number(OWN_LEVELS)))
            total, more = builder.load(target, align=8), builder.load(rising)
            builder.store(builder.xor(total, more), target, align=8)
            builder.store(builder.and_(total, more), rising)

    return written(types.void(panel, listed, types.int64, types.int64, slices, types.int64), write)


def places_of_ones(unit: int = 1, dtype: Any = np.uint16) -> Any:
    """(256, 8): for each octet the places of its ones, in units, and then anything; its type is that of lists."""
    table = np.zeros((256, 8), dtype)
    for octet in range(256):
        table[octet, : ONES[octet]] = [bit * unit for bit in range(8) if octet >> bit & 1]
    return table


@intrinsic  # type: ignore[untyped-decorator]
def _put_octet(typing: Any, table: Any, octet: Any, base: Any, places: Any, end: Any) -> Any:
    """Write the eight entries that a table has for an octet, each plus ``base``, to the places from ``end`` on."""
    entry = ir.IntType(table.dtype.bitwidth)
    eight = ir.VectorType(entry, 8)

    def write(builder: Any, entries: Any, octet: Any, base: Any, places: Any, end: Any) -> None:
        found = builder.load(builder.gep(builder.bitcast(entries, eight.as_pointer()), [octet]), align=2)
        more = everywhere(builder, builder.trunc(base, entry), eight)
        builder.store(builder.add(found, more), at(builder, places, end, eight), align=2)

    return written(types.void(table, types.int64, types.int64, places, types.int64), write)


@register_jitable  # type: ignore[untyped-decorator]
def list_ones(octets: Any, table: Any, ones: Any, step: Any, base: Any, places: Any, end: Any) -> Any:
    """Append the places of the ones of a row of octets, ``step`` from octet to octet; returns where the list ends."""
    for i, octet in enumerate(octets):
        _put_octet(table, octet, base + i * step, places, end)
        end += ones[octet]
    return end


def _zipped(builder: Any, rows: list[Any]) -> list[Any]:
    """The octets of 1, 2, 4, … rows in turn; those at even places are zipped, those at odd ones, and then both."""
    if len(rows) == 1:
        return rows
    even, odd = _zipped(builder, rows[::2]), _zipped(builder, rows[1::2])
    halves = [places([side * 16 + i for i in range(first, first + 8) for side in (0, 1)]) for first in (0, 8)]
    return [builder.shuffle_vector(x, y, half) for x, y in zip(even, odd, strict=True) for half in halves]


def _octets_of_columns(builder: Any, slices: Any) -> list[Any]:
    """Of eight slices of 128 columns: the octet that they make for each column, 32 columns at a time."""
    rows, found = _zipped(builder, slices), []
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        squares = builder.bitcast(builder.shuffle_vector(first, second, places(range(_COLUMNS))), _SQUARES)
        for shift, mask in _SWAPS:
            far = constant(_SQUARES, shift)
            moved = builder.and_(builder.xor(squares, builder.lshr(squares, far)), constant(_SQUARES, mask))
            squares = builder.xor(builder.xor(squares, moved), builder.shl(moved, far))
        found.append(builder.bitcast(squares, ir.VectorType(OCTET, _COLUMNS)))
    return found


@intrinsic  # type: ignore[untyped-decorator]
def _spread_slices(typing: Any, slices: Any, levels: Any, counts: Any) -> Any:
    """The counts of a panel's columns from so many slices; those up to the next multiple of eight are zeros.

    The array of counts says how wide they are, 16 or 32 bits.
    """
    width = counts.dtype.bitwidth
    many = ir.VectorType(ir.IntType(width), _COLUMNS)

    def write(builder: Any, slices: Any, levels: Any, counts: Any) -> None:
        octets = builder.bitcast(slices, OCTET.as_pointer())

        def spread(groups: int) -> None:
            """From this many groups of eight slices."""
            with cgutils.for_range(builder, number(PANEL // 128), intp=WORD) as chunk:
                sums: list[Any] = [constant(many, 0)] * 4
                for group in range(groups):
                    first = builder.add(builder.mul(chunk.index, number(16)), number(8 * group * WORDS * 8))
                    starts = [builder.add(first, number(level * WORDS * 8)) for level in range(8)]
                    rows = [builder.load(at(builder, octets, start, _SIXTEEN), align=8) for start in starts]
                    for i, found in enumerate(_octets_of_columns(builder, rows)):
                        worth = builder.shl(builder.zext(found, many), constant(many, 8 * group))
                        sums[i] = builder.or_(sums[i], worth)
                for i, total in enumerate(sums):
                    column = builder.add(builder.mul(chunk.index, number(128)), number(_COLUMNS * i))
                    builder.store(total, at(builder, counts, column, many), align=2)

        def choose(groups: int) -> None:
            if groups * 8 >= width:
                spread(groups)
                return
            with builder.if_else(builder.icmp_signed("<=", levels, number(8 * groups))) as (few, more):
                with few:
                    spread(groups)
                with more:
                    choose(groups + 1)

        choose(1)

    return written(types.void(slices, types.int64, counts), write)


@intrinsic  # type: ignore[untyped-decorator]
def bits_of(typing: Any, words: Any, bits: Any) -> Any:
    """The bits of a panel's row, one number of 16 bits each."""
    many = ir.VectorType(SHORT, 16)

    def write(builder: Any, words: Any, bits: Any) -> None:
        each, pieces = ir.Constant(many, [1 << lane for lane in range(16)]), builder.bitcast(words, SHORT.as_pointer())
        with panel_columns(builder, 16) as column:
            held = everywhere(builder, builder.load(builder.gep(pieces, [builder.lshr(column, number(4))])), many)
            is_one = builder.zext(builder.icmp_signed("==", builder.and_(held, each), each), many)
            builder.store(is_one, at(builder, bits, column, many), align=2)

    return written(types.void(words, bits), write)


@register_jitable  # type: ignore[untyped-decorator]
def add_columns(panel: Any, listed: Any, begin: Any, end: Any, slices: Any, levels: Any) -> None:
    """Add to ``slices``, of so many levels, OWN_LEVELS at least, the rows listed from ``begin`` to ``end``."""
    for first in range(begin, end, MANY):
        _add_listed(panel, listed, first, min(first + MANY, end), slices, levels)


@register_jitable  # type: ignore[untyped-decorator]
def spread_columns(slices: Any, levels: Any, counts: Any) -> None:
    """The counts of a panel's columns from slices, which are zeros from level ``levels`` to the next multiple of 8."""
    _spread_slices(slices, levels, counts)


@register_jitable  # type: ignore[untyped-decorator]
def levels_of(rows: Any) -> Any:
    """How many levels the count of so many rows has; slices are kept of no fewer than OWN_LEVELS."""
    levels = OWN_LEVELS
    while rows >> levels:
        levels += 1
    return levels


@register_jitable  # type: ignore[untyped-decorator]
def count_columns(panel: Any, listed: Any, begin: Any, end: Any, slices: Any, counts: Any) -> None:
    """How many of the listed rows hold a one in each column of a panel.

    Rows are ``listed`` from ``begin`` to ``end``, a multiple of GROUP; ``slices`` are a workspace.
    """
    levels = levels_of(end - begin)
    slices[: (levels + 7) & ~7] = uint64(0)
    add_columns(panel, listed, begin, end, slices, levels)
    spread_columns(slices, levels, counts)


@register_jitable  # type: ignore[untyped-decorator]
def list_sides(octets: Any, slots: Any, first: Any, last: Any, table: Any, ones: Any, ends: Any, listed: Any) -> None:
    """For each NEAR_SIDES sides from ``first`` on and each slot, its places in these sides.

    They are filled up to whole groups with a row that is empty.
    """
    end, place = 0, 0
    for start in range(first, last, NEAR_SIDES):
        for slot in slots:
            ends[place] = end
            for side in range(start, min(start + NEAR_SIDES, last)):
                end = list_ones(octets[side, slot], table, ones, 8, (side - start) * PANEL, listed, end)
            while end & (GROUP - 1):
                listed[end] = NEAR_SIDES * PANEL
                end += 1
            place += 1
    ends[place] = end


@register_jitable  # type: ignore[untyped-decorator]
def cut_strip(strip: Any, first: Any, last: Any, panels: Any) -> None:
    """The rows of some sides of a strip, panel after panel."""
    for start in range(first, last, NEAR_SIDES):
        size = (min(start + NEAR_SIDES, last) - start) * PANEL
        panels[(start - first) // NEAR_SIDES, :size] = strip[start * PANEL : start * PANEL + size]


@register_jitable  # type: ignore[untyped-decorator]
def add_panels(panels: Any, ends: Any, listed: Any, slices: Any, levels: Any) -> None:
    """Add up the listed rows of all panels, for each slot: one panel after the other."""
    place = 0
    for p in range(panels.shape[0]):
        for i in range(slices.shape[0]):
            if p == 0:
                slices[i] = uint64(0)
            if ends[place] < ends[place + 1]:
                add_columns(panels[p], listed, ends[place], ends[place + 1], slices[i], levels)
            place += 1
