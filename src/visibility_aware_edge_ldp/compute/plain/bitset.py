"""Square bit matrices, one packed row of 64-bit words a node.

A *plane* is a symmetric n × n bit matrix with an empty diagonal. Planes are built from upper
triangles, tile by tile, so that an n × n array of bytes never exists.
"""

import math

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Bits = npt.NDArray[np.bool_]
Sums = npt.NDArray[np.float64]
TILE = 1024
LINE = 64
_BAND = 512
Octets = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int32]


def zeros_in_line(*shape: int) -> Words:
    """Words of zeros that begin where a line of the cache does, so that no row of eight words lies in two lines."""
    found = room_in_line(*shape)
    found[...] = 0
    return found


def room_in_line(*shape: int) -> Words:
    """As :func:`zeros_in_line`, of words that are still to be written."""
    octets = 8 * math.prod(shape)
    room = np.empty(octets + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    found: Words = room[start : start + octets].view(np.uint64).reshape(shape)
    return found


def word_count(n: int) -> int:
    """Words in a row of n bits."""
    return (n + 63) // 64


def pack_rows(rows: Bits, n: int) -> Words:
    """Boolean rows of n columns as packed rows."""
    padded = np.zeros((len(rows), word_count(n) * 8), dtype=np.uint8)
    packed = np.packbits(rows, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8")


def unpack_rows(rows: Words, n: int, first: int = 0) -> Bits:
    """Packed rows as boolean rows, columns ``first`` to n."""
    skip = first // 8
    octets = np.ascontiguousarray(rows).view(np.uint8)[:, skip:]
    return np.unpackbits(octets, axis=1, count=n - skip * 8, bitorder="little")[:, first - skip * 8 :].view(np.bool_)


def symmetrise(upper: Words, n: int) -> Words:
    """Add the mirror image of an upper triangle, in place."""
    for top in range(0, n, TILE):
        band = unpack_rows(upper[top : top + TILE], n, top)
        for left in range(top, n, TILE):
            tile = band[:, left - top : left - top + TILE].T
            word = top // 64
            mirrored = pack_rows(np.ascontiguousarray(tile), tile.shape[1])
            upper[left : left + TILE, word : word + mirrored.shape[1]] |= mirrored
    return upper


def plane_of(flat: npt.NDArray[np.uint8], n: int) -> Words:
    """One packed bit a pair {u, v}, u < v, row by row, as a symmetric plane."""
    upper = np.empty((n, word_count(n)), dtype=np.uint64)
    for top in range(0, n, _BAND):
        bottom = min(top + _BAND, n)
        start, stop = (u * (2 * n - u - 1) // 2 for u in (top, bottom))
        octets = flat[start >> 3 : (stop + 7) >> 3]
        bits = np.unpackbits(octets, bitorder="little")[start & 7 : (start & 7) + stop - start]
        rows = np.zeros((bottom - top, n), dtype=np.bool_)
        rows[np.arange(n)[None, :] > np.arange(top, bottom)[:, None]] = bits
        upper[top:bottom] = pack_rows(rows, n)
    return symmetrise(upper, n)


def strips_of(flat: npt.NDArray[np.uint8], n: int, sides: int) -> Words:
    """The same plane in strips of 512 columns, filled up with zeros to a square: (sides, 512 · sides, 8)."""
    strips: Words = in_strips(plane_of(flat, n)[None], sides)[0]
    return strips


def in_strips(planes: Words, sides: int) -> Words:
    """Planes of n nodes as planes in strips, whose first n rows and columns are theirs."""
    strips = zeros_in_line(len(planes), sides, sides * _BAND, LINE // 8)
    for side in range(sides):
        part = planes[:, :, side * LINE // 8 : (side + 1) * LINE // 8]
        strips[:, side, : planes.shape[1], : part.shape[2]] = part
    return strips


def row_sums(plane: Words) -> npt.NDArray[np.int64]:
    """How many ones each row has."""
    sums: npt.NDArray[np.int64] = np.bitwise_count(plane).sum(axis=1, dtype=np.int64)
    return sums


def sums_within(rows: Words, masks: Words) -> npt.NDArray[np.int64]:
    """(rows, masks): how many ones of each row lie where each mask has ones."""
    found = np.empty((len(rows), len(masks)), np.int64)
    for first in range(0, len(rows), TILE):
        band = rows[first : first + TILE]
        for place, mask in enumerate(masks):
            found[first : first + TILE, place] = np.bitwise_count(band & mask).sum(axis=1, dtype=np.int64)
    return found


def group_masks(members: npt.NDArray[np.int64], groups: int) -> Words:
    """(groups, words): the members of each group as packed rows; who has a negative number is in none."""
    return pack_rows(members == np.arange(groups)[:, None], members.size)


def sums_by_group(by_row: npt.NDArray[np.number], members: npt.NDArray[np.int64], groups: int) -> Sums:
    """(groups, columns): the numbers of each group's rows, one added to the other; rows of no group are left out."""
    held = np.flatnonzero(members >= 0)
    found = [np.bincount(members[held], column[held], groups) for column in by_row.T]
    return np.stack(found, axis=1)


def shared_counts(left: Words, right: Words) -> npt.NDArray[np.int32]:
    """For each row of ``left`` and each of ``right``: how many columns hold a one in both.

    The plain twin of the compiled kernel; both give the same integers.
    """
    counts = np.empty((len(left), len(right)), dtype=np.int32)
    for i, row in enumerate(left):
        counts[i] = np.bitwise_count(row & right).sum(axis=1, dtype=np.int32)
    return counts


def plane_times(plane: Words, vector: Sums) -> Sums:
    """For each row of a plane, the sum of the vector where it holds ones; has a compiled twin.

    The twins add in another order. They agree where sums are exact, as of ``reproducible_math.on_grid``.
    """
    n, found = vector.size, np.empty(len(plane))
    for start in range(0, len(plane), _BAND):
        bits = unpack_rows(plane[start : start + _BAND], n)
        found[start : start + _BAND] = np.where(bits, vector, 0.0).sum(axis=1)
    return found


def add_list_counts(
    plane: Words, weight: float, offsets: npt.NDArray[np.int64], members: npt.NDArray[np.int32], totals: Sums
) -> None:
    """Add to the totals of each list and each column: weight · how many of the list's rows hold a one there.

    List i is ``members[offsets[i]:offsets[i + 1]]``. The plain twin of the compiled kernel.
    """
    n = totals.shape[1]
    for total, first, last in zip(totals, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        total += weight * unpack_rows(plane[members[first:last]], n).sum(axis=0, dtype=np.int32)


def list_total(plane: Words, offsets: npt.NDArray[np.int64], members: npt.NDArray[np.int32]) -> int:
    """Over all lists: the ones in the rows and columns of their own members; has a compiled twin."""
    total, n = 0, len(plane)
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        inside = np.zeros((1, n), np.bool_)
        inside[0, members[first:last]] = True
        total += int(np.bitwise_count(plane[members[first:last]] & pack_rows(inside, n)).sum(dtype=np.int64))
    return total


def list_sums(matrix: npt.NDArray[np.float32], offsets: npt.NDArray[np.int64], members: npt.NDArray[np.int32]) -> Sums:
    """For each list of rows and each column: the sum of the list's rows there; has a compiled twin."""
    sums = np.zeros((offsets.size - 1, matrix.shape[1]))
    for i, (first, last) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        matrix[members[first:last]].sum(axis=0, dtype=np.float64, out=sums[i])
    return sums


def add_node_ones(run: Octets, first: int, skip: int, counts: Counts) -> None:
    """Add every one at (u, v) to the counts of u and of v; has a compiled twin.

    A run of packed positions begins with bit number ``skip`` of row ``first``, and goes on row by row in the canonical
    order of positions.
    """
    bits = np.unpackbits(run, bitorder="little")
    row, place = first, 0
    while place < bits.size and row < counts.size - 1:
        columns = counts[row + 1 + skip :]
        part = bits[place : place + columns.size]
        columns[: part.size] += part
        counts[row] += int(part.sum(dtype=np.int64))
        row, place, skip = row + 1, place + part.size, 0


def add_later_sums(run: Octets, first: int, skip: int, vectors: Sums, sums: Sums) -> None:
    """Add, for every one at (u, v), each vector's number at v to its sum at u; has a compiled twin.

    The run is as that of ``add_node_ones``; ``vectors`` and ``sums`` have a row of n numbers each. The twins agree
    where sums are exact in any order, as of ``reproducible_math.on_grid``.
    """
    bits, n = np.unpackbits(run, bitorder="little").view(np.bool_), vectors.shape[1]
    row, place = first, 0
    while place < bits.size and row < n - 1:
        columns = vectors[:, row + 1 + skip :]
        part = bits[place : place + columns.shape[1]]
        sums[:, row] += columns[:, : part.size][:, part].sum(axis=1)
        row, place, skip = row + 1, place + part.size, 0


def lists_of(
    edges: npt.NDArray[np.int32], degrees: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """All friend lists in one array, each rising, and where each begins.

    Edges are sorted, each with its smaller end first; a list has its smaller friends first, then its larger ones.
    """
    n, low, high = degrees.size, edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    smaller = np.bincount(high, minlength=n)
    before = np.concatenate([[0], np.cumsum(smaller)])
    # Edges are sorted by their smaller end; sorting the mirrored ones as single numbers is the fast way.
    owner, friend = np.divmod(np.sort(high * n + low), max(n, 1))
    friends = np.empty(2 * len(low), dtype=np.int32)
    friends[starts[owner] + np.arange(len(low)) - before[owner]] = friend
    larger_before = np.concatenate([[0], np.cumsum(degrees - smaller)])
    friends[starts[low] + smaller[low] + np.arange(len(low)) - larger_before[low]] = high
    return starts, friends


def add_ends(
    edges: npt.NDArray[np.int32], members: npt.NDArray[np.int32], first: int, counts: npt.NDArray[np.int32]
) -> None:
    """Count the friends of the users numbered ``first`` and on: (users, groups) by the friend's group, or (users, 1).

    Every edge counts for those of its ends that are among these users; ``members`` are all users' groups, or empty.
    """
    for own, friend in ((edges[:, 0], edges[:, 1]), (edges[:, 1], edges[:, 0])):
        here = (own >= first) & (own < first + len(counts))
        users = own[here] - first
        group = members[friend[here]] if members.size else np.zeros_like(users)
        np.add.at(counts, (users, group), 1)
