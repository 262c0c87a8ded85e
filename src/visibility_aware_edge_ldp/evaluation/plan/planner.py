"""``plan``: what every trust model would err by, before anybody is asked.  [PLAN.1-9]"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, nan
from typing import Any

import numpy as np

import visibility_aware_edge_ldp.evaluation.plan.summary as summary
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, did_you_mean
from visibility_aware_edge_ldp.evaluation.gains import SPLIT_HEAD, Split, part_inside
from visibility_aware_edge_ldp.evaluation.plan.assumed_graph import FAMILIES, assumed_graph
from visibility_aware_edge_ldp.evaluation.plan.base import ALL, Cost, Subsample, subsample
from visibility_aware_edge_ldp.evaluation.plan.downloads import Curve, Download, cycle_curve, triangle_curve
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import MADE_UP_ROWS, ROWS, moments_of, numbers_of, rows_of
from visibility_aware_edge_ldp.evaluation.plan.predictions import PREDICTIONS, Prediction, marked, offered, predictions
from visibility_aware_edge_ldp.evaluation.plan.scenarios import Publicity, Reached, publicity, reached, splits
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_delta, parse_epsilon
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.scope import Scope, drawn_consents
from visibility_aware_edge_ldp.public.statistic import (
    FOUR_CYCLES,
    TRIANGLES,
    check_statistics,
    exact,
    possible,
    statistic,
)
from visibility_aware_edge_ldp.public.trust import POSITION, TRUSTS
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.simulation.runtime_forecast import LONG, fitted, forecast, is_large, work_of_run
from visibility_aware_edge_ldp.tabular import Records, Tabular, aligned, draw_lines
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.policy_file import open_policy

STATISTICS = ("edges", "degrees", "stars:2", "stars:3", "triangles", "transitivity")
PEOPLE_AND_PLACES = (
    "A plan cannot tell the errors of people and places; make up such a file and simulate it: va-edge-ldp estimate "
    "FILE --bipartite prints standard errors."
)
Make = Callable[[int, int], object]
"""Makes the plan of a smaller graph of the same kind: so many nodes and edges."""
# What an ordinary core does in a second: edges of all that is worked out for them, and numbers gathered for sums.
USUAL_EDGES, USUAL_NUMBERS = 8e4, 4e8


# Nodes whose rows are looked at for each policy: ten policies must not take ten times as long as one plan.
FEW_ROWS = 384
# Smaller plans: of so few nodes that all are looked at, which tells edges and numbers apart; and of parts of the nodes.
FEW, PARTS = (256, 1024), (16, 8)


def seconds_of_plan(nodes: int, edges: int, made_up: bool, make: Make) -> float:
    """By plans of smaller graphs of the same mean degree; the usual time where that is short.

    T = C + A·(edges) + B·(numbers gathered for the sums). 0, which is not said, where a policy knows no smaller graph.
    """
    rows = MADE_UP_ROWS if made_up else ROWS
    wanted = _terms(nodes, edges, rows)
    usual = wanted[1] / USUAL_EDGES + wanted[2] / USUAL_NUMBERS
    if usual < LONG / 4:
        return usual
    sizes = sorted({min(few, nodes) for few in FEW} | {max(nodes // part, min(FEW[0], nodes)) for part in PARTS})
    try:
        _taken(make, nodes, edges, sizes[0])  # loads kernels
        seconds = [_taken(make, nodes, edges, size) for size in sizes]
    except BadInput:
        return 0.0
    terms = np.array([_terms(size, _edges(nodes, edges, size), rows) for size in sizes])
    return float(fitted(terms, np.array(seconds)) @ np.array(wanted))


def _terms(nodes: int, edges: int, rows: int) -> list[float]:
    # 4-cycles gather more numbers for each node, everywhere alike.
    return [1.0, float(edges), float(rows_of(nodes, edges, False, rows) * numbers_of(nodes, edges, False))]


def _edges(nodes: int, edges: int, size: int) -> int:
    return min(ceil(edges * size / nodes), size * (size - 1) // 4)


def _taken(make: Make, nodes: int, edges: int, size: int) -> float:
    begin = time.perf_counter()
    make(size, _edges(nodes, edges, size))
    return time.perf_counter() - begin


def seconds_of_run(
    world: VisibilityAwareGraph, trust: str, statistics: Sequence[str], without: Subsample = ALL
) -> float:
    """How long a run of all that a trust model answers would take here; NaN where nobody can tell beforehand."""
    asked = tuple(offered(trust, statistics))
    if not asked or (trust == POSITION.name and without.positions < 1):
        return nan
    run = Run(world, trust, asked, work=without.work if trust == POSITION.name else None)
    return forecast(run, closely=False).seconds if is_large(run) else work_of_run(run).usual_seconds


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Tabular):
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
    without: Subsample = ALL
    splits: tuple[Split, ...] = ()  # with a scope: what each lever does, and what part of each count lies inside
    inside: Mapping[str, float] = field(default_factory=dict)

    def records(self) -> Records:
        """One row for each prediction."""
        return [each.as_dict() for each in self.predictions]

    def draw(self, axes: Any) -> None:
        """Predicted relative standard error against ε."""
        rows = [{**each, "error": (each["standard_error"] or nan) / (each["value"] or nan)} for each in self.records()]
        draw_lines(axes, rows, "error", ("trust", "statistic"), "predicted standard error, relative")

    def row(self, trust: str, statistic: str, epsilon: Number) -> Prediction:
        """One prediction."""
        wanted = (trust, statistic, float(parse_epsilon(epsilon)))
        for each in self.predictions:
            if (each.trust, each.statistic, each.epsilon) == wanted:
                return each
        raise BadInput(f"The plan has no row for {statistic} in the {trust} model at ε = {wanted[2]:g}.")

    def more_public(
        self,
        statistic: str = "triangles",
        epsilon: Number = 1,
        trust: Sequence[str] = tuple(TRUSTS),
        progress: Callable[[int], None] | None = None,
    ) -> list[Publicity]:
        """The effect of making more public: edges, positions, profiles drawn by lot, or the profiles of the hubs."""
        return publicity(self.graph, self._quickly(statistic, epsilon, trust), progress)

    @property
    def downloaded_for(self) -> str:
        """What downloads are planned for: 4-cycles where they are asked for without triangles."""
        alone = FOUR_CYCLES.name in self.statistics and TRIANGLES.name not in self.statistics
        return FOUR_CYCLES.name if alone else TRIANGLES.name

    def downloads(self, epsilon: Number = 1) -> list[Download]:
        """The predicted error of USER triangles, or 4-cycles, against what each user downloads of the first answers."""
        return self._curve(epsilon).all()

    def smallest_download(self, epsilon: Number = 1, target: float | None = None) -> Download | None:
        """The smallest download that reaches the target error, or the plan's own; None where none does."""
        wanted = self.target_error if target is None else target
        return None if wanted is None else self._curve(epsilon).smallest(wanted)

    def _curve(self, epsilon: Number) -> Curve:
        if self.downloaded_for == FOUR_CYCLES.name:
            return cycle_curve(self._moments, epsilon)
        return triangle_curve(self._moments.world, float(self._moments.value(TRIANGLES.name)), epsilon)

    def split(self, world: VisibilityAwareGraph) -> "Plan":
        """With what each lever of a policy with a scope does to the error of what the first lines are about."""
        statistic, epsilon = summary.focus(self)
        models = tuple(dict.fromkeys(row.trust for row in self.predictions))
        values = {name: self._moments.value(name) for name in self.statistics}
        found = splits(world, self._quickly(statistic, str(epsilon), models))
        return replace(self, splits=found, inside=part_inside(world, values))

    def _quickly(
        self, statistic: str, epsilon: Number, trust: Sequence[str]
    ) -> Callable[[VisibilityAwareGraph], list[Prediction]]:
        """Predicts one statistic in other worlds with the same counts, from few rows."""
        loss, models = parse_epsilon(epsilon), [model for model in trust if offered(model, [statistic])]

        def predict(world: VisibilityAwareGraph) -> list[Prediction]:
            moments = moments_of(world, statistic == FOUR_CYCLES.name, FEW_ROWS)
            moments.values = self._moments.values
            return [row for model in models for row in predictions(moments, model, loss, [statistic], bounds=False)]

        return predict

    @property
    def public_share(self) -> float:
        """What part of all positions is public."""
        return float(self._moments.positions[Visibility.PUBLIC] / max(self._moments.positions.sum(), 1))

    @property
    def assumed(self) -> str:
        """What was assumed, in a sentence."""
        size = f"{self.graph.n:,} nodes, {self.graph.m:,} edges"
        largest = f"largest degree {self.graph.degrees.max(initial=0):,}"
        numbers = largest if size in self.graph.source else f"{size}, {largest}"
        more = summary.subsample_note(self.without) + summary.scope_note(self)
        return f"Assumed: {self.graph.source}: {numbers}; {self.policy}.{more}"

    def with_less(self, trust: str, statistic: str, epsilon: Number, without: Subsample) -> Prediction:
        """One prediction if the position model left this out."""
        loss, shown = parse_epsilon(epsilon), [statistic]
        (row,) = predictions(self._moments, trust, loss, self.statistics, shown=shown, bounds=False, without=without)
        return row

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "answer": summary.answer(self),
            "assumed": {"graph": self.graph.source, "nodes": self.graph.n, "edges": self.graph.m},
            "max_degree": int(self.graph.degrees.max(initial=0)),
            "policy": str(self.policy),
            "predictions": [{**each.as_dict(), **self._entries(each)} for each in self.predictions],
            "costs": [each.as_dict() for each in self.costs],
            "target_error": self.target_error,
            "targets": [each.as_dict() for each in self.targets],
            "sample_positions": float(self.without.positions),
            "work": self.without.work,
            **({"scope": summary.scope_dict(self)} if self.splits else {}),
            **summary.chunks_dict(self),
            **({} if self.graph.groups is None else {"groups": self.graph.groups.about}),
        }

    def _entries(self, row: Prediction) -> dict[str, Any]:
        """Of a statistic of groups: what each entry is about, its value, and the standard error that it will have."""
        graph = self._moments.world.graph
        if graph.groups is None or len(row.entries) < 2:
            return {}
        values = np.asarray(exact(graph, row.statistic), np.float64).tolist()
        told = {"labels": graph.groups.entries_of(row.statistic), "value": values, "standard_error": [*row.entries]}
        return {"entries": told}

    def __repr__(self) -> str:
        return f"<Plan: {len(self.predictions)} predictions for {self.graph.source}>"

    def __str__(self) -> str:
        tables = [
            summary.error_table(self),
            summary.target_table(self) if self.targets else None,
            summary.cost_table(self),
            (SPLIT_HEAD, [each.texts() for each in self.splits]) if self.splits else None,
        ]
        shown = ["\n".join(aligned([head, *rows], left=len(head))) for head, rows in filter(None, tables)]
        return "\n\n".join(["\n".join(summary.opening(self)), *shown, "\n".join(summary.legend(self))])


