"""The source documents' names: a graph with a visibility policy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.groups import Groups, group_by
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as _Policy
from visibility_aware_edge_ldp.public.scope import Scope
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.attributes import attribute_rows
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

__all__ = ["Visibility", "VisibilityAwareGraph", "VisibilityPolicy"]


class VisibilityPolicy(_Policy):
    """A policy, with the doors to the disk that common ground does not have."""

    __doc__ = _Policy.__doc__

    @classmethod
    def from_file(cls, path: str) -> VisibilityPolicy:
        """From a file ``policy.toml``; see docs/policies.md for what it may say."""
        from visibility_aware_edge_ldp.truth.policy_file import read_policy

        found = read_policy(path)
        return cls.of(found.rule, found.assumptions, found.multipliers)  # type: ignore[return-value]

    @classmethod
    def from_attributes(
        cls, table: Any, rules: Sequence[Any], otherwise: Visibility | str = Visibility.PRIVATE
    ) -> VisibilityPolicy:
        """From rules over public attributes, such as ``{"same": "department", "class": "public"}``.

        ``table`` is a mapping from nodes to their attributes, a ``NodeTable``, or a DataFrame with the nodes as
        its index or in a column "id" or "node".
        """
        return super().from_attributes(attribute_rows(table), rules, otherwise)  # type: ignore[return-value]


class VisibilityAwareGraph:
    """A graph we hold, and who may know which of its edges: what a simulation starts from.

    Parameters
    ----------
    graph
        Anything that ``read_graph`` takes.
    policy
        Which positions are public: a policy, or what the command line calls one, such as "profiles:0.5". Default:
        nothing is public.
    """

    def __init__(self, graph: Any, policy: _Policy | str = "nothing") -> None:
        if isinstance(policy, str):
            from visibility_aware_edge_ldp.truth.policy_file import open_policy

            policy = open_policy(policy)
        if not isinstance(policy, _Policy):
            raise BadPolicy(f"A VisibilityPolicy is needed, or its name; got {type(policy).__name__}.")
        self.whole: Graph = graph if isinstance(graph, Graph) else read_graph(graph)
        made = policy.resolved(self.whole.names, self.whole.degrees)
        self.policy = made if self.whole.people is None else made.between(self.whole.people)
        self.graph = inside_scope(self.whole, self.policy)

    @classmethod
    def of(cls, source: Any, policy: _Policy | str | None = None) -> VisibilityAwareGraph:
        """A world as it is, or anything that ``read_graph`` takes, with a policy."""
        if not isinstance(source, VisibilityAwareGraph):
            return cls(source, "nothing" if policy is None else policy)
        if policy is not None:
            raise BadPolicy("This graph has a policy of its own; leave `policy` out, or give the bare graph.")
        return source

    def inside(self, scope: Scope | str, attributes: Any = None) -> VisibilityAwareGraph:
        """The same graph and policy inside a scope: what is counted is the graph inside, and nobody else is asked.

        Parameters
        ----------
        scope
            A scope, or its words: "lists", "public", "group:ATTRIBUTE", "file:PATH", joined by | and &.
        attributes
            Where the scope goes by an attribute: a table of the nodes, or the path of a CSV file.
        """
        if isinstance(scope, str):
            from visibility_aware_edge_ldp.truth.policy_file import open_scope

            scope = open_scope(scope, self.public, attributes)
        return VisibilityAwareGraph(self.whole, self.policy.within(scope))

    def grouped(
        self, groups: Groups | str | Mapping[Hashable, Hashable], attributes: Any = None
    ) -> VisibilityAwareGraph:
        """The same graph and policy with public groups, for statistics such as "mixing".

        Parameters
        ----------
        groups
            Groups, everybody's group by name, or what they go by: "year", "year,least=100", "year,missing=0".
        attributes
            Where they go by an attribute: a table of the nodes, or the path of a CSV file.
        """
        if isinstance(groups, str):
            from visibility_aware_edge_ldp.truth.policy_file import open_groups

            groups = open_groups(groups, self.whole.names, attributes)
        elif isinstance(groups, Mapping):
            groups = group_by(self.whole.names, "group", groups)
        return VisibilityAwareGraph(replace(self.whole, groups=groups), self.policy)

    @cached_property
    def public(self) -> PublicView:
        """What everybody knows: the roster, the policy, and the edges at public positions."""
        ends = self.graph.edges
        classes = self.policy.bind(self.graph.names).of(ends[:, 0], ends[:, 1])
        return PublicView(self.graph.names, self.policy, ends[classes == Visibility.PUBLIC], self.graph.groups)

    @cached_property
    def edge_counts(self) -> dict[Visibility, int]:
        """How many true edges each class has. Private knowledge, for the laboratory only."""
        ends = self.graph.edges
        found = np.bincount(self.public.classes.of(ends[:, 0], ends[:, 1]), minlength=len(Visibility))
        return {kind: int(found[kind]) for kind in Visibility}

    def visibility(self, first: Hashable, second: Hashable) -> Visibility:
        """The class of the position {first, second}, whether or not an edge is there."""
        place = {name: i for i, name in enumerate(self.graph.names)}
        if first == second or first not in place or second not in place:
            raise BadPolicy(f"{first!r} and {second!r} are not two nodes of this graph.")
        return Visibility(int(self.public.classes.of([place[first]], [place[second]])[0]))

    @property
    def share_inside(self) -> dict[str, float]:
        """Which part of the edges and of the positions lies inside the scope. Private knowledge, for the laboratory."""
        edges, positions = max(self.whole.m, 1), max(self.public.positions, 1)
        return {"edges": self.graph.m / edges, "positions": 1 - self.public.outside / positions}

    def __repr__(self) -> str:
        return f"<VisibilityAwareGraph: {self.graph.n:,} nodes, {self.graph.m:,} edges, {self.policy}>"


def inside_scope(graph: Graph, policy: _Policy) -> Graph:
    """The graph with the edges that lie in the policy's scope; the same graph where there is none."""
    if policy.scope is None:
        return graph
    kept = policy.bind(graph.names).inside(graph.edges[:, 0], graph.edges[:, 1])
    return replace(graph, edges=graph.edges[kept])
