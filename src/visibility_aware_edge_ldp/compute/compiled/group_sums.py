"""The compiled twins of ``group_sums``. Need numba, the extra ``fast``.

The formulas are not written twice: those of the plain kernel are applied to ``_Vector``, whose operators write
instructions on eight columns at a time, in place of calculating. Each instruction rounds by itself, on every processor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled import instructions as code
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.compiled.instructions import (
    GROUP,
    NEAR_SIDES,
    ONES,
    ROOM,
    WORDS,
    number,
    popcount,
)
from visibility_aware_edge_ldp.compute.compiled.instructions import PANEL as SIDE
from visibility_aware_edge_ldp.compute.plain.bitset import zeros_in_line
from visibility_aware_edge_ldp.compute.plain.pair_sums import CHUNK, LANES, cycle_terms, triangle_terms

# Ten sums of products, and the sum of squares.
SUMS = 11
_PLACES = code.places_of_ones()
_TRIANGLES, _CYCLES = (0, 1, 2), (0, 1, 2, 3, 4, 8)
_WORD, _DOUBLE = code.WORD, ir.DoubleType()
_ZERO, _NOTHING = ir.Constant(_DOUBLE, 0.0), ir.Constant(_DOUBLE, -0.0)


class _Vector:
    """A few doubles in the code that is being written; operators write instructions."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: _Vector) -> _Vector:
        return _Vector(self.builder, self.builder.fadd(self.value, other.value))

    def __sub__(self, other: _Vector) -> _Vector:
        return _Vector(self.builder, self.builder.fsub(self.value, other.value))

    def __mul__(self, other: _Vector) -> _Vector:
        return _Vector(self.builder, self.builder.fmul(self.value, other.value))

    def __rmul__(self, number: float) -> _Vector:
        kind = self.value.type
        return _Vector(self.builder, self.builder.fmul(ir.Constant(kind, [float(number)] * kind.count), self.value))


class _Writer:
    """Writes instructions that read and write ``width`` columns at a time."""

    def __init__(self, builder: Any, width: int) -> None:
        self.builder, self.width, self.type = builder, width, ir.VectorType(_DOUBLE, width)

    def load(self, array: Any, place: Any) -> _Vector:
        """The doubles of an array from a place on."""
        return _Vector(self.builder, self.builder.load(code.at(self.builder, array, place, self.type), align=8))

    def store(self, vector: _Vector, array: Any, place: Any) -> None:
        """Put a vector into an array, from a place on."""
        self.builder.store(vector.value, code.at(self.builder, array, place, self.type), align=8)

    def number(self, array: Any, place: Any) -> _Vector:
        """One number of an array, for every column."""
        return self.every(self.builder.load(self.builder.gep(array, [place])))

    def every(self, scalar: Any) -> _Vector:
        """The same number for every column."""
        return _Vector(self.builder, code.everywhere(self.builder, scalar, self.type))

    def integers(self, address: Any) -> _Vector:
        """Integers of 32 bits at an address, as doubles."""
        kind = ir.VectorType(code.PLACE, self.width)
        return self.doubles(self.builder.load(self.builder.inttoptr(address, kind.as_pointer()), align=4))

    def doubles(self, integers: Any) -> _Vector:
        """Integers with a sign as doubles."""
        return _Vector(self.builder, self.builder.sitofp(integers, self.type))

    def bits(self, octets: Any, place: Any) -> Any:
        """The bits from a place on, all of one octet."""
        builder, kind = self.builder, ir.VectorType(ir.IntType(1), self.width)
        octet = builder.load(builder.gep(octets, [builder.lshr(place, number(3))]))
        found = builder.lshr(octet, builder.trunc(builder.and_(place, number(7)), code.OCTET))
        chosen = found if self.width == 8 else builder.trunc(found, ir.IntType(self.width))
        return builder.bitcast(chosen, kind)

    def chosen(self, bits: Any, one: Any, none: Any) -> _Vector:
        """One of two numbers for each column."""
        return _Vector(self.builder, self.builder.select(bits, self.every(one).value, self.every(none).value))

    def kept(self, vector: _Vector) -> Any:
        """A vector that changes in a loop: the compiler keeps it in a register."""
        return cgutils.alloca_once_value(self.builder, vector.value)

    def add_to(self, kept: Any, vector: _Vector) -> None:
        """Add a vector to one that is kept."""
        self.builder.store((_Vector(self.builder, self.builder.load(kept)) + vector).value, kept)


