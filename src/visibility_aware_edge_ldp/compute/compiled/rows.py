"""The compiled twins of ``rows``: rows of bits are added as bits, 512 columns at a time. Need the extra ``fast``."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled import instructions as code
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.compiled.instructions import PANEL, bits_of, count_columns, list_ones, popcount

_WIDE_PLACES = code.places_of_ones(dtype=np.uint32)
_NO_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
# Columns looked at in one go.
_AT_ONCE = 16
_SHORTS, _LONGS, _SUMS, _WORDS = (
    ir.VectorType(ir.IntType(bits), _AT_ONCE // part) for bits, part in ((16, 1), (32, 1), (32, 2), (64, 2))
)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _largest(pulls: Any, bits: Any) -> Any:
    """The largest absolute pull of a panel's columns with a one."""
    # Doubles without their sign are in the order of their bits; of integers, several are compared at once.
    words, found = pulls.view(np.int64), np.zeros(1, np.int64)
    largest = np.int64(0)
    for x in range(PANEL):
        here = words[x] & _NO_SIGN if bits[x] else np.int64(0)
        largest = here if here > largest else largest
    found[0] = largest
    return found.view(np.float64)[0]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_in(slices: Any, levels: Any, column: Any) -> Any:
    """The count of a column from slices of so many levels."""
    word, bit, found = column >> 6, uint64(column & 63), uint64(0)
    for level in range(levels):
        found |= ((slices[level, word] >> bit) & uint64(1)) << uint64(level)
    return found


