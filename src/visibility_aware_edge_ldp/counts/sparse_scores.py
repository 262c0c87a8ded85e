"""Scores of few positions among many: lists of those whose score is not 0.  [SAMPLE.5]"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.reproducible_math import dot, weighted
from visibility_aware_edge_ldp.counts import triangles
from visibility_aware_edge_ldp.counts.scores import Floats, ScoreFunction, score, spread

Ints = npt.NDArray[np.int64]
# Listed positions looked at in one go.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class ListedScores:
    """Scores of all positions of n nodes; those that are not listed are 0.

    Parameters
    ----------
    starts, targets
        The later ends of node u's listed positions are ``targets[starts[u]:starts[u + 1]]``, sorted.
    symbols
        For each listed position, which of ``values`` is its score.
    """

    starts: Ints = field(repr=False)
    targets: npt.NDArray[np.int32] = field(repr=False)
    symbols: npt.NDArray[np.uint8] = field(repr=False)
    values: Floats

    @property
    def n(self) -> int:
        return self.starts.size - 1

    @cached_property
    def symbol_counts(self) -> Floats:
        """(values, n): how many positions of each node have each score."""
        counts = np.zeros(self.values.size * self.n)
        for rows, part in self._blocks():
            shift = self.symbols[part].astype(np.int64) * self.n
            for nodes in (rows, self.targets[part]):
                counts += np.bincount(shift + nodes, minlength=counts.size)
        return counts.reshape(self.values.size, self.n)

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum of a function of the score over its positions."""
        return weighted(function(self.values), self.symbol_counts)

    def counts_between(self, members: Ints, groups: int) -> Floats:
        """(values, groups, groups): positions with each score that members of one group have with those of another."""
        counts = np.zeros(self.values.size * groups**2)
        for rows, part in self._blocks():
            pairs = members[rows] * groups + members[self.targets[part]]
            counts += np.bincount(self.symbols[part].astype(np.int64) * groups**2 + pairs, minlength=counts.size)
        found = counts.reshape(self.values.size, groups, groups)
        return np.asarray(found + found.transpose(0, 2, 1))

    def symbol_form(self, symbol: int, vector: Floats) -> float:
        """Σ over positions {u, v} with this score of vector_u · vector_v."""
        total = 0.0
        for rows, part in self._blocks():
            held = self.symbols[part] == symbol
            total += dot(vector[rows[held]], vector[self.targets[part][held]])
        return total

    def triangle_sums(self) -> dict[str, float]:
        """The sums that triangles and transitivity need.  [COUNTS.4-5], [SAMPLE.5]"""
        own = score(self.values), spread(self.values)
        found, paths = backend.kernels("common_neighbours").listed_triangle_sums(
            self.starts, self.targets, self.symbols, *own, self.node_sums(score)
        )
        squares = sum(
            dot(own[1][self.symbols[at : at + _BLOCK]], paths[at : at + _BLOCK] ** 2)
            for at in range(0, paths.size, _BLOCK)
        )
        count, less, two, with_stars, three = found.tolist()
        return dict(zip(triangles.NAMES, (3 * count, squares + less, two, 3 * three, with_stars), strict=True))

    def _blocks(self) -> Iterator[tuple[Ints, slice]]:
        """Some rows at a time: the earlier end of each of their listed positions, and where these are."""
        first = 0
        while first < self.n:
            last = int(np.searchsorted(self.starts, self.starts[first] + _BLOCK, side="right")) - 1
            last = min(max(last, first + 1), self.n)
            lengths = np.diff(self.starts[first : last + 1])
            yield np.repeat(np.arange(first, last), lengths), slice(int(self.starts[first]), int(self.starts[last]))
            first = last
