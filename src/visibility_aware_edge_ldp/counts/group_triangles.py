"""Triangles of scores by group, from integers that blocks of slots have; all of them, or a sample.  [KINDS.4-5]"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.engines import Engine, Task, on_threads
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.counts.node_groups import GroupScores, tickets
from visibility_aware_edge_ldp.counts.scores import Floats, Ints, score

# At most so many blocks: their triples are enough to draw from, and a table of all of them is small.
MOST_BLOCKS = 48


class Total(NamedTuple):
    """A sum of scored triangles, and the variance that a sample of it adds."""

    value: float
    sampling: float = 0.0


@dataclass(frozen=True, eq=False)
class Blocks:
    """Runs of sides, each of one group: block i has the sides from ``bounds[i]`` to ``bounds[i + 1]``."""

    scores: GroupScores
    bounds: Ints

    @cached_property
    def groups(self) -> Ints:
        return self.scores.places.side_groups[self.bounds[:-1]]

    @cached_property
    def sizes(self) -> Floats:
        """How many nodes stand in each block."""
        return np.add.reduceat(self.scores.places.side_sizes, self.bounds[:-1]).astype(np.float64)

    @cached_property
    def paths(self) -> Floats:
        """(blocks, blocks, blocks): Σ over nodes of the first of their ones in the second times those in the third."""
        found = np.zeros((len(self.groups),) * 3)
        for block, (first, last) in enumerate(zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)):
            ones = self._degrees[first * SIDE : last * SIDE].astype(np.float64)
            found[block] = ones.T @ ones  # whole numbers below 2^53, so exact
        return found

    @cached_property
    def ones(self) -> Floats:
        """(blocks, blocks): the ones between two blocks, those within one counted from both ends."""
        return np.add.reduceat(self._degrees, self.bounds[:-1] * SIDE, axis=0, dtype=np.int64).astype(np.float64)

    @cached_property
    def _degrees(self) -> npt.NDArray[np.int32]:
        """(slots, blocks): how many ones each slot has with each block."""
        found: npt.NDArray[np.int32] = np.add.reduceat(self.scores.side_degrees, self.bounds[:-1], axis=1)
        return found

    def scored(self, triples: Ints, counts: Ints) -> Floats:
        """Σ of the product of three scores over all three nodes in each triple of blocks i ≤ j ≤ k.  [KINDS.4]

        ``counts`` are the triangles of ones. Every sum below runs over ordered nodes, one in each block, all different.
        """
        i, j, k = triples.T
        same_ij, same_jk, same_ik = (i == j).astype(float), (j == k).astype(float), (i == k).astype(float)
        orders = np.array([1.0, 2.0, 0.0, 6.0])[(same_ij + same_jk + same_ik).astype(int)]
        low, more = self.scores.affine(score)
        (l_ij, l_jk, l_ik), (m_ij, m_jk, m_ik) = (
            [part[self.groups[x], self.groups[y]] for x, y in ((i, j), (j, k), (i, k))] for part in (low, more)
        )
        left_k = self.sizes[k] - same_ik - same_jk
        left_i, left_j = self.sizes[i] - same_ij - same_ik, self.sizes[j] - same_ij - same_jk
        none = self.sizes[i] * (self.sizes[j] - same_ij) * left_k
        one = [self.ones[i, j] * left_k, self.ones[j, k] * left_i, self.ones[i, k] * left_j]
        at_j = self.paths[j, i, k] - same_ik * self.ones[j, i]
        at_i = self.paths[i, j, k] - same_jk * self.ones[i, j]
        at_k = self.paths[k, i, j] - same_ij * self.ones[k, i]
        total = l_ij * l_jk * l_ik * none
        total += m_ij * l_jk * l_ik * one[0] + l_ij * m_jk * l_ik * one[1] + l_ij * l_jk * m_ik * one[2]
        total += m_ij * m_jk * l_ik * at_j + m_ij * l_jk * m_ik * at_i + l_ij * m_jk * m_ik * at_k
        result: Floats = total / orders + m_ij * m_jk * m_ik * counts
        return result


def triangle_total(scores: GroupScores, engine: Engine = on_threads) -> Total:
    """All triangles."""
    sides, groups = scores.places.sides, scores.places.side_groups
    bounds = scores.places.first_sides
    tasks = [
        Task(0, j + 1, (j, j + 1), (max(j, int(bounds[b])), int(bounds[b + 1])))
        for j in sorted(range(sides), key=lambda j: -(j + 1) * (sides - j))
        for b in range(int(groups[j]), len(bounds) - 1)
    ]
    counts = np.zeros((len(bounds) - 1,) * 3, np.int64)
    for task, found in engine(scores.tiles, tasks):
        by_group = np.bincount(groups[: task.last], weights=found, minlength=len(bounds) - 1)
        counts[:, groups[task.middle[0]], groups[task.end[0]]] += by_group.astype(np.int64)
    triples = np.array(list(combinations_with_replacement(range(len(bounds) - 1), 3)))
    return Total(float(Blocks(scores, bounds).scored(triples, counts[*triples.T]).sum()))


def sampled_total(scores: GroupScores, share: float, coin: str, engine: Engine = on_threads) -> Total:
    """From a sample of the triples of blocks, drawn by a public coin.  [KINDS.5]

    Nodes are shuffled within their groups first, so that a block has no more triangles than another of its groups.
    """
    shuffled = scores.shuffled(f"slots\x1f{coin}")
    blocks = Blocks(shuffled, _cut(shuffled, MOST_BLOCKS))
    triples = np.array(list(combinations_with_replacement(range(len(blocks.groups)), 3)))
    strata = _strata(blocks, triples)
    drawn = [_drawn(len(stratum), share, f"triples {i}\x1f{coin}") for i, stratum in enumerate(strata)]
    chosen = np.concatenate([stratum[places] for stratum, places in zip(strata, drawn, strict=True)])
    places = {_task(blocks, triple): place for place, triple in enumerate(triples[chosen].tolist())}
    counts = np.zeros(len(chosen), np.int64)
    for task, found in engine(shuffled.tiles, sorted(places, key=lambda task: -task.last)):
        counts[places[task]] = found.sum()
    each = np.split(blocks.scored(triples[chosen], counts), np.cumsum([len(part) for part in drawn])[:-1])
    parts = [_expanded(len(stratum), part) for stratum, part in zip(strata, each, strict=True)]
    return Total(sum(part.value for part in parts), sum(part.sampling for part in parts))


def _expanded(size: int, drawn: Floats) -> Total:
    """The sum of all of a stratum of this size from a simple random sample, and what that adds to its variance."""
    scale = size / len(drawn)
    spread = float(drawn.var(ddof=1)) if len(drawn) > 1 else 0.0
    return Total(float(drawn.sum()) * scale, (scale - 1) * size * spread)


def _drawn(size: int, share: float, coin: str) -> Ints:
    """Places of a simple random sample: the share of all, but at least two, or all where there are no more."""
    return np.sort(np.argsort(tickets(coin, size), kind="stable")[: min(size, max(2, round(share * size)))])


def _strata(blocks: Blocks, triples: Ints) -> list[Ints]:
    """Triples that are alike: of the same three groups, and with the same blocks being one."""
    i, j, k = triples.T
    keys = np.column_stack([blocks.groups[triples], i == j, j == k])
    _, labels = np.unique(keys, axis=0, return_inverse=True)
    return [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]


def _task(blocks: Blocks, triple: list[int]) -> Task:
    (first, last), middle, end = ((int(blocks.bounds[b]), int(blocks.bounds[b + 1])) for b in triple)
    return Task(first, last, middle, end)


def _cut(scores: GroupScores, most: int) -> Ints:
    """Bounds of about ``most`` blocks of about equal numbers of sides, none of two groups."""
    places = scores.places
    length = max(1, -(-places.sides // most))
    parts = [
        np.linspace(first, last, max(1, round((last - first) / length)), endpoint=False).round().astype(np.int64)
        for first, last in scores.sides_of
    ]
    return np.concatenate([*parts, [places.sides]])
