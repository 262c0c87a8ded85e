"""Sums over rows: every triangle counted once, by its first vertex.  [ROWS.1-2]

User i's *row* is its positions with later users, and its list the later users it has an edge to. With
D_i(x) = Σ over k in i's list of ê_kx, the triangles that i is the first vertex of are ½ Σ over x in i's list
of D_i(x), and an edge more or less at x changes them by D_i(x).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import pack_rows, row_sums, unpack_rows
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, score, spread, square

Integers = npt.NDArray[np.int64]
Members = npt.NDArray[np.int32]
Bits = npt.NDArray[np.bool_]
Result = TypeVar("Result")
Pulls = Callable[[Scores, int, Integers, Members, Bits], Floats]
# Users at a time, so that a block's arrays stay small.
BLOCK = 128


@dataclass(frozen=True, eq=False)
class RowBlock:
    """The lists of some consecutive users, and D_i(x) for each of them and every x."""

    start: int
    lists: Bits = field(repr=False)
    pulls: Floats = field(repr=False)

    @property
    def users(self) -> Integers:
        return np.arange(self.start, self.start + len(self.pulls))

    @property
    def totals(self) -> Floats:
        """Of each user, the scores of the triangles that it is the first vertex of, or of what else pulls count."""
        sums: Floats = np.where(self.lists, self.pulls, 0.0).sum(axis=1) / 2
        return sums


def later(start: int, offsets: Integers, neighbours: Members) -> tuple[Integers, Members]:
    """Each user's list without the users before it."""
    owner = np.repeat(np.arange(start, start + offsets.size - 1), np.diff(offsets))
    kept = neighbours > owner
    counts = np.bincount(owner[kept] - start, minlength=offsets.size - 1)
    return np.concatenate([[0], np.cumsum(counts)]), neighbours[kept]


def over_rows(
    scores: Scores,
    start: int,
    offsets: Integers,
    members: Members,
    work: Callable[[RowBlock], Result],
    pulls: Pulls | None = None,
) -> list[Result]:
    """Work through the users' rows, a block at a time, on all cores; ``pulls`` are those of triangles unless given."""
    choice.add_list_counts()  # chosen once, before the threads start
    firsts = range(0, offsets.size - 1, BLOCK)

    def one(first: int) -> Result:
        cut = offsets[first : first + BLOCK + 1]
        inside = cut - cut[0], members[cut[0] : cut[-1]]
        lists = _as_bits(*inside, scores.n)
        return work(RowBlock(start + first, lists, (pulls or triangle_pulls)(scores, start + first, *inside, lists)))

    return _on_all_cores(one, firsts)


def _on_all_cores(work: Callable[[int], Result], starts: range) -> list[Result]:
    """One result a block; a single user, or a few, are done before a thread would have started."""
    if len(starts) <= 2:
        return [work(start) for start in starts]
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(starts))) as pool:
        return list(pool.map(work, starts))


def _as_bits(offsets: Integers, members: Members, n: int) -> Bits:
    lists = np.zeros((offsets.size - 1, n), dtype=np.bool_)
    lists[np.repeat(np.arange(offsets.size - 1), np.diff(offsets)), members] = True
    return lists


def triangle_pulls(scores: Scores, start: int, offsets: Integers, members: Members, lists: Bits) -> Floats:
    """D_i(x) = Σ over k in i's list of ê_kx, for a block of users."""
    pulls = np.zeros(lists.shape)
    for index, weight in enumerate(scores.weights(score).tolist()):
        if index in scores.complete:
            # Each of them that is in the list, but not x itself: no counting is needed.
            nodes = scores.complete[index]
            inside = lists & nodes
            # Integers before the weight: the pull at x is the same number whether or not x is in the list.
            pulls += weight * np.where(nodes, inside.sum(axis=1, dtype=np.int32)[:, None] - inside, np.int32(0))
        elif weight:
            choice.add_list_counts()(scores.planes[index], weight, offsets, members, pulls)
    return pulls


