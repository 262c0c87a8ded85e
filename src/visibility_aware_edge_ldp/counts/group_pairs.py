"""Sums over pairs of nodes behind triangles and 4-cycles, for scores by group; all rows, or a sample.  [KINDS.2-3]"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.compute.reproducible_math import dot, product, weighted
from visibility_aware_edge_ldp.compute.threads import number_of_cores, on_cores
from visibility_aware_edge_ldp.counts import cycles, triangles
from visibility_aware_edge_ldp.counts.group_planes import ScopeScores
from visibility_aware_edge_ldp.counts.node_groups import GroupScores, tickets
from visibility_aware_edge_ldp.counts.scores import Floats, Ints, ScoreFunction, score, spread, square

Step = Callable[[float], None]
# Rows at a time: at most, and at least.
BLOCK, FEWEST = 256, 32
# Rows that are always in a sample: the longest ones, which matter most.
CERTAIN = 128
# Rows of a group at least, where groups differ.
FEW_OF_A_GROUP = 2
NAMES = (*(f"triangles/{name}" for name in triangles.NAMES), *(f"cycles/{name}" for name in cycles.NAMES))
# Triangles want the first three forms; 4-cycles all eight, and the difference of the fourth's two orders.
TRIANGLE_FORMS = 3


@dataclass(frozen=True)
class RowSample:
    """Which nodes' rows are worked through: ``certain`` ones, and ``drawn`` ones that stand for ``population``."""

    certain: Ints
    drawn: Ints
    population: int

    @property
    def weights(self) -> Floats:
        """How many rows each stands for, the certain ones first."""
        each = self.population / len(self.drawn) if len(self.drawn) else 1.0
        return np.concatenate([np.ones(len(self.certain)), np.full(len(self.drawn), each)])