class _Row(NamedTuple):
    """What the instructions for one row read: where its numbers and those of the columns lie."""

    counts: Any  # of the row's first column; of the next group so many octets later
    by_group: Any
    groups: Any
    octets: Any
    row: Any
    end: Any
    columns: Any
    size: Any
    bit: Any
    shared: Any
    own: Any
    ends: Any
    squares: Any
    lanes: Any


def _forms(write: _Writer, at: _Row, used: tuple[int, ...], bits: Any, column: Any) -> list[_Vector]:
    """The forms of the row and the columns from ``column`` on."""
    builder, forms = write.builder, {}
    for q in used:
        across = write.load(at.columns, builder.add(builder.mul(number(q), at.size), column))
        # What −0 is added to stays as it is, so that processors with masks need not choose.
        by_bit = write.chosen(bits, builder.load(builder.gep(at.bit, [number(q)])), _NOTHING)
        forms[q] = write.kept(write.number(at.row, number(q)) + across + by_bit)
    with cgutils.for_range(builder, at.groups, intp=_WORD) as loop:
        row = builder.add(builder.ptrtoint(at.counts, _WORD), builder.mul(loop.index, at.by_group))
        count = write.integers(builder.add(row, builder.mul(column, number(4))))
        for q in used:
            weight = write.number(at.shared, builder.add(builder.mul(number(q), at.groups), loop.index))
            write.add_to(forms[q], weight * count)
    return [_Vector(builder, builder.load(form)) for form in forms.values()]


def _own(write: _Writer, at: _Row) -> list[tuple[Any, Any]]:
    """The score and the spread where a bit is one, and where it is not."""
    start, more, least, rest = (write.builder.load(write.builder.gep(at.own, [number(q)])) for q in range(4))
    return [(write.builder.fadd(none, slope), none) for none, slope in ((start, more), (least, rest))]


def _terms(write: _Writer, at: _Row, used: tuple[int, ...], own: list[tuple[Any, Any]], column: Any) -> list[_Vector]:
    """What is added to the sums for the columns from ``column`` on; squares are added to their places at once."""
    bits = write.bits(at.octets, column)
    here, noise = (write.chosen(bits, one, none) for one, none in own)
    forms = _forms(write, at, used, bits, column)
    terms = list(triangle_terms(forms[:3], here, noise, write.every(at.end) + write.load(at.ends, column)))
    if used == _CYCLES:
        square = forms[0] * forms[0]
        write.store(write.load(at.squares, column) + square, at.squares, column)
        terms += [*cycle_terms(forms[:5], forms[5]), square]
    return terms


def _adder(width: int, used: tuple[int, ...]) -> Any:
    """Adds the terms of ``group_sums`` that these forms make, ``width`` columns at a time."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing: Any, row: Any, across: Any, first: Any, last: Any) -> Any:
        """For the parts of a ``_Row``, its own and those of all columns, and the columns from ``first`` to ``last``."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = (kind for parts in signature.args[:2] for kind in parts.types)
            values = (value for parts in args[:2] for value in cgutils.unpack_tuple(builder, parts))
            at = _Row(*(code.data_of(context, builder, *each) for each in zip(kinds, values, strict=True)))
            write, lane = _Writer(builder, width), builder.and_(args[2], number(LANES - 1))
            places = [builder.add(lane, number(LANES * n)) for n in range(SUMS)]
            sums, own = [write.kept(write.load(at.lanes, place)) for place in places], _own(write, at)
            with cgutils.for_range_slice(builder, args[2], args[3], number(width), _WORD) as (column, _):
                for total, term in zip(sums, _terms(write, at, used, own, column), strict=False):
                    write.add_to(total, term)
            for total, place in zip(sums, places, strict=True):
                write.store(_Vector(builder, builder.load(total)), at.lanes, place)
            return context.get_dummy_value()

        return types.void(row, across, types.int64, types.int64), generate

    return add


