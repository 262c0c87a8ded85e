"""Sums over rows: every triangle counted once, by its first vertex.  [ROWS.1]

User i's *row* is its positions with later users, and its list the later users it has an edge to. With
D_i(x) = Σ over k in i's list of ê_kx, the triangles that i is the first vertex of are ½ Σ over x in i's list
of D_i(x), and an edge more or less at x changes them by D_i(x).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain import bitset
from visibility_aware_edge_ldp.compute.plain.bitset import Words
from visibility_aware_edge_ldp.compute.plain.rows import panels_of
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.counts.scores import Floats, Octets, Scores, complete_among, score, scores_of

Integers = npt.NDArray[np.int64]
Members = npt.NDArray[np.int32]
Bits = npt.NDArray[np.bool_]
Result = TypeVar("Result")
Step = Callable[[float], None]
Pulls = Callable[[Scores, int, Integers, Members, Bits], Floats]
# Users at a time, so that a block's arrays stay small.
BLOCK = 128
LISTS = 512


@dataclass(frozen=True, eq=False)
class RowBlock:
    """The lists of some users, consecutive unless they are named, and D_i(x) for each of them and every x."""

    start: int
    lists: Bits = field(repr=False)
    pulls: Floats = field(repr=False)
    named: Integers | None = None

    @property
    def users(self) -> Integers:
        return np.arange(self.start, self.start + len(self.pulls)) if self.named is None else self.named

    @property
    def totals(self) -> Floats:
        """Of each user, the scores of the triangles that it is the first vertex of, or of what else pulls count."""
        sums: Floats = np.where(self.lists, self.pulls, 0.0).sum(axis=1) / 2
        return sums


def later(start: int, offsets: Integers, neighbours: Members) -> tuple[Integers, Members]:
    """Each user's list without the users before it."""
    found: tuple[Integers, Members] = backend.kernels("rows").later(start, offsets, neighbours)
    return found


def over_rows(
    scores: Scores,
    start: int,
    offsets: Integers,
    members: Members,
    work: Callable[[RowBlock], Result],
    pulls: Pulls | None = None,
) -> list[Result]:
    """Work through the users' rows, a block at a time, on all cores; ``pulls`` are those of triangles unless given."""
    firsts = range(0, offsets.size - 1, BLOCK)

    def one(first: int) -> Result:
        cut = offsets[first : first + BLOCK + 1]
        inside = cut - cut[0], members[cut[0] : cut[-1]]
        lists = lists_as_bits(*inside, scores.n)
        return work(RowBlock(start + first, lists, (pulls or triangle_pulls)(scores, start + first, *inside, lists)))

    return on_all_cores(one, firsts)


def on_all_cores(work: Callable[[int], Result], starts: range, step: Step | None = None) -> list[Result]:
    """One result a block; a single user, or a few, are done before a thread would have started.

    ``step`` hears of every block that is done.
    """
    found = []
    for result in map(work, starts) if len(starts) <= 2 else on_cores(work, starts):
        found.append(result)
        if step is not None:
            step(1.0)
    return found


def lists_as_bits(offsets: Integers, members: Members, n: int) -> Bits:
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
            backend.kernels("bitset").add_list_counts(scores.planes[index], weight, offsets, members, pulls)
    return pulls


def triangle_total(scores: Scores, offsets: Integers, members: Members) -> float:
    """The sum of all users' totals, without their pulls."""
    weights = scores.weights(score).tolist()
    ones = (backend.kernels("bitset").list_total(plane, offsets, members) for plane in scores.planes)
    return float(sum(weight * one for weight, one in zip(weights, ones, strict=True)) / 2)


def scores_of_rows(groups: list[tuple[list[Octets], list[float]]], n: int) -> Scores:
    """As ``scores_of``; a class that every position has answered for is known without looking at each."""
    flats = [flat for bits, _ in groups for flat in bits]
    everybody = n > 1 and all(_all_ones(flat, n) for flat in flats[:1])
    if len(flats) != 2 or not everybody:
        return scores_of(groups, n)
    planes = np.empty((2, n, bitset.word_count(n)), np.uint64)
    planes[0] = bitset.pack_rows(np.ones((1, n), np.bool_), n)
    users = np.arange(n)
    planes[0, users, users >> 6] ^= np.uint64(1) << (users & 63).astype(np.uint64)
    planes[1] = backend.plane_of(flats[1], n)
    complete = {0: np.ones(n, np.bool_)}
    if _may_be_complete(flats[1]):
        complete |= {1 + i: nodes for i, nodes in complete_among(planes[1:]).items()}
    return Scores(n, planes, np.array(groups[0][1]), np.tri(2, dtype=np.bool_), complete)


def _may_be_complete(flat: Octets) -> bool:
    """Whether there are as many ones as some number of users have pairs."""
    twice = 2 * int(backend.kernels("response").ones_in(flat))
    users = (1 + math.isqrt(1 + 4 * twice)) // 2
    return users * (users - 1) == twice


def _all_ones(flat: Octets, n: int) -> bool:
    return int(backend.kernels("response").ones_in(flat)) == n * (n - 1) // 2


