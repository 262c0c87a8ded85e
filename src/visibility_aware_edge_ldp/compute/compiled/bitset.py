"""The compiled twins of ``bitset``. Need numba, the extra ``fast``.

Planes and strips from flat bits: whole words are shifted into place above the diagonal, and squares of 64 × 64 bits are
mirrored below it. A plane is a single strip that is as wide as all columns.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import int32, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled import instructions as code
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.compiled.instructions import PANEL, WORDS, popcount
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of

# Exact sums may be added in any order, which is what lets several be added at once.
ANY_ORDER = {"reassoc", "nsz"}
# Rows are shorter the later they come, so that each core takes several pieces.
PIECES = 4


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _place_rows(flat: Any, end: Any, n: Any, first: Any, last: Any, strips: Any) -> None:
    """The bits above the diagonal, for the rows from ``first`` to ``last``; ``end`` is the word after the flat ones."""
    number, _, width = strips.shape
    for u in range(first, min(last, n - 1)):
        start = u * (2 * n - u - 1) // 2
        begin = (u + 1) >> 6
        for strip in range(begin // width, number):
            for w in range(max(begin, strip * width), min((strip + 1) * width, (n + 63) >> 6)):
                skipped = max(u + 1 - w * 64, 0)  # columns of the first word that are not after u
                place = start + w * 64 - u - 1 + skipped
                offset = uint64(place & 63)
                at = place >> 6
                word = (flat[at] if at < flat.size else end) >> offset
                if offset and at < flat.size:
                    word |= (flat[at + 1] if at + 1 < flat.size else end) << (uint64(64) - offset)
                word <<= uint64(skipped)
                if n - w * 64 < 64:
                    word &= (uint64(1) << uint64(n & 63)) - uint64(1)
                strips[strip, u, w - strip * width] = word


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _transpose(square: Any) -> None:
    """Mirror 64 × 64 bits at their diagonal: halves change places, then quarters, down to single bits."""
    width, mask = 32, uint64(0x00000000FFFFFFFF)
    while width:
        row = 0
        while row < 64:
            moved = ((square[row] >> uint64(width)) ^ square[row + width]) & mask
            square[row] ^= moved << uint64(width)
            square[row + width] ^= moved
            row = (row + width + 1) & ~width
        width >>= 1
        mask ^= mask << uint64(width)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _mirror(flat: Any, end: Any, n: Any, first: Any, last: Any, strips: Any) -> None:
    """Add the mirror image of the rows from ``first``, a multiple of 64, to ``last``: no other rows' words are met."""
    width = strips.shape[2]
    square = np.empty(64, dtype=np.uint64)
    for top in range(first, last, 64):
        strip, place = (top >> 6) // width, (top >> 6) % width
        for left in range(top, n, 64):
            other, column = (left >> 6) // width, (left >> 6) % width
            square[:] = uint64(0)
            for i in range(min(64, n - top)):
                square[i] = strips[other, top + i, column]
            _transpose(square)
            for j in range(min(64, n - left)):
                strips[strip, left + j, place] |= square[j]


def _fill(flat: Any, n: int, strips: Any) -> None:
    whole = flat.size // 8 * 8
    # Most of it as it lies: a copy of all positions would be the largest thing here but the strips themselves.
    words, end = np.ascontiguousarray(flat[:whole]).view("<u8"), np.zeros(8, np.uint8)
    end[: flat.size - whole] = flat[whole:]
    last = end.view("<u8")[0]
    pieces = pieces_of(0, n, 64, PIECES)
    for work in (_place_rows, _mirror):  # one after the other: every row is there before it is mirrored
        list(on_cores(lambda piece, work=work: work(words, last, n, *piece, strips), pieces))  # type: ignore[misc]