_add_triangles, _add_triangle = _adder(LANES, _TRIANGLES), _adder(1, _TRIANGLES)
_add_cycles, _add_cycle = _adder(LANES, _CYCLES), _adder(1, _CYCLES)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_columns(row: Any, across: Any, nine: Any, first: Any, last: Any) -> None:
    """All columns from ``first`` to ``last``: one by one up to whole lanes and after them."""
    j = first
    while j < last:  # in the order of columns, which is that of every lane
        if j % LANES == 0 and last - j >= LANES:
            stop = last // LANES * LANES
            if nine:
                _add_cycles(row, across, j, stop)
            else:
                _add_triangles(row, across, j, stop)
            j = stop
        else:
            if nine:
                _add_cycle(row, across, j, j + 1)
            else:
                _add_triangle(row, across, j, j + 1)
            j += 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _halved(lanes: Any) -> Any:
    """The sum of all lanes: of halves, again and again."""
    width = lanes.size // 2
    while width:
        for j in range(width):
            lanes[j] += lanes[width + j]
        width //= 2
    return lanes[0]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ones_between(words: Any, first: Any, last: Any) -> Any:
    """How many ones a panel's row has from one column to another."""
    found = uint64(0)
    for w in range(first // 64, (last + 63) // 64):
        word = words[w]
        if first > w * 64:
            word = word >> uint64(first - w * 64) << uint64(first - w * 64)
        if last < w * 64 + 64:
            word &= (uint64(1) << uint64(last - w * 64)) - uint64(1)
        found += popcount(word)
    return np.int64(found)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _with_alone(sums: Any, known: Any, itself: Any, begins: Any, rows: Any, columns: Any, bit: Any, shared: Any) -> Any:
    """As ``pair_sums.with_alone``, row by row."""
    size, alone, upto = columns.shape[1], np.empty(3), np.zeros((3, columns.shape[1] + 1))
    for q in range(3):
        for j in range(size):
            upto[q, j + 1] = upto[q, j] + columns[5 + q, j]
    for i in range(itself.size):
        begin = min(begins[i], size)
        met = begins[i] <= itself[i] < size
        for q in range(3):
            total = rows[i, 5 + q] * (size - begin - met) + (upto[q, size] - upto[q, begin])
            total -= columns[5 + q, itself[i]] if met else 0.0
            for group in range(shared.shape[1]):
                total += shared[5 + q, group] * known[i, group]
            alone[q] = total + bit[5 + q] * known[i, shared.shape[1]]
        sums[i, 6] += alone[0]
        sums[i, 7] -= alone[0]
        sums[i, 8] = 2 * (sums[i, 8] - alone[1])
        sums[i, 9] -= alone[2]
    return sums


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_sides(octets: Any, slots: Any, first: Any, last: Any, ends: Any, listed: Any) -> None:
    code.list_sides(octets, slots, first, last, _PLACES, ONES, ends, listed)


def _lists(plane: Any, slots: Any, groups: Any) -> Any:
    """For each range of sides the lists of all slots; and room for panels, and for the slices of each slot."""
    number = -(-int(np.diff(groups).max()) // NEAR_SIDES)
    ends = np.empty((len(groups), slots.size * number + 1), np.int64)
    listed = np.empty((len(groups), slots.size * number * (NEAR_SIDES * SIDE + GROUP) + ROOM), np.uint16)
    for (first, last), *found in zip(groups.tolist(), ends, listed, strict=True):
        _list_sides(plane.view(np.uint8), slots, first, last, *found)
    levels = (code.levels_of(SIDE * number * NEAR_SIDES) + 7) // 8 * 8
    slices = zeros_in_line(len(groups), slots.size, levels, WORDS)
    return ends, listed, zeros_in_line(number, NEAR_SIDES * SIDE + 1, WORDS), slices


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _panel_sums(
    plane: Any, slots: Any, at: Any, place: Any, levels: Any, slices: Any, counts: Any, rows: Any, columns: Any,
    stride: Any, bit: Any, shared: Any, own: Any, ends: Any, other_ends: Any, begins: Any, squares: Any, lanes: Any,
    known: Any,
) -> None:  # fmt: skip
    """The sums of products of one panel, whose slots begin at ``at``, and its columns at ``place`` of all columns."""
    groups, nine, size = counts.shape[0], shared.shape[0] == 9, min(SIDE, other_ends.size - place)
    across, near, total = columns[:, place:], other_ends[place:], squares[place:]
    for i in range(slots.size):
        first, itself = max(begins[i] - place, 0), slots[i] - at
        if first >= size:
            continue
        for group in range(groups):
            code.spread_columns(slices[group, i], levels[group], counts[group])
        mine = counts, counts.strides[0], groups, plane[slots[i]].view(np.uint8), rows[i], ends[i]
        parts = across, stride, bit, shared, own, near, total, lanes[i]
        for group in range(groups if nine else 0):
            known[i, group] += counts[group, first:size].sum()
            if first <= itself < size:
                known[i, group] -= counts[group, itself]
        known[i, groups] += _ones_between(plane[slots[i]], first, size) if nine else 0
        if first <= itself < size:  # a node is not paired with itself
            _add_columns(mine, parts, nine, first, itself)
            first = itself + 1
        _add_columns(mine, parts, nine, first, size)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _part_sums(
    plane: Any, slots: Any, groups: Any, lists: Any, first_slot: Any, rows: Any, columns: Any, bit: Any, shared: Any,
    own: Any, ends: Any, other_ends: Any, begins: Any, squares: Any,
) -> Any:  # fmt: skip
    """The sums of one part for each row."""
    (ends_of, listed, panels, slices), number = lists, len(groups)
    sums, known = np.zeros((slots.size, SUMS)), np.zeros((slots.size, number + 1))
    lanes, counts = np.zeros((slots.size, SUMS, LANES)), np.empty((number, SIDE), np.int32)
    levels, stride = np.empty(number, np.int64), columns.strides[0] // 8
    for place in range(0, other_ends.size, SIDE):
        side = (first_slot + place) // SIDE
        for group in range(number):
            first, last = groups[group]
            used, levels[group] = (last - first + NEAR_SIDES - 1) // NEAR_SIDES, code.levels_of((last - first) * SIDE)
            code.cut_strip(plane[side], first, last, panels)
            code.add_panels(panels[:used], ends_of[group], listed[group], slices[group], levels[group])
        _panel_sums(
            plane[side], slots, side * SIDE, place, levels, slices, counts, rows, columns, stride, bit, shared, own,
            ends, other_ends, begins, squares, lanes, known,
        )  # fmt: skip
    for i in range(slots.size):
        for q in range(SUMS):
            sums[i, q] = _halved(lanes[i, q])
    return (
        sums
        if shared.shape[0] < 9
        else _with_alone(sums, known, slots - first_slot, begins, rows, columns, bit, shared)
    )


def block_sums(plane: Any, slots: Any, groups: Any, parts: Any) -> Any:
    """As ``group_sums.block_sums``: a panel of columns after the other, so that its counts stay in the first cache."""
    lists, found = _lists(plane, slots, groups), []
    for first_slot, rows, columns, bit, shared, own, ends, other_ends, begins, squares in parts:
        by_row = np.ascontiguousarray(rows.T)
        sums = _part_sums(
            plane,
            slots,
            groups,
            lists,
            first_slot,
            by_row,
            columns,
            bit,
            shared,
            own,
            ends,
            other_ends,
            begins,
            squares,
        )
        found.append(sums)
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def later_sums(plane: Any, rows: Any, sides: Any, vector: Any) -> Any:
    """As ``group_sums.later_sums``: the sum of every choice of eight numbers is looked up by the octet that chooses."""
    table, found = np.empty((64, 256)), np.zeros(rows[1] - rows[0])
    for side in range(sides[0], sides[1]):
        for octet in range(64):
            table[octet, 0] = 0.0
            for bit in range(8):
                for lower in range(1 << bit):
                    table[octet, lower + (1 << bit)] = table[octet, lower] + vector[side * 512 + octet * 8 + bit]
        for u in range(rows[0], min(rows[1], side * 512 + 512)):
            inside = 0.0
            for w in range(8):
                word, later = plane[side, u, w], u - side * 512 - w * 64
                if later >= 0:
                    # Only what comes after u; shifting by 64 would be undefined, so in two steps.
                    word = uint64(0) if later >= 64 else word & ((~uint64(0) << uint64(later)) << uint64(1))
                if word:
                    for octet in range(8):
                        inside += table[w * 8 + octet, (word >> uint64(octet * 8)) & uint64(255)]
            found[u - rows[0]] += inside
    return found


class _Pairs(NamedTuple):
    """What the instructions for one row read and change."""

    counts: Any  # of planes a and b so many octets later
    by_first: Any
    by_second: Any
    noisy: Any  # for each plane a number, or None where its weight of the spread is 0
    scored: Any  # the same of the spread times the score
    bits: Any
    by_plane: Any
    forms: Any
    skew: Any
    own: Any
    ends: Any
    end: Any
    sums: Any
    columns: Any
    lanes: Any


def _taking_part(parts: Any) -> Any:
    """For two planes, the forms whose weight need not be 0; the last is the difference."""
    noisy, scored = ([not isinstance(each, types.NoneType) for each in parts.types[k].types] for k in (3, 4))

    def used(a: int, b: int) -> list[bool]:
        mixed = noisy[a] or noisy[b]
        return [True, True, noisy[a] and noisy[b], mixed, scored[a] and scored[b], mixed and a != b]

    return used


def _pair_forms(
    write: _Writer, at: _Pairs, planes: int, takes_part: Any, used: int, column: Any, octets: int
) -> list[_Vector]:
    """So many forms, and with five of them the difference, for the columns from ``column`` on."""
    builder, integers = write.builder, ir.VectorType(code.PLACE, write.width)
    kept = [write.every(_ZERO) for _ in range(used + 1)]
    start = builder.add(builder.ptrtoint(at.counts, _WORD), builder.mul(column, number(octets)))

    def count(a: int, b: int) -> Any:
        of_planes = builder.add(builder.mul(at.by_first, number(a)), builder.mul(at.by_second, number(b)))
        kind = ir.VectorType(ir.IntType(8 * octets), write.width)
        found = builder.load(builder.inttoptr(builder.add(start, of_planes), kind.as_pointer()), align=octets)
        return found if octets == 4 else builder.zext(found, integers)

    pairs = [(a, b) for a in range(planes) for b in range(a + 1)]
    for place, (a, b) in enumerate(pairs):
        there, takes = count(a, b), takes_part(a, b)
        if a != b:
            back = count(b, a)
            if used > 3 and takes[5]:
                odd = write.number(at.skew, number(place - a))
                kept[used] = kept[used] + odd * write.doubles(builder.sub(there, back))
            there = builder.add(there, back)
        total = write.doubles(there)
        for q in range(used):
            if takes[q]:
                kept[q] = kept[q] + write.number(at.forms, number(q * len(pairs) + place)) * total
    return kept


def _pair_own(write: _Writer, at: _Pairs, planes: int, column: Any) -> list[_Vector]:
    """The score and the spread of each column with the row."""
    builder, kept = write.builder, [write.every(_ZERO) for _ in range(2)]
    kind = ir.VectorType(code.OCTET, write.width)
    for plane in range(planes):
        start = builder.add(builder.ptrtoint(at.bits, _WORD), builder.mul(at.by_plane, number(plane)))
        octets = builder.load(builder.inttoptr(builder.add(start, column), kind.as_pointer()), align=1)
        held = _Vector(builder, builder.uitofp(octets, write.type))
        kept = [kept[q] + write.number(at.own, number(q * planes + plane)) * held for q in range(2)]
    return kept


def _pair_adder(width: int, used: int) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing: Any, parts: Any, first: Any, last: Any) -> Any:
        """Add the terms of the columns from ``first`` to ``last``, for the parts of a ``_Pairs``."""
        octets, planes = parts.types[0].dtype.bitwidth // 8, parts.types[3].count

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = cgutils.unpack_tuple(builder, args[0])
            each = zip(signature.args[0].types, values, strict=True)
            at, write = _Pairs(*(code.data_of(context, builder, *one) for one in each)), _Writer(builder, width)
            with cgutils.for_range_slice(builder, args[1], args[2], number(width), _WORD) as (column, _):
                forms = _pair_forms(write, at, planes, _taking_part(parts), used, column, octets)
                here, noise = _pair_own(write, at, planes, column)
                ends = write.every(at.end) + write.load(at.ends, column)
                terms = list(triangle_terms(forms[:3], here, noise, ends))
                if used > 3:
                    square = forms[0] * forms[0]
                    lane = builder.and_(builder.sub(column, args[1]), number(LANES - 1))
                    write.store(write.load(at.lanes, lane) + square, at.lanes, lane)
                    terms += [square, *cycle_terms(forms[:5], forms[used])[1:]]
                for q, term in enumerate(terms):
                    place = builder.add(builder.mul(number(q), at.columns), column)
                    write.store(write.load(at.sums, place) + term, at.sums, place)
            return context.get_dummy_value()

        return types.void(parts, types.int64, types.int64), generate

    return add


_add_triangle_pairs, _add_triangle_pair = _pair_adder(LANES, 3), _pair_adder(1, 3)
_add_cycle_pairs, _add_cycle_pair = _pair_adder(LANES, 5), _pair_adder(1, 5)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_pair_sums(
    ordered: Any, noisy: Any, scored: Any, bits: Any, forms: Any, skew: Any, own: Any, ends: Any, sums: Any,
    squares: Any,
) -> None:  # fmt: skip
    columns, lanes = sums.shape[1], np.empty(LANES)
    for start in range(0, columns, CHUNK):
        stop = min(start + CHUNK, columns)
        for i in range(min(ordered.shape[2], stop - 1)):
            mine, held = ordered[:, :, i], bits[:, i]
            parts = (
                mine, mine.strides[0], mine.strides[1], noisy, scored, held, held.strides[0], forms, skew, own, ends,
                ends[i], sums, columns, lanes,
            )  # fmt: skip
            first = max(start, i + 1)
            last = first + (stop - first) // LANES * LANES
            if forms.shape[0] > 3:
                lanes[:] = 0.0
                _add_cycle_pairs(parts, first, last)
                _add_cycle_pair(parts, last, stop)
                squares[i] += _halved(lanes)
            else:
                _add_triangle_pairs(parts, first, last)
                _add_triangle_pair(parts, last, stop)


def add_pair_sums(ordered: Any, bits: Any, forms: Any, skew: Any, own: Any, ends: Any, sums: Any, squares: Any) -> None:
    """As ``group_sums.add_pair_sums``: in one pass, several columns at a time.

    Compiled for each number of planes, and for which of them have weights of 0.
    """
    first = np.cumsum(np.arange(len(ordered))) + np.arange(len(ordered))  # where each plane's weight with itself is
    noisy, scored = (
        tuple(0 if q >= len(forms) or forms[q, place] else None for place in first.tolist()) for q in (2, 4)
    )
    _add_pair_sums(ordered, noisy, scored, bits, forms, skew, own, np.ascontiguousarray(ends), sums, squares)