def triangle_reaches(
    scores: Scores, panels: Words, masks: Words, start: int, offsets: Integers, members: Members
) -> tuple[Floats, Floats]:
    """For each user: the largest |D_i(x)| over the later x of each mask, a row a mask; and its total.

    The numbers that ``over_rows`` would find, without keeping D_i(x). ``panels`` are those of the scores; a mask is
    packed, a row for each user or one for all.
    """
    weights, kernel = scores.weights(score), backend.kernels("rows").list_pulls
    complete = scores.joins_all
    wanted = np.zeros((len(masks), panels.shape[1], masks.shape[1], panels.shape[3]), np.uint64)
    for panel, mask in zip(wanted, masks, strict=True):
        panel[:] = panels_of(mask)[:, :-1]

    def one(first: int) -> tuple[Integers, Floats]:
        cut = offsets[first : first + LISTS + 1]
        mine = wanted[:, :, first : first + LISTS] if masks.shape[1] > 1 else wanted
        inside = members[cut[0] : cut[-1]]
        found: tuple[Integers, Floats]
        found = kernel(panels, complete, weights, np.ascontiguousarray(mine), start + first, cut - cut[0], inside)
        return found

    parts = on_all_cores(one, range(0, offsets.size - 1, LISTS))
    # Whole counts before the weights: a sum of few products, in one order, however long the lists and however many.
    totals = np.zeros(offsets.size - 1)
    for weight, inside in zip(weights, np.concatenate([part[0] for part in parts]).T, strict=True):
        totals += weight * inside
    return np.concatenate([part[1] for part in parts], axis=1), totals / 2


class Earlier:
    """For some users, in their order: by how many users before both are two of them joined?"""

    def __init__(self, scores: Scores, users: Integers) -> None:
        self.scores, self.users = scores, users
        self.planes = scores.planes if users.size == scores.n else scores.planes[:, users]
        self.before = self.planes.copy()
        for first in range(0, users.size, 1024):
            rows = users[first : first + 1024]
            self.before[:, first : first + 1024] &= bitset.pack_rows(np.arange(scores.n) < rows[:, None], scores.n)

    def bits(self, plane: int, start: int, stop: int) -> Bits:
        """Which of users ``start`` to ``stop`` are in a plane with those from ``start`` on."""
        rows = bitset.unpack_rows(self.planes[plane, start:stop], self.scores.n)
        return rows[:, start:] if self.users.size == self.scores.n else rows[:, self.users[start:]]

    def joining(self, a: int, b: int, start: int, stop: int, kept: Integers | None = None) -> npt.NDArray[np.int32]:
        """How many earlier users join each of those with everybody from ``start`` on, or those in the places ``kept``.

        Through planes a and b; complete planes need no counting.
        """
        complete, chosen = self.scores.complete, slice(None) if kept is None else kept
        if b in complete:
            # Everybody before the first is before the second: its own bits are the answer.
            own = bitset.row_sums(self.before[a, start:stop] & bitset.pack_rows(complete[b][None], self.scores.n))
            return np.where(complete[b][self.users[start:][chosen]], own.astype(np.int32)[:, None], np.int32(0))
        if a in complete:
            return self._through_complete(complete[a], b, start, stop)[:, chosen]
        words = (int(self.users[start:stop][-1]) + 63) // 64  # a row before `stop` holds nothing later
        near, far = self.before[a, start:stop, :words], self.before[b, start:, :words]
        held = np.flatnonzero(np.bitwise_or.reduce(near, axis=0))
        if 2 * held.size < words:  # most words are empty, as inside a scope
            near, far = near[:, held], far[:, held]
        return backend.shared_counts(near, far[chosen])

    def _through_complete(self, nodes: Bits, b: int, start: int, stop: int) -> npt.NDArray[np.int32]:
        """For u of these nodes and each v: how many of the nodes before u are joined to v; in steps from u to u."""
        rows = self.users[start:stop]
        known = nodes & (np.arange(self.scores.n) < rows[0])
        base = bitset.row_sums(self.planes[b, start:] & bitset.pack_rows(known[None], self.scores.n)).astype(np.int32)
        between = np.flatnonzero(nodes[rows[0] : rows[-1]]) + rows[0]
        passed = bitset.unpack_rows(self.scores.planes[b, between], self.scores.n)[:, self.users[start:]]
        sums = np.concatenate([base[None], base + np.cumsum(passed, axis=0, dtype=np.int32)])
        found: npt.NDArray[np.int32] = sums[np.searchsorted(between, rows)]
        found[~nodes[rows]] = 0
        return found


def block_reaches(masks: Words, start: int, block: RowBlock) -> tuple[Floats, Floats]:
    """As ``triangle_reaches``, from pulls that are known."""
    rows = np.minimum(block.users - start, masks.shape[1] - 1)
    later = np.arange(block.pulls.shape[1]) > block.users[:, None]
    largest = np.zeros((len(masks), len(rows)))
    for found, mask in zip(largest, masks, strict=True):
        inside = bitset.unpack_rows(mask[rows], later.shape[1]) & later
        found[:] = np.where(inside, np.abs(block.pulls), 0.0).max(axis=1)
    return largest, block.totals
