"""The compiled twins of ``symbols``. Need numba, the extra ``fast``."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled import instructions as code
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.plain.bitset import zeros_in_line

# Numbers added at a time; an octet of a plane is of so many pairs of columns; and rows that are named at a time.
LANES, PAIRS, BAND = 16, 4, 256
_NUMBERS = ir.VectorType(ir.FloatType(), LANES)
_BITS, _OCTETS, _TWOS = (
    ir.VectorType(kind, size) for kind, size in ((ir.IntType(1), 64), (code.OCTET, 64), (code.SHORT, 32))
)


@intrinsic  # type: ignore[untyped-decorator]
def _name_pairs(
    typing: Any, words: Any, apart: Any, steps: Any, planes: Any, values: Any, named: Any, row: Any, rows: Any
) -> Any:
    """Write the pairs of symbols of 64 columns: from a word of each plane, ``apart`` words from plane to plane.

    PAIRS of them belong together; the next so many come ``rows`` places later.
    """

    def write(
        builder: Any, words: Any, apart: Any, steps: Any, planes: Any, values: Any, named: Any, row: Any, rows: Any
    ) -> None:
        total = cgutils.alloca_once_value(builder, code.constant(_OCTETS, 0))
        with cgutils.for_range(builder, planes, intp=code.WORD) as plane:
            word = builder.load(builder.gep(words, [builder.mul(plane.index, apart)]))
            step = code.everywhere(builder, builder.load(builder.gep(steps, [plane.index])), _OCTETS)
            held = builder.select(builder.bitcast(word, _BITS), step, code.constant(_OCTETS, 0))
            builder.store(builder.add(builder.load(total), held), total)
        twos = builder.bitcast(builder.load(total), _TWOS)
        first, second = builder.and_(twos, code.constant(_TWOS, 255)), builder.lshr(twos, code.constant(_TWOS, 8))
        many = code.everywhere(builder, builder.trunc(values, code.SHORT), _TWOS)
        pairs = builder.trunc(builder.add(builder.mul(first, many), second), ir.VectorType(code.OCTET, 32))
        fours = builder.bitcast(pairs, ir.VectorType(code.PLACE, 8))
        for octet in range(8):
            place = builder.add(row, builder.mul(rows, code.number(octet)))
            four = builder.extract_element(fours, ir.Constant(code.PLACE, octet))
            builder.store(four, builder.gep(named, [place]))

    return code.written(
        types.void(words, types.int64, steps, types.int64, types.int64, named, types.int64, types.int64), write
    )


@intrinsic  # type: ignore[untyped-decorator]
def _make_table(typing: Any, values: Any, size: Any, numbers: Any, row: Any, tables: Any, pair: Any) -> Any:
    """The sum of the products of two rows of numbers, for every pair of values."""

    def write(builder: Any, values: Any, size: Any, numbers: Any, row: Any, tables: Any, pair: Any) -> None:
        one, two = (
            builder.load(code.at(builder, numbers, builder.mul(each, code.number(LANES)), _NUMBERS), align=4)
            for each in (row, builder.add(row, code.number(1)))
        )
        begin = builder.mul(pair, builder.mul(size, size))

        def times(numbers: Any, which: Any) -> Any:
            value = builder.load(builder.gep(values, [which]))
            return builder.fmul(code.everywhere(builder, value, _NUMBERS), numbers)

        with cgutils.for_range(builder, size, intp=code.WORD) as second:
            product, place = times(two, second.index), builder.add(begin, second.index)
            with cgutils.for_range(builder, size, intp=code.WORD) as first:
                entry = builder.add(place, builder.mul(first.index, size))
                target = code.at(builder, tables, builder.mul(entry, code.number(LANES)), _NUMBERS)
                builder.store(builder.fadd(times(one, first.index), product), target, align=4)

    return code.written(types.void(values, types.int64, numbers, types.int64, tables, types.int64), write)


@intrinsic  # type: ignore[untyped-decorator]
def _add_named(typing: Any, sums: Any, tables: Any, size: Any, named: Any, row: Any) -> Any:
    """Add to the sums of a row what each of PAIRS tables of that size has for the pair that is named there."""

    def write(builder: Any, sums: Any, tables: Any, size: Any, named: Any, row: Any) -> None:
        target = code.at(builder, sums, builder.mul(row, code.number(LANES)), _NUMBERS)
        total, names = builder.load(target, align=4), builder.load(builder.gep(named, [row]))
        for pair in range(PAIRS):
            name = builder.and_(builder.lshr(names, ir.Constant(code.PLACE, 8 * pair)), ir.Constant(code.PLACE, 255))
            entry = builder.add(builder.zext(name, code.WORD), builder.mul(size, code.number(pair)))
            found = code.at(builder, tables, builder.mul(entry, code.number(LANES)), _NUMBERS)
            total = builder.fadd(total, builder.load(found, align=4))
        builder.store(total, target, align=4)

    return code.written(types.void(sums, tables, types.int64, named, types.int64), write)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _name_band(planes: Any, steps: Any, values: Any, first: Any, last: Any, named: Any) -> None:
    """The pairs of all columns of some rows, PAIRS of them in a number of 32 bits; the same of all rows together."""
    apart = planes.shape[1] * planes.shape[2]
    for row in range(first, last):
        for w in range(planes.shape[2]):
            target = named[8 * w :]
            _name_pairs(planes[0, row, w:], apart, steps, planes.shape[0], values, target, row - first, named.shape[1])


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _times(planes: Any, steps: Any, values: Any, panels: Any, first: Any, last: Any, tables: Any, sums: Any) -> None:
    """Add up all columns' products for the rows from ``first`` to ``last``, LANES numbers at a time."""
    named = np.empty((planes.shape[2] * 8, min(BAND, last - first)), np.uint32)
    for start in range(first, last, BAND):
        stop = min(start + BAND, last)
        _name_band(planes, steps, values.size, start, stop, named)
        for chunk in range(panels.shape[0]):
            total = sums[chunk, start - first : stop - first]
            for octet in range(named.shape[0]):
                for pair in range(PAIRS):
                    _make_table(values, values.size, panels[chunk], 2 * (PAIRS * octet + pair), tables, pair)
                for row in range(stop - start):
                    _add_named(total, tables, tables.shape[1], named[octet], row)


def times(planes: Any, steps: Any, values: Any, numbers: Any, first: int, last: int) -> Any:
    """As ``symbols.times``."""
    chunks, size = -(-numbers.shape[1] // LANES), values.size**2
    panels = np.zeros((chunks, len(numbers), LANES), np.float32)
    for chunk in range(chunks):
        part = numbers[:, chunk * LANES : (chunk + 1) * LANES]
        panels[chunk, :, : part.shape[1]] = part
    sums = np.zeros((chunks, last - first, LANES), np.float32)
    tables = zeros_in_line(PAIRS, size, LANES // 2).view(np.float32)
    _times(planes, steps, values, panels, first, last, tables, sums)
    return sums.transpose(1, 0, 2).reshape(last - first, chunks * LANES)[:, : numbers.shape[1]]
