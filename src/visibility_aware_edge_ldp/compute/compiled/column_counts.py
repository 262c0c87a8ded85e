"""How many of some listed rows hold a one in each column: the part that several compiled kernels share.

Carry-save adders leave slices of bits, one for each binary digit, which are transposed to numbers, 512 columns at a
time. Eight slices hold one octet of every count. Their octets are interleaved, so that a word has the same eight
columns of all eight slices, and each word is mirrored as a square of 8 × 8 bits (Warren, Hacker's Delight, 2nd ed.,
section 7-3). Needs numba, the extra ``fast``.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled.carry_save import (
    GROUP,
    LEVELS,
    PANEL,
    SLICES,
    WORD,
    WORDS,
    add_rows,
    array_data,
    number,
)
from visibility_aware_edge_ldp.compute.jit_cache import njit

OCTET = ir.IntType(8)
_SIXTEEN, _COLUMNS = ir.VectorType(OCTET, 16), 32
_SQUARES = ir.VectorType(WORD, _COLUMNS // 8)
_SWAPS = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))


def _places(places: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))


def _interleaved(builder: Any, x: Any, y: Any) -> list[Any]:
    """The octets of two rows in turn."""
    return [
        builder.shuffle_vector(x, y, _places([side * 16 + i for i in range(first, first + 8) for side in (0, 1)]))
        for first in (0, 8)
    ]


def _zipped(builder: Any, rows: list[Any]) -> list[Any]:
    """The octets of 1, 2, 4, … rows in turn; those at even places are zipped, those at odd ones, and then both."""
    if len(rows) == 1:
        return rows
    even, odd = _zipped(builder, rows[::2]), _zipped(builder, rows[1::2])
    return [half for x, y in zip(even, odd, strict=True) for half in _interleaved(builder, x, y)]


def _mirrored(builder: Any, squares: Any) -> Any:
    for shift, mask in _SWAPS:
        far = ir.Constant(_SQUARES, [shift] * (_COLUMNS // 8))
        moved = builder.and_(
            builder.xor(squares, builder.lshr(squares, far)), ir.Constant(_SQUARES, [mask] * (_COLUMNS // 8))
        )
        squares = builder.xor(builder.xor(squares, moved), builder.shl(moved, far))
    return squares


def _octets_of_columns(builder: Any, slices: Any) -> list[Any]:
    """Of eight slices of 128 columns: the octet that they make for each column, 32 columns at a time."""
    rows, found = _zipped(builder, slices), []
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        squares = builder.bitcast(builder.shuffle_vector(first, second, _places(range(_COLUMNS))), _SQUARES)
        found.append(builder.bitcast(_mirrored(builder, squares), ir.VectorType(OCTET, _COLUMNS)))
    return found


@intrinsic  # type: ignore[untyped-decorator]
def spread_slices(typing: Any, slices: Any, levels: Any, counts: Any) -> Any:
    """The counts of a panel's columns from so many slices; those up to the next multiple of eight are zeros.

    The array of counts says how wide they are, 16 or 32 bits.
    """
    signature = types.void(slices, types.int64, counts)
    width = counts.dtype.bitwidth

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held, counted = (array_data(context, builder, signature, args, i) for i in (0, 2))
        many = ir.VectorType(ir.IntType(width), _COLUMNS)
        octets = builder.bitcast(held, OCTET.as_pointer())

        def spread(groups: int) -> None:
            """From this many groups of eight slices."""
            with cgutils.for_range(builder, number(PANEL // 128), intp=WORD) as chunk:
                first = builder.mul(chunk.index, number(128))
                sums: list[Any] = [ir.Constant(many, [0] * _COLUMNS)] * 4
                for group in range(groups):
                    rows = []
                    for level in range(8 * group, 8 * group + 8):
                        place = builder.add(builder.mul(chunk.index, number(16)), number(level * WORDS * 8))
                        row = builder.load(builder.bitcast(builder.gep(octets, [place]), _SIXTEEN.as_pointer()))
                        row.align = 8
                        rows.append(row)
                    worth = ir.Constant(many, [8 * group] * _COLUMNS)
                    for i, found in enumerate(_octets_of_columns(builder, rows)):
                        sums[i] = builder.or_(sums[i], builder.shl(builder.zext(found, many), worth))
                for i, total in enumerate(sums):
                    target = builder.gep(counted, [builder.add(first, number(_COLUMNS * i))])
                    builder.store(total, builder.bitcast(target, many.as_pointer())).align = 2

        def choose(groups: int) -> None:
            if groups * 8 >= width:
                spread(groups)
                return
            with builder.if_else(builder.icmp_signed("<=", args[1], number(8 * groups))) as (few, more):
                with few:
                    spread(groups)
                with more:
                    choose(groups + 1)

        choose(1)
        return context.get_dummy_value()

    return signature, generate


@intrinsic  # type: ignore[untyped-decorator]
def spread_bits(typing: Any, words: Any, bits: Any) -> Any:
    """The bits of a panel's row, one number of 16 bits each."""
    signature = types.void(words, bits)
    lanes = 16

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, spread = (array_data(context, builder, signature, args, i) for i in (0, 1))
        short = ir.IntType(lanes)
        many = ir.VectorType(short, lanes)
        each, pieces = ir.Constant(many, [1 << lane for lane in range(lanes)]), builder.bitcast(row, short.as_pointer())
        unknown = ir.Constant(many, ir.Undefined)
        with cgutils.for_range(builder, number(PANEL // lanes), intp=WORD) as piece:
            held = builder.load(builder.gep(pieces, [piece.index]))
            filled = builder.insert_element(unknown, held, ir.Constant(ir.IntType(32), 0))
            everywhere = builder.shuffle_vector(filled, unknown, _places([0] * lanes))
            is_one = builder.zext(builder.icmp_signed("==", builder.and_(everywhere, each), each), many)
            target = builder.gep(spread, [builder.mul(piece.index, number(lanes))])
            builder.store(is_one, builder.bitcast(target, many.as_pointer())).align = 2
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count_columns(panel: Any, listed: Any, begin: Any, end: Any, slices: Any, counts: Any) -> None:
    """How many of the listed rows hold a one in each column of a panel; ``slices`` are a workspace."""
    levels = LEVELS
    while (end - begin) >> levels:
        levels += 1
    slices[: (levels + 7) & ~7] = uint64(0)
    add_rows(panel, listed, begin, end, slices, levels)
    while levels > 8 and _is_empty(slices[levels - 1]):  # few columns hold as many ones as there are rows
        levels -= 1
    spread_slices(slices, levels, counts)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_empty(row: Any) -> Any:
    found = uint64(0)
    for word in row:
        found |= word
    return found == uint64(0)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def workspace() -> Any:
    return np.zeros((SLICES, WORDS), np.uint64)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def bits_of(row: Any, bits: Any) -> None:
    """The bits of a panel's row, one number each."""
    spread_bits(row, bits)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def whole_groups(offsets: Any, members: Any, empty: Any) -> Any:
    """The same lists, each filled up to whole groups with the empty row."""
    ends = np.empty(offsets.size, np.int64)
    listed = np.empty(members.size + offsets.size * GROUP, np.uint32)
    end = ends[0] = 0
    for i in range(offsets.size - 1):
        for member in members[offsets[i] : offsets[i + 1]]:
            listed[end] = member
            end += 1
        while end & (GROUP - 1):
            listed[end] = empty
            end += 1
        ends[i + 1] = end
    return ends, listed
