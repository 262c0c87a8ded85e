"""A graph as lists of friends, and sums over them for many nodes at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.truth.graph import Graph

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Links:
    """Each node's list, one after another; lists may be one-sided."""

    starts: Ints = field(repr=False)
    targets: npt.NDArray[np.int32] = field(repr=False)

    @property
    def n(self) -> int:
        return self.starts.size - 1

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @cached_property
    def earlier(self) -> Links:
        """The friends with smaller numbers."""
        return self._kept(self.targets < np.repeat(np.arange(self.n), self.lengths))

    @cached_property
    def later(self) -> Links:
        """The friends with larger numbers."""
        return self._kept(self.targets > np.repeat(np.arange(self.n), self.lengths))

    def _kept(self, mask: npt.NDArray[np.bool_]) -> Links:
        owner = np.repeat(np.arange(self.n), self.lengths)
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner[mask], minlength=self.n))])
        return Links(starts, self.targets[mask])

    def columns(self, nodes: Ints) -> Rows:
        """(n, nodes): 1 where a node of the column has the row in its list."""
        column, member = self._entries(nodes)
        result = np.zeros((self.n, nodes.size), np.float32)
        result[member, column] = 1
        return result

    def paths(self, nodes: Ints, second: Links) -> Rows:
        """(n, nodes): in how many ways a row is reached by a step of these lists and one of ``second``."""
        column, middle = self._entries(nodes)
        step, end = second._entries(middle)
        counts = np.bincount(end.astype(np.int64) * nodes.size + column[step], minlength=self.n * nodes.size)
        return counts.reshape(self.n, nodes.size).astype(np.float32)

    def times(self, columns: Rows) -> Rows:
        """For each node, the sum over its list of the rows of ``columns``."""
        return choice.list_sums()(columns, self.starts, self.targets).astype(np.float32)

    def _entries(self, nodes: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> tuple[Ints, npt.NDArray[np.int32]]:
        """The lists of these nodes laid end to end: whose entry, and who."""
        lengths = self.lengths[nodes]
        whose = np.repeat(np.arange(nodes.size), lengths)
        steps = np.arange(whose.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return whose, self.targets[self.starts[nodes][whose] + steps]


def links_of(graph: Graph) -> Links:
    """All friends of every node."""
    return Links(*graph.neighbours)