def plane_of(flat: Any, n: int) -> Any:
    """As ``bitset.plane_of``."""
    plane = np.zeros((n, (n + 63) // 64), np.uint64)
    _fill(flat, n, plane[None])
    return plane


def strips_of(flat: Any, n: int, sides: int) -> Any:
    """As ``bitset.strips_of``."""
    strips = np.zeros((sides, sides * PANEL, WORDS), np.uint64)
    _fill(flat, n, strips)
    return strips


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _rows_with_bits(plane: Any) -> Any:
    """The rows that hold a one."""
    found = np.empty(plane.shape[0], dtype=np.int64)
    size = 0
    for i in range(plane.shape[0]):
        for w in range(plane.shape[1]):
            if plane[i, w]:
                found[size] = i
                size += 1
                break
    return found[:size]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shared_counts(left: Any, right: Any) -> Any:
    """As ``bitset.shared_counts``: four rows of ``left`` at a time, so that each word of ``right`` is read once.

    Empty rows are passed over: users whose lists are public have nothing in the planes of answers.
    """
    words = left.shape[1]
    counts = np.zeros((left.shape[0], right.shape[0]), dtype=np.int32)
    rows, columns = _rows_with_bits(left), _rows_with_bits(right)
    whole = rows.size - rows.size % 4
    for r in range(0, whole, 4):
        i0, i1, i2, i3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        for j in columns:
            a, b, c, d = uint64(0), uint64(0), uint64(0), uint64(0)
            for w in range(words):
                word = right[j, w]
                a += popcount(left[i0, w] & word)
                b += popcount(left[i1, w] & word)
                c += popcount(left[i2, w] & word)
                d += popcount(left[i3, w] & word)
            counts[i0, j], counts[i1, j], counts[i2, j], counts[i3, j] = a, b, c, d
    for i in rows[whole:]:
        for j in columns:
            total = uint64(0)
            for w in range(words):
                total += popcount(left[i, w] & right[j, w])
            counts[i, j] = total
    return counts


@intrinsic  # type: ignore[untyped-decorator]
def _picked(typing: Any, words: Any, count: Any, numbers: Any) -> Any:
    """Σ of the numbers where a row of so many words holds ones: every octet of a word picks from eight at once."""

    def write(builder: Any, words: Any, count: Any, numbers: Any) -> Any:
        eight, picks, nothing = ir.VectorType(ir.DoubleType(), 8), ir.VectorType(ir.IntType(1), 8), ir.DoubleType()(0.0)
        zeros = ir.Constant(eight, [0.0] * 8)
        kept = [cgutils.alloca_once_value(builder, zeros) for _ in range(8)]
        with cgutils.for_range_slice(builder, code.number(0), count, code.number(1), code.WORD) as (place, _):
            word, first = builder.load(builder.gep(words, [place])), builder.mul(place, code.number(64))
            for octet, total in enumerate(kept):
                chosen = builder.trunc(builder.lshr(word, code.number(8 * octet)), code.OCTET)
                start = code.at(builder, numbers, builder.add(first, code.number(8 * octet)), eight)
                more = builder.select(builder.bitcast(chosen, picks), builder.load(start, align=8), zeros)
                builder.store(builder.fadd(builder.load(total), more), total)
        each = [builder.load(total) for total in kept]
        while len(each) > 1:
            each = [builder.fadd(one, other) for one, other in zip(each[::2], each[1::2], strict=True)]
        found = nothing
        for lane in range(8):
            found = builder.fadd(found, builder.extract_element(each[0], ir.Constant(code.PLACE, lane)))
        return found

    return code.written(types.float64(words, types.int64, numbers), write)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _plane_times(plane: Any, numbers: Any, first: Any, last: Any, found: Any) -> None:
    for u in range(first, last):
        found[u] = _picked(plane[u], plane.shape[1], numbers)


def plane_times(plane: Any, vector: Any) -> Any:
    """As ``bitset.plane_times``, on all cores; the sums are exact, in whatever order they are added."""
    rows, words = plane.shape
    numbers, found = np.zeros(words * 64), np.empty(rows)
    numbers[: vector.size] = vector
    list(on_cores(lambda part: _plane_times(plane, numbers, *part, found), pieces_of(0, rows)))
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def add_list_counts(plane: Any, weight: Any, offsets: Any, members: Any, totals: Any) -> None:
    """As ``bitset.add_list_counts``: a word of the plane is spread over 64 counters at a time."""
    words = plane.shape[1]
    counts = np.empty(words * 64, dtype=np.int32)
    for i in range(offsets.size - 1):
        counts[:] = 0
        for place in range(offsets[i], offsets[i + 1]):
            row = members[place]
            for w in range(words):
                word = plane[row, w]
                if word:
                    for b in range(64):
                        counts[w * 64 + b] += np.int32((word >> uint64(b)) & uint64(1))
        for x in range(totals.shape[1]):
            totals[i, x] += weight * counts[x]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def list_total(plane: Any, offsets: Any, members: Any) -> Any:
    """As ``bitset.list_total``."""
    inside = np.zeros(plane.shape[1], dtype=np.uint64)
    total = uint64(0)
    for i in range(offsets.size - 1):
        inside[:] = uint64(0)
        for place in range(offsets[i], offsets[i + 1]):
            inside[members[place] >> 6] |= uint64(1) << uint64(members[place] & 63)
        for place in range(offsets[i], offsets[i + 1]):
            row = members[place]
            ones = uint64(0)
            for w in range(inside.size):
                ones += popcount(plane[row, w] & inside[w])
            total += ones
    return np.int64(total)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def list_sums(matrix: Any, offsets: Any, members: Any) -> Any:
    """As ``bitset.list_sums``."""
    lists, columns = offsets.size - 1, matrix.shape[1]
    sums = np.zeros((lists, columns))
    for i in range(lists):
        for place in range(offsets[i], offsets[i + 1]):
            row = members[place]
            for x in range(columns):
                sums[i, x] += matrix[row, x]
    return sums


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _word_at(words: Any, bit: Any) -> Any:
    """The 64 bits from this one on."""
    offset = uint64(bit & 63)
    word = words[bit >> 6] >> offset
    if offset:
        word |= words[(bit >> 6) + 1] << (uint64(64) - offset)
    return word


@njit(nogil=True)  # type: ignore[untyped-decorator]
def _add_node_ones(words: Any, size: Any, row: Any, skip: Any, counts: Any) -> None:
    """Words are shifted so that a word's bits are consecutive columns; ``words`` has a spare one at the end."""
    place = 0
    while place < size and row < counts.size - 1:
        column = row + 1 + skip
        length = min(counts.size - column, size - place)
        total = uint64(0)
        for at in range(0, length, 64):
            source, left = place + at, min(length - at, 64)
            word = _word_at(words, source)
            if left < 64:
                word &= (uint64(1) << uint64(left)) - uint64(1)
            total += popcount(word)
            part = counts[column + at : column + at + left]
            if left == 64:  # as often as the compiler knows beforehand: several at once
                for bit in range(64):
                    part[bit] += int32((word >> uint64(bit)) & uint64(1))
            else:
                for bit in range(left):
                    part[bit] += int32((word >> uint64(bit)) & uint64(1))
        counts[row] += int32(total)
        place, row, skip = place + length, row + 1, 0


def add_node_ones(run: Any, first: int, skip: int, counts: Any) -> None:
    """As ``bitset.add_node_ones``."""
    words = np.zeros(run.size // 8 + 2, np.uint64)
    words.view(np.uint8)[: run.size] = run
    _add_node_ones(words, run.size * 8, first, skip, counts)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)  # type: ignore[untyped-decorator]
def _add_later_sums(words: Any, size: Any, row: Any, skip: Any, vectors: Any, sums: Any) -> None:
    """As ``_add_node_ones``: a word picks from 64 numbers at a time."""
    place = 0
    while place < size and row < vectors.shape[1] - 1:
        column = row + 1 + skip
        length = min(vectors.shape[1] - column, size - place)
        for which in range(vectors.shape[0]):
            total = 0.0
            for at in range(0, length, 64):
                source, left = place + at, min(length - at, 64)
                word = _word_at(words, source)
                part = vectors[which, column + at : column + at + left]
                if left == 64:
                    for bit in range(64):
                        total += part[bit] if (word >> uint64(bit)) & uint64(1) else 0.0
                else:
                    for bit in range(left):
                        total += part[bit] if (word >> uint64(bit)) & uint64(1) else 0.0
            sums[which, row] += total
        place, row, skip = place + length, row + 1, 0


def add_later_sums(run: Any, first: int, skip: int, vectors: Any, sums: Any) -> None:
    """As ``bitset.add_later_sums``."""
    words = np.zeros(run.size // 8 + 2, np.uint64)
    words.view(np.uint8)[: run.size] = run
    _add_later_sums(words, run.size * 8, first, skip, vectors, sums)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def lists_of(edges: Any, degrees: Any) -> Any:
    """As ``bitset.lists_of``: in the order of the edges, every list fills from its smallest friend on."""
    starts = np.zeros(degrees.size + 1, np.int64)
    starts[1:] = np.cumsum(degrees)
    ends, friends = starts[:-1].copy(), np.empty(2 * len(edges), np.int32)
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        friends[ends[u]] = v
        friends[ends[v]] = u
        ends[u] += 1
        ends[v] += 1
    return starts, friends


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def add_ends(edges: Any, members: Any, first: Any, counts: Any) -> None:
    """The friends of the users numbered ``first`` and on, by the friend's group where there are any."""
    grouped = members.size > 0
    for k in range(edges.shape[0]):
        u, v = edges[k, 0], edges[k, 1]
        if first <= u < first + counts.shape[0]:
            counts[u - first, members[v] if grouped else 0] += 1
        if first <= v < first + counts.shape[0]:
            counts[v - first, members[u] if grouped else 0] += 1
