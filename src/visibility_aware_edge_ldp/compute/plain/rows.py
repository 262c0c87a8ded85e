"""Rows of packed bits added up: what each column counts over a list of users.

A plane is cut into *panels* of 512 columns, which lie one after the other, each with all rows and an empty one more.
The compiled twins give the same numbers.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words, pack_rows, room_in_line, shared_counts, unpack_rows

PANEL = 512
WORDS = PANEL // 64
# Rows of a block.
_ROWS = 64
Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def panels_of(plane: Words) -> Words:
    """The (panels, rows + 1, 8) panels of packed rows, filled up with zeros."""
    panels = room_in_line(*panels_shape(*plane.shape))
    cut_into(plane, panels)
    return panels


def panels_shape(rows: int, words: int) -> tuple[int, int, int]:
    """How many panels so many rows and words make, of how many rows and words each."""
    return -(-words // WORDS), rows + 1, WORDS


def cut_into(plane: Words, panels: Words) -> None:
    """Fill panels with a plane's rows, and with zeros where it has none."""
    for panel, first in zip(panels, range(0, plane.shape[1], WORDS), strict=True):
        part = plane[:, first : first + WORDS]
        panel[:-1, : part.shape[1]] = part
        panel[:-1, part.shape[1] :] = panel[-1] = 0


def rows_of(panels: Words) -> Words:
    """The rows that were cut into panels, without the empty one."""
    whole: Words = panels[:, :-1].transpose(1, 0, 2).reshape(panels.shape[1] - 1, -1)
    return whole


def later(start: int, offsets: Ints, neighbours: npt.NDArray[np.int32]) -> tuple[Ints, npt.NDArray[np.int32]]:
    """The lists of the users numbered ``start`` and on, each without the users before it."""
    owner = np.repeat(np.arange(start, start + offsets.size - 1), np.diff(offsets))
    kept = neighbours > owner
    counts = np.bincount(owner[kept] - start, minlength=offsets.size - 1)
    return np.concatenate([[0], np.cumsum(counts)]), neighbours[kept]


def packed_lists(n: int, start: int, offsets: Ints, members: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """One bit for each pair of users of whom the first is one of those numbered ``start`` and on: is it in a list?

    A list's members come after its user. Eight bits an octet, row after row, as pairs are numbered; the first one's row
    begins with an octet.
    """
    users = start + np.arange(offsets.size)
    before = users * (2 * n - users - 1) // 2 - start * (2 * n - start - 1) // 2
    packed = np.zeros((int(before[-1]) + 7) // 8, np.uint8)
    owner = np.repeat(users[:-1], np.diff(offsets))
    if ((members <= owner) | (members >= n)).any():
        raise IndexError("A list names users who do not exist, or who come before its own.")
    places = np.repeat(before[:-1], np.diff(offsets)) + members - owner - 1
    np.bitwise_or.at(packed, places >> 3, np.uint8(1) << (places & 7).astype(np.uint8))
    return packed


def list_pulls(
    panels: Words,
    complete: Bits,
    weights: Floats,
    masks: Words,
    start: int,
    offsets: Ints,
    members: npt.NDArray[np.int32],
) -> tuple[Ints, Floats]:
    """For lists of the users numbered ``start`` and on: (lists, planes) and (masks, lists) numbers.

    With c_p(x) how many of a list's rows hold a one of plane p in column x: first Σ of c_p over the list itself, whose
    members come after the user; then the largest |Σ over p of weights[p]·c_p(x)| of all x in the mask and after the
    user. A mask is given in panels, with a row for each list or one for all. ``complete`` planes join everybody to
    everybody, and their panels are not read.
    """
    planes, columns = [rows_of(each) for each in panels], panels.shape[1] * PANEL
    lists = offsets.size - 1
    inside, largest = np.zeros((lists, len(planes)), np.int64), np.zeros((len(masks), lists))
    for i, (first, last) in enumerate(pairwise(offsets.tolist())):
        mine, pulls = members[first:last], np.zeros(columns)
        for p, plane in enumerate(planes):
            if complete[p]:
                counts = np.full(columns, mine.size)
                counts[mine] -= 1
            else:
                counts = unpack_rows(plane[mine], columns).sum(axis=0, dtype=np.int64)
            inside[i, p] = counts[mine].sum()
            pulls += weights[p] * counts
        for c, mask in enumerate(masks):
            row = np.ascontiguousarray(mask[:, min(i, mask.shape[1] - 1)]).reshape(1, -1)
            kept = unpack_rows(row, columns)[0, start + i + 1 :]
            largest[c, i] = np.abs(pulls[start + i + 1 :][kept]).max(initial=0.0)
    return inside, largest


def earlier_sums(panels: Words, wanted: Bits, start: int, stop: int) -> tuple[Ints, Ints]:
    """For each wanted user j from ``start`` to ``stop``: ten sums over later users k; how many earlier ones j has.

    N is how many users before j have ones with both j and k, t how many have one with k. The sums are of N, t, N², Nt
    and t², first over all k, then over those with a one with j. Zeros for users that are not wanted.
    """
    plane, n = rows_of(panels), panels.shape[1] - 1
    columns = plane.shape[1] * 64
    sums, sizes = np.zeros((stop - start, 2, 5), np.int64), np.zeros(stop - start, np.int64)
    for first in range(start, stop, _ROWS):
        rows = np.arange(first, min(first + _ROWS, stop))
        earlier = pack_rows(np.arange(columns) < rows[:, None], columns)
        words = (int(rows[-1]) + 63) // 64
        shared, early = (
            shared_counts(left[:, :words], plane[first:, :words]).astype(np.int64)
            for left in (plane[rows] & earlier, earlier)
        )
        later = (np.arange(first, n) > rows[:, None]) & wanted[rows, None]
        for side, kept in enumerate((later, later & unpack_rows(plane[rows], n, first))):
            of_two = (shared, early, shared * shared, shared * early, early * early)
            sums[rows - start, side] = np.stack([np.where(kept, each, 0).sum(axis=1) for each in of_two], axis=1)
        own = np.bitwise_count(plane[rows] & earlier).sum(axis=1, dtype=np.int64)
        sizes[rows - start] = np.where(wanted[rows], own, 0)
    return sums, sizes
