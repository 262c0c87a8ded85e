"""A simple undirected graph with the user's own node names.

The same graph is the same value whichever way it came in and in whatever order its rows stood:
nodes whose names can be sorted are sorted, edges always are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.groups import Groups

Edges = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Respondents:
    """Those of a roster who were drawn for a survey: whom each of them named, and what each stands for. Private.

    Parameters
    ----------
    offsets, friends
        Everybody's list one after the other: node i named ``friends[offsets[i]:offsets[i + 1]]``, sorted.
    weights
        What each node stands for; 0 for those who were not drawn.
    scaled
        Whether weights are scaled so that they add up to the roster; else each is one over the chance of being drawn.
    """

    offsets: npt.NDArray[np.int64] = field(repr=False)
    friends: npt.NDArray[np.int32] = field(repr=False)
    weights: npt.NDArray[np.float64] = field(repr=False)
    scaled: bool = True

    @property
    def drawn(self) -> npt.NDArray[np.bool_]:
        """Who was drawn."""
        return self.weights > 0


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Undirected, no self-loops, no duplicates.

    Parameters
    ----------
    names
        The user's node names; node i of every array is ``names[i]``.
    edges
        An (m, 2) array of node indices, u < v in each row, rows sorted.
    notes
        What was changed on the way in ("3 self-loops were left out"), one sentence each.
    assumptions
        What must be public knowledge because this choice of nodes looked at edges.
    groups
        Which public group every node is in, where there are groups.
    people
        Where every edge joins a person to a place: how many of the nodes, the first ones, are people.
    sample
        Where only some were drawn and asked, and have survey weights: their own lists, which alone are counted.
    """

    names: Sequence[Hashable]
    edges: Edges = field(repr=False)
    notes: tuple[str, ...] = ()
    source: str = "a graph"
    assumptions: tuple[str, ...] = ()
    groups: Groups | None = None
    people: int | None = None
    sample: Respondents | None = None

    def __post_init__(self) -> None:
        edges = self.edges
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise BadGraph(f"Edges must be an (m, 2) array; this one has shape {edges.shape}.")
        if len(edges) and not (edges[:, 0] < edges[:, 1]).all():
            raise BadGraph("Edges must be rows u < v of node indices; use read_graph to clean a list.")
        if len(edges) and (edges.min() < 0 or edges.max() >= len(self.names)):
            raise BadGraph(f"Edges name nodes outside 0..{len(self.names) - 1}.")
        if self.groups is not None and self.groups.members.size != len(self.names):
            raise BadGraph(f"The groups are of {self.groups.members.size:,} nodes; the graph has {len(self.names):,}.")
        if self.people is not None and not 0 < self.people < len(self.names):
            raise BadGraph("People and places need at least one of each.")
        if self.people is not None and ((edges[:, 0] >= self.people) | (edges[:, 1] < self.people)).any():
            raise BadGraph("Of people and places, every edge joins a person to a place; people stand first.")
        edges.setflags(write=False)

    @property
    def n(self) -> int:
        """How many nodes."""
        return len(self.names)

    @property
    def m(self) -> int:
        """How many edges."""
        return len(self.edges)

    def __len__(self) -> int:
        return self.n

    def number_of_nodes(self) -> int:
        """As in NetworkX."""
        return self.n

    def number_of_edges(self) -> int:
        """As in NetworkX."""
        return self.m

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """Degree of each node."""
        return np.bincount(self.edges.ravel(), minlength=self.n)

    @cached_property
    def neighbours(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Compressed rows: node i's neighbours are ``targets[starts[i]:starts[i + 1]]``, sorted."""
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.lexsort((both[:, 1], both[:, 0]))
        starts = np.concatenate([[0], np.cumsum(self.degrees)])
        return starts, both[order, 1]

    def induced(self, nodes: npt.ArrayLike, source: str | None = None) -> Graph:
        """The subgraph on these node indices, in the given order."""
        if self.sample is not None:
            raise BadGraph("Survey weights are about the whole roster, not a part of it; leave the weights out.")
        chosen = np.asarray(nodes, dtype=np.int64)
        place = np.full(self.n, -1, dtype=np.int32)
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        rows = place[self.edges]
        rows = np.sort(rows[(rows >= 0).all(axis=1)], axis=1)
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        groups, shown = self.groups and self.groups.of(chosen), source or f"{len(chosen)} nodes of {self.source}"
        people = None if self.people is None else int((chosen < self.people).sum())
        return Graph([self.names[i] for i in chosen], rows, source=shown, groups=groups, people=people)

    def highest_degree(self, count: int) -> Graph:
        """The subgraph on the ``count`` nodes of highest degree; ties by position. An oracle: it looks at the edges."""
        order = np.argsort(-self.degrees, kind="stable")[:count]
        chosen = self.induced(np.sort(order), f"the {count} highest-degree nodes of {self.source}")
        return replace(chosen, assumptions=(f"it is public knowledge which {count:,} nodes have the highest degrees",))

    def __repr__(self) -> str:
        return f"<Graph: {self.size}, from {self.source}>"

    @property
    def size(self) -> str:
        """How many nodes, in words; nothing of its edges."""
        if self.people is None:
            return f"{self.n:,} nodes"
        people, places = self.people, self.n - self.people
        who = "1 person" if people == 1 else f"{people:,} people"
        return f"{who}, {places:,} place{'' if places == 1 else 's'}"