def plan(
    nodes: int | None = None,
    edges: int | None = None,
    *,
    max_degree: int | None = None,
    family: str | Graph = "powerlaw",
    policy: AnyPolicy | str | None = None,
    scope: Scope | str | None = None,
    attributes: Any = None,
    consent_share: Number | None = None,
    epsilons: Sequence[Number] = (0.5, 1, 2, 4),
    statistics: str | Sequence[str] | None = None,
    target_error: float | None = None,
    clustering: float | None = None,
    degrees: Sequence[int] | None = None,
    delta: Number = 0,
    trust: Sequence[str] = tuple(TRUSTS),
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
        Which positions are public, or its name, such as "profiles:0.5"; nothing unless given.
    scope, attributes
        Where positions are asked and counted, and what its words go by, as in ``VisibilityAwareGraph.inside``.
    consent_share
        Where positions are asked only if both ends consent: the share of people, drawn by a hash, who are supposed to.
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
        if model not in TRUSTS:
            raise BadInput(
                f"{model!r} is not a trust model; use {', '.join(TRUSTS)}.{did_you_mean(model, tuple(TRUSTS))}"
            )
    without = subsample(sample_positions, work)
    chosen = open_policy(policy or "nothing") if isinstance(policy, str | None) else policy
    if chosen.paid:
        raise BadPolicy("A plan does not know what choosing this policy has cost; simulate with compare, which does.")
    graph = assumed_graph(nodes, edges, max_degree=max_degree, family=family, clustering=clustering, degrees=degrees)
    world, made_up = VisibilityAwareGraph(graph, chosen), degrees is not None or family in FAMILIES
    world = world if scope is None else world.inside(scope, attributes)
    world = world if consent_share is None else world.inside(drawn_consents(graph.names, consent_share))
    names = _names(graph, statistics)
    losses, small = [parse_epsilon(epsilon) for epsilon in epsilons], parse_delta(delta)
    moments = moments_of(world, FOUR_CYCLES.name in names, MADE_UP_ROWS if made_up else ROWS)
    rows = [
        row
        for model in trust
        for loss in losses
        for row in predictions(moments, model, loss, names, small, without=without)
    ]
    rows = marked(rows, made_up, degrees is not None)

    def predict(model: str, name: str, epsilon: Fraction) -> Prediction:
        (row,) = predictions(moments, model, epsilon, names, small, [name], bounds=False, without=without)
        return row

    answered = {model: offered(model, names) for model in trust}
    targets = [reached(predict, answered, name, target_error) for name in names] if target_error is not None else []
    costs = [
        replace(
            PREDICTIONS[model].total_cost(world, names, without), seconds=seconds_of_run(world, model, names, without)
        )
        for model in trust
    ]
    found = Plan(
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
    return found if world.policy.scope is None else found.split(world)


def _names(graph: Graph, statistics: str | Sequence[str] | None) -> tuple[str, ...]:
    """The statistics to predict; refuses those of people and places."""
    names = check_statistics(possible(STATISTICS, graph.n) if statistics is None else statistics, graph.n)
    if graph.people is not None or any(statistic(name).bipartite for name in names):
        raise BadInput(PEOPLE_AND_PLACES)
    return names