@intrinsic  # type: ignore[untyped-decorator]
def _ends(typing: Any, slices: Any, levels: Any, wanted: Any) -> Any:
    """Of the wanted columns, of which there are some: the largest count, times 2^32, and the smallest.

    From the highest of so many bits on, those columns stay that have it, and those that lack it, if there are any.
    """

    def write(builder: Any, slices: Any, levels: Any, wanted: Any) -> Any:
        whole = builder.load(code.at(builder, wanted, code.number(0), code.ROW), align=8)
        high, low = (cgutils.alloca_once_value(builder, whole) for _ in range(2))
        found, none, eight = cgutils.alloca_once_value(builder, code.number(0)), code.constant(code.ROW, 0), code.OCTET
        with cgutils.for_range(builder, levels, intp=code.WORD) as loop:
            level = builder.sub(builder.sub(levels, code.number(1)), loop.index)
            held = builder.load(code.row_at(builder, slices, level), align=8)
            for kept, row, has, lacks in ((high, held, 1 << 32, 0), (low, builder.not_(held), 0, 1)):
                before = builder.load(kept)
                after = builder.and_(before, row)
                left = builder.bitcast(builder.icmp_unsigned("!=", after, none), eight)
                is_any = builder.icmp_unsigned("!=", left, ir.Constant(eight, 0))
                stay = code.everywhere(builder, builder.sext(builder.not_(is_any), code.WORD), code.ROW)
                builder.store(builder.and_(before, builder.or_(after, stay)), kept)
                bit = builder.select(is_any, code.number(has), code.number(lacks))
                builder.store(builder.or_(builder.load(found), builder.shl(bit, level)), found)
        return builder.load(found)

    return code.written(types.uint64(slices, types.int64, wanted), write)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _whole_groups(offsets: Any, members: Any, empty: Any) -> Any:
    """The same lists, each filled up to whole groups with the empty row."""
    ends = np.empty(offsets.size, np.int64)
    listed = np.empty(members.size + offsets.size * code.GROUP, np.uint32)
    end = ends[0] = 0
    for i in range(offsets.size - 1):
        for member in members[offsets[i] : offsets[i + 1]]:
            listed[end] = member
            end += 1
        while end & (code.GROUP - 1):
            listed[end] = empty
            end += 1
        ends[i + 1] = end
    return ends, listed


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _columns_here(members: Any, first: Any, columns: Any) -> Any:
    """Which columns of the panel are members', and how many."""
    size = 0
    for member in members:
        if first <= member < first + PANEL:
            columns[size] = member - first
            size += 1
    return size


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_constant(weight: Any, size: Any, columns: Any, kept: Any, pulls: Any) -> None:
    """Add weight · size to all pulls, and weight · (size - 1) to those of the list's own columns."""
    for k in range(columns.size):
        kept[k] = pulls[columns[k]] + weight * (size - 1)
    more = weight * size
    for x in range(PANEL):
        pulls[x] += more
    for k in range(columns.size):
        pulls[columns[k]] = kept[k]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _pull(complete: Any, weights: Any, size: Any, count: Any) -> Any:
    """The pull at a column that so many listed rows hold in the plane that is not complete."""
    pull = 0.0
    for p in range(complete.size):
        pull += weights[p] * (size if complete[p] else count)
    return pull


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _largest_by_counts(
    complete: Any, weights: Any, size: Any, own: Any, wanted: Any, slices: Any, levels: Any, part: Any
) -> Any:
    """The largest absolute pull where a single plane is counted: it rises or falls with the count, so at its ends.

    ``wanted`` columns are looked at; pulls at the list's ``own`` ones are less by one of each complete plane.
    """
    largest = 0.0
    for less in range(2):
        rest = uint64(0)
        for w in range(code.WORDS):
            part[w] = wanted[w] & (own[w] if less else ~own[w])
            rest |= part[w]
        if rest:
            ends = _ends(slices, levels, part)
            for count in (np.int64(ends >> uint64(32)), np.int64(ends & uint64(0xFFFFFFFF))):
                largest = max(largest, abs(_pull(complete, weights, size - less, count)))
    return largest


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _counts_inside(slices: Any, levels: Any, own: Any, columns: Any) -> Any:
    """The sum of the counts of a list's own columns; of those that it names twice, twice."""
    found, once = uint64(0), uint64(0)
    for w in range(code.WORDS):
        own[w] = uint64(0)
    for column in columns:
        own[column >> 6] |= uint64(1) << uint64(column & 63)
    for w in range(code.WORDS):
        once += popcount(own[w])
    if np.int64(once) != columns.size:
        for column in columns:
            found += _count_in(slices, levels, column)
        return np.int64(found)
    for level in range(levels):
        for w in range(code.WORDS):
            found += popcount(slices[level, w] & own[w]) << uint64(level)
    return np.int64(found)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _after(words: Any, passed: Any, found: Any) -> None:
    """A panel's row without so many columns at its beginning."""
    for w in range(code.WORDS):
        less = min(max(passed - w * 64, 0), 64)
        found[w] = words[w] & (~uint64(0) << uint64(less)) if less < 64 else uint64(0)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _single_pulls(panels: Any, complete: Any, weights: Any, masks: Any, start: Any, offsets: Any, members: Any) -> Any:
    """Where a single plane is counted: its slices alone tell the largest and the smallest count."""
    planes, number, rows, _ = panels.shape
    lists = offsets.size - 1
    inside, largest = np.zeros((lists, planes), np.int64), np.zeros((len(masks), lists))
    ends, listed = _whole_groups(offsets, members, rows - 1)
    slices, (own, wanted, part) = np.zeros((code.SLICES, code.WORDS), np.uint64), np.empty((3, code.WORDS), np.uint64)
    columns = np.empty(members.size, np.int64)
    counted = np.argmin(complete)
    for panel in range((start + 1) // PANEL, number):
        first = panel * PANEL
        for i in range(min(lists, first + PANEL - 1 - start)):
            mine = members[offsets[i] : offsets[i + 1]]
            if not mine.size:
                continue
            most = code.levels_of(mine.size)
            slices[:most] = uint64(0)
            code.add_columns(panels[counted, panel], listed, ends[i], ends[i + 1], slices, most)
            levels = 1  # no count has more bits than the length of the list
            while mine.size >> levels:
                levels += 1
            size = _columns_here(mine, first, columns)
            inside[i, counted] += _counts_inside(slices, levels, own, columns[:size])
            for p in range(planes):
                if complete[p]:
                    inside[i, p] += size * (mine.size - 1)
            for c in range(len(masks)):
                _after(masks[c, panel, i if masks.shape[2] > 1 else 0], start + i + 1 - first, wanted)
                here = _largest_by_counts(complete, weights, mine.size, own, wanted, slices, levels, part)
                largest[c, i] = max(largest[c, i], here)
    return inside, largest


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_pulls(
    panels: Any, complete: Any, weights: Any, masks: Any, start: Any, offsets: Any, members: Any, counts: Any, bits: Any
) -> Any:
    planes, number, rows, _ = panels.shape
    lists = offsets.size - 1
    inside, largest = np.zeros((lists, planes), np.int64), np.zeros((len(masks), lists))
    ends, listed = _whole_groups(offsets, members, rows - 1)
    work, pulls = np.zeros((code.SLICES, code.WORDS), np.uint64), np.empty(PANEL)
    kept, columns = np.empty(members.size), np.empty(members.size, np.int64)
    for panel in range((start + 1) // PANEL, number):
        first = panel * PANEL
        for c in range(len(masks)):
            bits_of(masks[c, panel, 0], bits[c])
        for i in range(min(lists, first + PANEL - 1 - start)):
            mine = members[offsets[i] : offsets[i + 1]]
            if not mine.size:
                continue
            size = _columns_here(mine, first, columns)
            pulls[:] = 0.0
            for p in range(planes):
                if complete[p]:
                    inside[i, p] += size * (mine.size - 1)
                    _add_constant(weights[p], mine.size, columns[:size], kept, pulls)
                else:
                    count_columns(panels[p, panel], listed, ends[i], ends[i + 1], work, counts)
                    weight = weights[p]
                    for x in range(PANEL):
                        pulls[x] += weight * counts[x]
                    for x in columns[:size]:
                        inside[i, p] += counts[x]
            for c in range(len(masks)):
                if masks.shape[2] > 1:
                    bits_of(masks[c, panel, i], bits[c])
                bits[c, : max(start + i + 1 - first, 0)] = 0  # before this list's user, and so before those that follow
                largest[c, i] = max(largest[c, i], _largest(pulls, bits[c]))
    return inside, largest


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def later(start: Any, offsets: Any, neighbours: Any) -> Any:
    """As ``rows.later``."""
    ends, members, size = np.zeros(offsets.size, np.int64), np.empty(neighbours.size, np.int32), 0
    for i in range(offsets.size - 1):
        for place in range(offsets[i], offsets[i + 1]):
            members[size] = neighbours[place]
            size += neighbours[place] > start + i
        ends[i + 1] = size
    return ends, members[:size].copy()


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _pack_lists(n: Any, start: Any, offsets: Any, members: Any, packed: Any) -> Any:
    """Whether every member comes after its list's user, and exists."""
    begin = start * (2 * n - start - 1) // 2
    for i in range(offsets.size - 1):
        u = start + i
        before = u * (2 * n - u - 1) // 2 - begin - u - 1
        for place in range(offsets[i], offsets[i + 1]):
            v = members[place]
            if not u < v < n:
                return False
            packed[(before + v) >> 3] |= np.uint8(1 << ((before + v) & 7))
    return True


def packed_lists(n: int, start: int, offsets: Any, members: Any) -> Any:
    """As ``rows.packed_lists``."""
    stop = start + offsets.size - 1
    pairs = (stop * (2 * n - stop - 1) - start * (2 * n - start - 1)) // 2
    packed = np.zeros((pairs + 7) // 8, np.uint8)
    if not _pack_lists(n, start, offsets, members, packed):
        raise IndexError("A list names users who do not exist, or who come before its own.")
    return packed


def list_pulls(panels: Any, complete: Any, weights: Any, masks: Any, start: int, offsets: Any, members: Any) -> Any:
    """As ``rows.list_pulls``: panel after panel, so that what is read stays near."""
    if members.size and not 0 <= members.min() <= members.max() < panels.shape[2] - 1:
        raise IndexError("A list names users who do not exist.")
    if len(complete) - np.count_nonzero(complete) == 1:
        return _single_pulls(panels, complete, weights, masks, start, offsets, members)
    longest, bits = int(np.diff(offsets).max(initial=0)), np.empty((len(masks), PANEL), np.uint16)
    counts = np.empty(PANEL, np.uint16 if longest < 1 << 16 else np.uint32)
    return _list_pulls(panels, complete, weights, masks, start, offsets, members, counts, bits)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _before(octets: Any, wanted: Any, start: Any, stop: Any, table: Any, ones: Any) -> Any:
    """For each user from ``start`` to ``stop`` the earlier ones that it has ones with: whole groups, and how many."""
    sizes, ends = np.zeros(stop - start, np.int64), np.zeros(stop - start + 1, np.int64)
    listed = np.empty((stop - start) * (stop + code.GROUP) + code.ROOM, np.uint32)
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
        while end & (code.GROUP - 1):
            listed[end] = octets.shape[1] - 1
            end += 1
        ends[j - start + 1] = end
    return sizes, ends, listed


def _products(builder: Any, x: Any, y: Any, bit: Any) -> tuple[list[Any], list[Any]]:
    """Of 16 columns' N and t: sums and products, added up two by two, of all columns and of those with a one."""

    def paired(x: Any, y: Any) -> Any:
        """x · y, added up two by two."""
        products = builder.mul(builder.sext(x, _LONGS), builder.sext(y, _LONGS))
        halves = (code.places(range(first, _AT_ONCE, 2)) for first in (0, 1))
        return builder.add(*(builder.shuffle_vector(products, products, half) for half in halves))

    ones, mask = code.constant(_SHORTS, 1), builder.neg(bit)
    held, tied = builder.and_(x, mask), builder.and_(y, mask)
    single = [paired(x, ones), paired(y, ones), paired(x, bit), paired(y, bit)]
    return single, [paired(*each) for each in ((x, x), (x, y), (y, y), (x, held), (x, tied), (y, tied))]


def _adder(wide: bool) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def add_products(typing: Any, shared: Any, early: Any, bits: Any, sums: Any) -> Any:
        """Add to ``sums`` those of N, t, N², Nt and t² over a panel's columns, and over those with a one.

        Products of two columns are added up in 32 bits, 32 times: enough where N and t are below 2^13. Wide ones, below
        2^15, are added up as halves of 16 bits.
        """

        def write(builder: Any, shared: Any, early: Any, bits: Any, sums: Any) -> None:
            none, low, high = (code.constant(_SUMS, value) for value in (0, 0xFFFF, 16))
            kept = [cgutils.alloca_once_value(builder, none) for _ in range(16 if wide else 10)]
            with code.panel_columns(builder, _AT_ONCE) as column:
                places = (code.at(builder, array, column, _SHORTS) for array in (shared, early, bits))
                single, double = _products(builder, *(builder.load(place, align=2) for place in places))
                if wide:
                    double = [part for row in double for part in (builder.and_(row, low), builder.lshr(row, high))]
                for total, row in zip(kept, single + double, strict=True):
                    builder.store(builder.add(builder.load(total), row), total)
            add_up = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(code.WORD, [_WORDS]), f"llvm.vector.reduce.add.v{_WORDS.count}i64"
            )
            totals = [builder.call(add_up, [builder.zext(builder.load(each), _WORDS)]) for each in kept]
            if wide:
                halves = zip(totals[4::2], totals[5::2], strict=True)
                totals[4:] = [builder.add(one, builder.shl(more, code.number(16))) for one, more in halves]
            for index, more in zip((0, 1, 5, 6, 2, 3, 4, 7, 8, 9), totals, strict=True):
                target = builder.gep(sums, [code.number(index)])
                builder.store(builder.add(builder.load(target), more), target)

        return code.written(types.void(shared, early, bits, sums), write)

    return add_products


_add_products, _add_wide_products = _adder(False), _adder(True)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_long_products(shared: Any, early: Any, bits: Any, sums: Any) -> None:
    """The same for any N and t."""
    for x in range(PANEL):
        one, other = np.int64(shared[x]), np.int64(early[x])
        for side in range(1 + bits[x]):
            for q, term in enumerate((one, other, one * one, one * other, other * other)):
                sums[side, q] += term


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _earlier_sums(
    panels: Any, wanted: Any, start: Any, stop: Any, ends: Any, listed: Any, counts: Any, before: Any, bits: Any
) -> Any:
    number, rows, _ = panels.shape
    sums = np.zeros((stop - start, 2, 5), np.int64)
    everybody = _whole_groups(np.array([0, start]), np.arange(start), rows - 1)[1]
    work = np.zeros((code.SLICES, code.WORDS), np.uint64)
    for panel in range(start // PANEL, number):
        first = panel * PANEL
        count_columns(panels[panel], everybody, 0, (start + code.GROUP - 1) // code.GROUP * code.GROUP, work, before)
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
    sizes, ends, listed = _before(panels.view(np.uint8), wanted, start, stop, _WIDE_PLACES, code.ONES)
    counts, before = np.empty((2, PANEL), np.uint16 if stop < 1 << 16 else np.uint32)
    bits = np.empty(PANEL, np.uint16)
    return _earlier_sums(panels, wanted, start, stop, ends, listed, counts, before, bits), sizes