def drawn_rows(scores: GroupScores, size: int, coin: str) -> RowSample | None:
    """``size`` rows: the longest, and of the others a simple random sample by a public coin; None if that is all.

    The coin is text that was public before anybody answered, so that who is drawn does not hang on the answers.
    """
    if size >= scores.n:
        return None
    order = np.argsort(-scores.node_sums(score), kind="stable")
    certain, others = order[: min(CERTAIN, size // 2)], np.sort(order[min(CERTAIN, size // 2) :])
    order = np.argsort(tickets(f"rows of a sample\x1f{coin}", len(others)), kind="stable")
    drawn = np.sort(others[order[: size - len(certain)]])
    return RowSample(certain, drawn, len(others))


def rows_by_group(scores: ScopeScores, size: int, coin: str) -> tuple[Ints, Floats]:
    """About ``size`` nodes and how many rows each stands for: the longest, and some of each group by a public coin.

    A row's part of the variance goes with the square of how many are asked with it, and so does its spread: groups get
    rows in that proportion.  [SCOPE.6]
    """
    if size >= scores.n:
        return np.arange(scores.n), np.ones(scores.n)
    planes = list(scores.by_groups.values())
    groups = planes[0].groups
    order = np.argsort(-scores.node_sums(score), kind="stable")
    certain, others = order[: min(CERTAIN, size // 2)], np.sort(order[min(CERTAIN, size // 2) :])
    asked = np.logical_or.reduce([each.table for each in planes]) @ np.bincount(groups)
    left = np.bincount(groups[others], minlength=asked.size)
    share = left * asked.astype(np.float64) ** 2
    wanted = np.rint((size - certain.size) * share / max(share.sum(), 1.0)).astype(np.int64)
    wanted = np.where(asked > 0, np.minimum(left, np.maximum(wanted, FEW_OF_A_GROUP)), 0)
    mixed = others[np.lexsort((tickets(f"rows of groups\x1f{coin}", others.size), groups[others]))]
    place = np.arange(others.size) - np.repeat(np.cumsum(left) - left, left)
    drawn = mixed[place < wanted[groups[mixed]]]
    weights = (left / np.maximum(wanted, 1))[groups[drawn]]
    return np.concatenate([certain, drawn]), np.concatenate([np.ones(certain.size), weights])


class PairSums(NamedTuple):
    """All sums of ``NAMES`` over pairs, and what is known of the rows that were worked through.

    With a sample, the sums have "cycles/sampling" too: the variance that it adds to the sum of 4-cycles.
    """

    sums: dict[str, float]
    rows: cycles.Rows


def sum_pairs(
    scores: GroupScores, with_cycles: bool, sample: RowSample | None = None, step: Step | None = None
) -> PairSums:
    """Of all pairs, or of those of a sample of rows; ``step`` hears how many more rows are done."""
    work = _PairWork(scores, with_cycles, step)
    if sample is None:
        totals, squares = work.above()
        everybody = cycles.Rows(np.arange(scores.n), np.ones(scores.n), squares[scores.places.slots])
        return PairSums(dict(zip(NAMES, totals.tolist(), strict=True)), everybody)
    nodes = np.concatenate([sample.certain, sample.drawn])
    found = work.whole(nodes)
    rows = cycles.Rows(nodes, sample.weights, found[:, -1])
    found = found[:, :-1] / 2
    sums = dict(zip(NAMES, weighted(sample.weights, found).tolist(), strict=True))
    column = found[len(sample.certain) :, NAMES.index("cycles/count")]
    left_out = 1 - len(column) / sample.population
    sums["cycles/sampling"] = left_out * sample.population**2 * float(column.var(ddof=1)) / len(column)
    return PairSums(sums, rows)


@dataclass(frozen=True, eq=False)
class _PairWork:
    scores: GroupScores
    with_cycles: bool
    step: Step | None = None

    def above(self) -> tuple[Floats, Floats]:
        """The sums, each pair once; and for each slot the squared two-paths to all others."""
        bounds, sizes = self._bounds, self.scores.places.sizes
        blocks = [
            np.arange(first, min(first + BLOCK, bounds[group] + sizes[group]))
            for group in range(len(sizes))
            for first in range(bounds[group], bounds[group] + int(sizes[group]), BLOCK)
        ]
        totals, across = np.zeros(len(NAMES)), np.zeros(self.scores.plane.shape[1])
        for slots, (sums, squares) in zip(blocks, self._on_all_cores(blocks, True), strict=True):
            totals += sums[:, :-1].sum(axis=0)
            across[slots] += sums[:, -1]
            across[slots[0] :] += squares[slots[0] :]
        return totals, across

    def whole(self, nodes: Ints) -> Floats:
        """Eleven sums for each of these nodes with all others."""
        slots = self.scores.places.slots[nodes]
        order = np.argsort(slots)
        groups = np.searchsorted(self._bounds, slots[order], side="right") - 1
        runs = np.split(slots[order], np.flatnonzero(np.diff(groups)) + 1)
        # So many blocks that each core tells a few times how far it is.
        size = min(BLOCK, max(FEWEST, -(-len(nodes) // (4 * number_of_cores()))))
        blocks = [run[first : first + size] for run in runs for first in range(0, len(run), size)]
        sums = np.empty((len(nodes), len(NAMES) + 1))
        sums[order] = np.concatenate([found for found, _ in self._on_all_cores(blocks, False)])
        return sums

    def _on_all_cores(self, blocks: list[Ints], above: bool) -> list[tuple[Floats, Floats]]:
        self._prepare()
        found = []
        for slots, result in zip(blocks, on_cores(lambda slots: self._block(slots, above), blocks), strict=True):
            found.append(result)
            if self.step is not None:
                self.step(len(slots))
        return found

    def _prepare(self) -> None:
        """What all threads share is made before they start."""
        _ = self._columns, self._ends

    @cached_property
    def _bounds(self) -> list[int]:
        bounds: list[int] = (self.scores.places.first_sides * SIDE).tolist()
        return bounds

    @cached_property
    def _ends(self) -> Floats:
        return self._slotted(self.scores.node_sums(score)[:, None])[:, 0]

    @cached_property
    def _degrees(self) -> Floats:
        return self._slotted(self.scores.degrees)

    def _slotted(self, by_node: Floats | Ints) -> Floats:
        by_slot = np.zeros((self.scores.plane.shape[1], by_node.shape[1]))
        by_slot[self.scores.places.slots] = by_node
        return by_slot

    @cached_property
    def _columns(self) -> dict[tuple[int, int], tuple[Floats, Floats, Floats, Floats]]:
        """For each two groups, all that does not hang on the rows."""
        pairs = [(a, b) for a in range(len(self._bounds) - 1) for b in range(len(self._bounds) - 1)]
        return {(a, b): self._terms(a, b) for a, b in pairs}

    def _block(self, slots: Ints, above: bool) -> tuple[Floats, Floats]:
        """Eleven sums for each of these slots, which are all of one group; and the eleventh for each other slot."""
        scores, bounds, sizes = self.scores, self._bounds, self.scores.places.sizes
        group = int(np.searchsorted(bounds, slots[0], side="right")) - 1
        squares = np.zeros(scores.plane.shape[1])
        own = np.stack([scores.affine(score), scores.affine(spread)])
        first_side, parts = int(slots[0]) // SIDE if above else 0, []
        for other in range(group if above else 0, len(sizes)):
            first, last = max(bounds[other], first_side * SIDE), bounds[other] + int(sizes[other])
            begins = slots - first + 1 if above and other == group else np.zeros_like(slots)
            rows, columns, bit, shared = self._columns[group, other]
            parts.append((
                first, rows[:, slots - bounds[group]], columns[:, first - bounds[other] :], bit, shared,
                np.ascontiguousarray(own[:, :, group, other]),
                self._ends[slots], self._ends[first:last], begins, squares[first:last],
            ))  # fmt: skip
        found = backend.kernels("group_sums").block_sums(scores.plane, slots, np.array(scores.sides_of), parts)
        return np.sum(found, axis=0), squares

    def _terms(self, a: int, b: int) -> tuple[Floats, Floats, Floats, Floats]:
        """For all forms: the terms of the rows of group a and of the columns of b, of the bit, and of shared ones."""
        forms, sizes = cycles.FORMS if self.with_cycles else cycles.FORMS[:TRIANGLE_FORMS], self.scores.places.sizes
        both = [(self._one(f, g, a, b), self._one(g, f, a, b)) for f, g in forms]
        halves = [tuple((x + y) / 2 for x, y in zip(*pair, strict=True)) for pair in both]
        if self.with_cycles:
            mixed = both[cycles.FORMS.index((square, spread))]
            halves.append(tuple((x - y) / 2 for x, y in zip(*mixed, strict=True)))
        weights, columns, bit, shared, constant = (np.array(each) for each in zip(*halves, strict=True))
        by_row, by_column = (
            self._degrees[start : start + size] for start, size in ((self._bounds[x], int(sizes[x])) for x in (a, b))
        )
        return product(weights, by_row.T) + constant[:, None], product(columns, by_column.T), bit, shared

    def _one(self, f: ScoreFunction, g: ScoreFunction, a: int, b: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The terms of F[f, g](u, v) for u of group a and v of group b.  [KINDS.2]"""
        (f0, f1), (g0, g1) = self.scores.affine(f), self.scores.affine(g)
        others = self.scores.places.sizes.astype(np.float64)
        others[a] -= 1
        others[b] -= 1
        itself = f1[a, b] * g0[b, b] + f0[a, a] * g1[b, a]
        return f1[a] * g0[b], f0[a] * g1[b], -itself, f1[a] * g1[b], np.asarray(dot(f0[a] * g0[b], others))