def triangle_total(scores: Scores, offsets: Integers, members: Members) -> float:
    """The sum of all users' totals, without their pulls."""
    weights = scores.weights(score).tolist()
    ones = (choice.list_total()(plane, offsets, members) for plane in scores.planes)
    return float(sum(weight * one for weight, one in zip(weights, ones, strict=True)) / 2)


def first_vertex_noise(scores: Scores) -> float:
    """Σ over positions {j, k} of the spread of its score times the squared number of earlier users tied to both.

    An unbiased estimate from the scores alone. Users without a spread score have no part in it.  [ROWS.2]
    """
    noisy = scores.weights(spread) != 0
    earlier = Earlier(scores, np.flatnonzero((scores.plane_degrees[noisy] > 0).any(axis=0)))
    choice.shared_counts()
    return float(np.sum(_on_all_cores(partial(_noise_of, earlier), range(0, earlier.users.size, BLOCK // 2))))


def _noise_of(earlier: Earlier, start: int) -> float:
    scores, stop = earlier.scores, start + BLOCK // 2
    pairs = list(product(range(len(scores.planes)), repeat=2))
    counts = np.stack([earlier.joining(a, b, start, stop) for a, b in pairs])
    forms = np.zeros((3, len(pairs)))
    forms[:2] = [np.outer(scores.weights(each), scores.weights(each)).ravel() for each in (score, square)]
    own = np.stack([np.zeros(len(scores.planes)), scores.weights(spread)])
    bits = np.stack([earlier.bits(plane, start, stop) for plane in range(len(scores.planes))])
    ends = np.zeros(counts.shape[2])
    return float(choice.pair_kernels().triangle_sums(counts, forms, bits, own, ends)[1])


class Earlier:
    """For some users, in their order: by how many users before both are two of them joined?"""

    def __init__(self, scores: Scores, users: Integers) -> None:
        self.scores, self.users = scores, users
        self.planes = scores.planes if users.size == scores.n else scores.planes[:, users]
        self.before = self.planes.copy()
        for first in range(0, users.size, 1024):
            rows = users[first : first + 1024]
            self.before[:, first : first + 1024] &= pack_rows(np.arange(scores.n) < rows[:, None], scores.n)

    def bits(self, plane: int, start: int, stop: int) -> Bits:
        """Which of users ``start`` to ``stop`` are in a plane with those from ``start`` on."""
        rows = unpack_rows(self.planes[plane, start:stop], self.scores.n)
        return rows[:, start:] if self.users.size == self.scores.n else rows[:, self.users[start:]]

    def joining(self, a: int, b: int, start: int, stop: int) -> npt.NDArray[np.int32]:
        """How many earlier users join each two of those through planes a and b; complete planes need no counting."""
        complete = self.scores.complete
        if b in complete:
            # Everybody before the first is before the second: its own bits are the answer.
            own = row_sums(self.before[a, start:stop] & pack_rows(complete[b][None], self.scores.n))
            return np.where(complete[b][self.users[start:]], own.astype(np.int32)[:, None], np.int32(0))
        if a in complete:
            return self._through_complete(complete[a], b, start, stop)
        words = (int(self.users[start:stop][-1]) + 63) // 64  # a row before `stop` holds nothing later
        return choice.shared_counts()(self.before[a, start:stop, :words], self.before[b, start:, :words])

    def _through_complete(self, nodes: Bits, b: int, start: int, stop: int) -> npt.NDArray[np.int32]:
        """For u of these nodes and each v: how many of the nodes before u are joined to v; in steps from u to u."""
        rows = self.users[start:stop]
        known = nodes & (np.arange(self.scores.n) < rows[0])
        base = row_sums(self.planes[b, start:] & pack_rows(known[None], self.scores.n)).astype(np.int32)
        between = np.flatnonzero(nodes[rows[0] : rows[-1]]) + rows[0]
        passed = unpack_rows(self.scores.planes[b, between], self.scores.n)[:, self.users[start:]]
        sums = np.concatenate([base[None], base + np.cumsum(passed, axis=0, dtype=np.int32)])
        found: npt.NDArray[np.int32] = sums[np.searchsorted(between, rows)]
        found[~nodes[rows]] = 0
        return found
