"""``plan``: what every trust model would err by, before anybody is asked.  [PLAN.1-9]"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from visibility_aware_edge_ldp.errors import BadInput, meant
from visibility_aware_edge_ldp.evaluation.plan import words
from visibility_aware_edge_ldp.evaluation.plan.cost import Cost, cost_of
from visibility_aware_edge_ldp.evaluation.plan.foretold import seconds_of_run
from visibility_aware_edge_ldp.evaluation.plan.left_out import ALL, LeftOut, left_out
from visibility_aware_edge_ldp.evaluation.plan.moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.one_pass import MADE_UP_ROWS, ROWS, moments_of
from visibility_aware_edge_ldp.evaluation.plan.predicted import TRUST, Prediction, predictions
from visibility_aware_edge_ldp.evaluation.plan.publicity import Publicity, publicity
from visibility_aware_edge_ldp.evaluation.plan.shape import FAMILIES, assumed_graph
from visibility_aware_edge_ldp.evaluation.plan.target import Reached, reached
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_delta, exact_epsilon
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.subgraphs.statistic import check_statistics, possible
from visibility_aware_edge_ldp.truth.graph import Graph

STATISTICS = ("edges", "degrees", "stars:2", "stars:3", "triangles", "transitivity")
LOSS = "ε is the loss per PRIVATE edge against all reports; what one trust model answers together shares it."


@dataclass(frozen=True, eq=False)
class Plan:
    """Predicted errors of every trust model, what they cost, and where a target is reached.

    ``made_up`` says that the graph was made from a few numbers, and ``clustering`` what it was made with.
    """

    graph: Graph = field(repr=False)
    policy: AnyPolicy
    statistics: tuple[str, ...]
    predictions: tuple[Prediction, ...]
    costs: tuple[Cost, ...]
    target_error: float | None
    targets: tuple[Reached, ...]
    made_up: bool
    clustering: float | None
    _moments: Moments = field(repr=False)
    without: LeftOut = ALL

    def row(self, trust: str, statistic: str, epsilon: Number) -> Prediction:
        """One prediction."""
        wanted = (trust, statistic, float(exact_epsilon(epsilon)))
        for each in self.predictions:
            if (each.trust, each.statistic, each.epsilon) == wanted:
                return each
        raise BadInput(f"The plan has no row for {statistic} in the {trust} model at ε = {wanted[2]:g}.")

    def more_public(
        self,
        statistic: str = "triangles",
        epsilon: Number = 1,
        trust: Sequence[str] = TRUST,
        progress: Callable[[int], None] | None = None,
    ) -> list[Publicity]:
        """The effect of making more public: edges, positions, profiles drawn by lot, or the profiles of the hubs."""
        return publicity(self.graph, statistic, exact_epsilon(epsilon), trust, self._moments.values, progress)

    @property
    def public_share(self) -> float:
        """What part of all positions is public."""
        return float(self._moments.positions[Visibility.PUBLIC] / max(self._moments.positions.sum(), 1))

    @property
    def assumed(self) -> str:
        """What was assumed, in a sentence."""
        numbers = (
            f"{self.graph.n:,} nodes, {self.graph.m:,} edges, largest degree {self.graph.degrees.max(initial=0):,}"
        )
        return f"Assumed: {self.graph.source}: {numbers}; {self.policy}.{words.left_out(self.without)}"

    def with_less(self, trust: str, statistic: str, epsilon: Number, without: LeftOut) -> Prediction:
        """One prediction if the position model left this out."""
        loss, shown = exact_epsilon(epsilon), [statistic]
        (row,) = predictions(self._moments, trust, loss, self.statistics, shown=shown, bounds=False, without=without)
        return row

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "answer": words.answer(self),
            "assumed": {"graph": self.graph.source, "nodes": self.graph.n, "edges": self.graph.m},
            "max_degree": int(self.graph.degrees.max(initial=0)),
            "policy": str(self.policy),
            "predictions": [each.as_dict() for each in self.predictions],
            "costs": [each.as_dict() for each in self.costs],
            "target_error": self.target_error,
            "targets": [each.as_dict() for each in self.targets],
            "sample_positions": float(self.without.positions),
            "work": self.without.work,
        }

    def __str__(self) -> str:
        tables = [words.error_table(self), words.target_table(self) if self.targets else None, words.cost_table(self)]
        parts = ["\n".join([*words.answer(self), self.assumed, *words.too_much(self)])]
        parts += [_aligned(table) for table in tables if table is not None]
        return "\n\n".join([*parts, "\n".join([*words.legend(self), LOSS])])


def _aligned(table: words.Table) -> str:
    head, rows = table
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
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
    degrees: Sequence[int] | None = None,
    delta: Number = 0,
    trust: Sequence[str] = TRUST,
    sample_positions: Number = 1,
    work: Number | None = None,
) -> Plan:
    """Predict the error of every trust model from closed forms, before anybody is asked.

    Parameters
    ----------
    nodes, edges, max_degree, family, clustering
        What is assumed of the graph; ``family`` may be a graph like the one that will be asked.
    degrees
        Everybody's degree, in place of the numbers and the family.
    policy
        Which positions are public; nothing unless given.
    epsilons, statistics, delta
        As in :func:`estimate`; statistics that one trust model answers together share one ε.
    target_error
        A mean relative error such as 0.05: the plan says which ε reaches it, in which trust model.
    trust
        The trust models to look at.
    sample_positions
        Position model: the share of the positions that a public coin draws and that are asked.
    work
        Position model: the share of the counting that is done; it costs triangles and 4-cycles accuracy, and nobody
        answers less.
    """
    for model in trust:
        if model not in TRUST:
            raise BadInput(f"{model!r} is not a trust model; use {', '.join(TRUST)}.{meant(model, TRUST)}")
    without = left_out(sample_positions, work)
    chosen = policy if policy is not None else VisibilityPolicy.nothing()
    graph = assumed_graph(nodes, edges, max_degree=max_degree, family=family, clustering=clustering, degrees=degrees)
    world, made_up = VisibilityAwareGraph(graph, chosen), degrees is not None or family in FAMILIES
    names = check_statistics(possible(STATISTICS, graph.n) if statistics is None else statistics, graph.n)
    losses, small = [exact_epsilon(epsilon) for epsilon in epsilons], exact_delta(delta)
    moments = moments_of(world, "four_cycles" in names, MADE_UP_ROWS if made_up else ROWS)
    rows = [
        row
        for model in trust
        for loss in losses
        for row in predictions(moments, model, loss, names, small, without=without)
    ]
    targets = reached(moments, trust, names, target_error, small, without) if target_error is not None else []
    costs = [
        replace(cost_of(world, model, names, without), seconds=seconds_of_run(world, model, names, without))
        for model in trust
    ]
    return Plan(
        graph,
        world.policy,
        tuple(names),
        tuple(rows),
        tuple(costs),
        target_error,
        tuple(targets),
        made_up,
        clustering,
        moments,
        without,
    )
