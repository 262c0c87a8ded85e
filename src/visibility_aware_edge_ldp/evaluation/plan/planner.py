"""``plan``: what every trust model would err by, before anybody is asked.  [PLAN.1-9]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.errors import BadInput, meant
from visibility_aware_edge_ldp.evaluation.plan.cost import Cost, cost_of
from visibility_aware_edge_ldp.evaluation.plan.moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.one_pass import moments_of
from visibility_aware_edge_ldp.evaluation.plan.predicted import TRUST, Prediction, predictions
from visibility_aware_edge_ldp.evaluation.plan.shape import assumed_graph
from visibility_aware_edge_ldp.evaluation.plan.target import Reached, publicity, reached
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_delta, exact_epsilon
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.subgraphs.statistic import check_statistics, possible
from visibility_aware_edge_ldp.truth.graph import Graph

STATISTICS = ("edges", "degrees", "stars:2", "stars:3", "triangles", "transitivity")
HEAD = ("trust", "statistic", "epsilon", "value", "± s.e.", "mean error", "least s.e.", "note")


@dataclass(frozen=True, eq=False)
class Plan:
    """Predicted errors of every trust model, what they cost, and where a target is reached."""

    graph: Graph = field(repr=False)
    policy: AnyPolicy
    predictions: tuple[Prediction, ...]
    costs: tuple[Cost, ...]
    target_error: float | None
    targets: tuple[Reached, ...]
    _moments: Moments = field(repr=False)

    def row(self, trust: str, statistic: str, epsilon: Number) -> Prediction:
        """One prediction."""
        wanted = (trust, statistic, float(exact_epsilon(epsilon)))
        for each in self.predictions:
            if (each.trust, each.statistic, each.epsilon) == wanted:
                return each
        raise BadInput(f"The plan has no row for {statistic} in the {trust} model at ε = {wanted[2]:g}.")

    def rows(self) -> list[tuple[str, ...]]:
        """The table as texts, in the order of ``HEAD``."""
        return [_texts(each) for each in self.predictions]

    def more_public(
        self, statistic: str = "triangles", epsilon: Number = 1, trust: Sequence[str] = TRUST
    ) -> list[dict[str, Any]]:
        """The effect of making more public: positions, profiles drawn by lot, or the profiles of the hubs."""
        return publicity(self.graph, statistic, exact_epsilon(epsilon), trust)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "assumed": {"graph": self.graph.source, "nodes": self.graph.n, "edges": self.graph.m},
            "max_degree": int(self.graph.degrees.max(initial=0)),
            "policy": str(self.policy),
            "predictions": [each.as_dict() for each in self.predictions],
            "costs": [each.as_dict() for each in self.costs],
            "target_error": self.target_error,
            "targets": [each.as_dict() for each in self.targets],
        }

    def __str__(self) -> str:
        table = [HEAD, *self.rows()]
        widths = [max(len(row[i]) for row in table) for i in range(len(HEAD))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        return "\n".join(
            [
                f"Assumed: {self.graph.source}, {self.graph.n:,} nodes, {self.graph.m:,} edges, largest degree "
                f"{int(self.graph.degrees.max(initial=0)):,}.",
                f"Policy: {self.policy}.",
                "",
                *lines,
                "",
                *(str(each) for each in self.costs),
                *([""] if self.targets else []),
                *(str(each) for each in self.targets),
            ]
        )


def plan(
    nodes: int | None = None,
    edges: int | None = None,
    *,
    max_degree: int | None = None,
    family: str | Graph = "powerlaw",
    policy: AnyPolicy | None = None,
    epsilons: Sequence[Number] = (0.5, 1, 2, 4),
    statistics: str | Sequence[str] | None = None,
    target_error: float | None = None,
    clustering: float | None = None,
    delta: Number = 0,
    trust: Sequence[str] = TRUST,
) -> Plan:
    """Predict the error of every trust model from closed forms, before anybody is asked.

    Parameters
    ----------
    nodes, edges, max_degree, family, clustering
        What is assumed of the graph; ``family`` may be a graph like the one that will be asked.
    policy
        Which positions are public; nothing unless given.
    epsilons, statistics, delta
        As in :func:`estimate`; statistics that one trust model answers together share one ε.
    target_error
        A mean relative error such as 0.05: the plan says which ε reaches it, in which trust model.
    trust
        The trust models to look at.
    """
    for model in trust:
        if model not in TRUST:
            raise BadInput(f"{model!r} is not a trust model; use {', '.join(TRUST)}.{meant(model, TRUST)}")
    chosen = policy if policy is not None else VisibilityPolicy.nothing()
    world = VisibilityAwareGraph(
        assumed_graph(nodes, edges, max_degree=max_degree, family=family, clustering=clustering), chosen
    )
    names = check_statistics(possible(STATISTICS, world.graph.n) if statistics is None else statistics, world.graph.n)
    losses, small = [exact_epsilon(epsilon) for epsilon in epsilons], exact_delta(delta)
    moments = moments_of(world, "four_cycles" in names)
    rows = [row for model in trust for loss in losses for row in predictions(moments, model, loss, names, small)]
    targets = reached(moments, trust, names, target_error, small) if target_error is not None else []
    costs = [cost_of(world, model, names) for model in trust]
    return Plan(world.graph, world.policy, tuple(rows), tuple(costs), target_error, tuple(targets), moments)


def _texts(row: Prediction) -> tuple[str, ...]:
    shown = (row.value, row.standard_error)
    value, error = ("-" if x != x else number(x) for x in shown)
    least = "-" if row.least != row.least else number(row.least)
    relative = "-" if not row.holds else f"{row.mean_relative_error:.2%}"
    return row.trust, row.statistic, f"{row.epsilon:g}", value, error, relative, least, row.note
