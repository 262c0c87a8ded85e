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
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import Words, pack_rows, row_sums, unpack_rows
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, score, spread

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
    choice.list_counts()  # compiled once, before the threads start
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
        if index == scores.full:
            # Every position but x's own: no counting is needed.
            pulls += weight * (np.diff(offsets)[:, None] - lists)
        elif weight:
            pulls += weight * choice.list_counts()(scores.planes[index], offsets, members, scores.n)
    return pulls


def first_vertex_noise(scores: Scores) -> float:
    """Σ over positions {j, k} of the spread of its score times the squared number of earlier users tied to both.

    An unbiased estimate from the scores alone.  [ROWS.2]
    """
    before = earlier_only(scores)
    starts = range(0, scores.n, BLOCK // 2)
    choice.shared_counts()
    return float(np.sum(_on_all_cores(lambda start: _noise_of(scores, before, start), starts)))


def _noise_of(scores: Scores, before: Words, start: int) -> float:
    stop = min(start + BLOCK // 2, scores.n)
    weights, squares = scores.weights(score), scores.weights(lambda value: value * value)
    paths, squared = np.zeros((2, stop - start, scores.n - start))
    for a in range(len(weights)):
        for b in range(len(weights)):
            shared = joined_before(scores, before, a, b, start, stop)
            paths += weights[a] * weights[b] * shared
            squared += squares[a] * squares[b] * shared
    spreads = _own(scores, start, stop, scores.weights(spread))
    upper = np.arange(scores.n - start)[None, :] > np.arange(stop - start)[:, None]
    return float((upper * spreads * (paths * paths - squared + paths)).sum())


def joined_before(scores: Scores, before: Words, a: int, b: int, start: int, stop: int) -> npt.NDArray[Any]:
    """How many users before both ends join them through planes a and b."""
    if b == scores.full:
        # Everybody before the first end is before the second: its own bits are the answer.
        own = np.arange(start, stop) if a == b else row_sums(before[a, start:stop])
        return np.broadcast_to(own[:, None], (stop - start, scores.n - start))
    words = (stop + 63) // 64  # a row before `stop` holds nothing later
    return choice.shared_counts()(before[a, start:stop, :words], before[b, start:, :words])


def _own(scores: Scores, start: int, stop: int, weights: Floats) -> Floats:
    """A function of the pairs' own scores, for users ``start`` to ``stop`` and those from ``start`` on."""
    total = np.zeros((stop - start, scores.n - start))
    for weight, plane in zip(weights.tolist(), scores.planes, strict=True):
        total += weight * unpack_rows(plane[start:stop], scores.n, start)
    return total


def earlier_only(scores: Scores) -> Words:
    """The planes with, in each user's row, the bits of earlier users alone."""
    kept = scores.planes.copy()
    for first in range(0, scores.n, 1024):
        rows = np.arange(first, min(first + 1024, scores.n))
        kept[:, rows] &= pack_rows(np.arange(scores.n)[None, :] < rows[:, None], scores.n)
    return kept
