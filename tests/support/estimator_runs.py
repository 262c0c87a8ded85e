"""Every registered estimator on any graph, with any policy, and with people away: one record for each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from support.estimator_ways import Way, World, ways
from support.unlike_graphs import unlike_graph
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import VaEdgeLdpError
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.simulation.estimate import in_shape

POLICIES = {"nothing": "nothing", "profiles": "profiles:0.5", "hash": "document-001", "hubs": "hubs:0.02"}
AWAY = (0.0, 0.1, 0.3, 0.6)
LEVEL = 0.95
# What was refused so often in a setting, and never answered, is not asked again there.
ENOUGH = 2
# A value may leave its interval by what rounding leaves.
ROUNDING = 1e-9


class Run(NamedTuple):
    """One estimate against the truth; of arrays, means over the entries.

    ``held``, ``below`` and ``above`` are shares of entries whose interval holds the truth, lies below it, above it.
    """

    error: float
    square: float
    variance: float
    held: float
    below: float
    above: float
    is_inside: bool
    unbiased: bool
    conservative: bool


def run_of(found: Estimate, truth: Any) -> Run:
    """What one estimate tells, given the true value in its shape."""
    value, true = np.atleast_1d(found.value), np.atleast_1d(truth)
    low, high = (np.atleast_1d(end) for end in found.interval(LEVEL))
    slack = ROUNDING * (1 + np.abs(value))
    below, above = high + slack < true, low - slack > true
    return Run(
        float((value - true).mean()),
        float(((value - true) ** 2).mean()),
        float(np.mean(found.variance)),
        float((~below & ~above).mean()),
        float(below.mean()),
        float(above.mean()),
        bool(np.all((low - slack <= value) & (value <= high + slack))),
        found.unbiased,
        found.conservative,
    )


@dataclass(frozen=True)
class Setting:
    """A graph, a policy, an epsilon and a share that is away; all texts and numbers, so that a report can be typed."""

    graph: str
    policy: str
    epsilon: float
    away: float
    graph_seed: int = 0

    def __str__(self) -> str:
        made = f" (seed {self.graph_seed})" if self.graph_seed else ""
        return f"{self.graph}{made}, {self.policy}, ε = {self.epsilon:g}, {self.away:.0%} away"


@dataclass(frozen=True)
class Cell:
    """Runs of one statistic, asked in one way in one setting, and the reason where some were refused."""

    setting: Setting
    way: str
    statistic: str
    runs: Sequence[Run] = ()
    refusals: Sequence[str] = ()

    @property
    def estimator(self) -> str:
        """The way and the statistic."""
        return f"{self.way}: {self.statistic}"


@cache
def world_of(graph: str, policy: str, graph_seed: int = 0) -> World:
    """A graph by name with a policy, in three groups; raises LookupError where the graph is not here."""
    found = unlike_graph(graph, graph_seed)
    # Groups of unlike sizes; nodes are numbered without regard to friendship.
    members = np.arange(found.n) % 7 // 3
    return VisibilityAwareGraph(found, POLICIES.get(policy, policy)).grouped(Groups("number", ("a", "b", "c"), members))


@cache
def _truth(graph: str, graph_seed: int, name: str) -> Any:
    return exact(world_of(graph, "nothing", graph_seed).graph, name)


def cells_of(
    setting: Setting,
    way: str,
    numbers: Iterable[int],
    salt: str = "",
) -> list[Cell]:
    """One cell for each statistic of a way: every number is one collection, from which all are estimated.

    Runs of other settings, other ways and other salts are independent.
    """
    how, world = ways()[way], world_of(setting.graph, setting.policy, setting.graph_seed)
    asked = how.names(world.graph.n)
    runs: dict[str, list[Run]] = {name: [] for name in asked}
    refusals: dict[str, list[str]] = {name: [] for name in asked}
    if setting.away and how.nobody_away:
        return [Cell(setting, way, name, (), (how.nobody_away,)) for name in asked]
    for number in numbers:
        seed = f"{salt}{setting}, {way}, run {number}"
        over = {name: told[-1] for name, told in refusals.items() if len(told) >= ENOUGH and not runs[name]}
        for name, found in (
            estimates_or_reasons(how, world, setting, [name for name in asked if name not in over], seed) | over
        ).items():
            if isinstance(found, str):
                refusals[name].append(found)
                continue
            truth = in_shape({name: _truth(setting.graph, setting.graph_seed, name)}, {name: found})[name]
            runs[name].append(run_of(found, truth))
    return [Cell(setting, way, name, runs[name], refusals[name]) for name in asked]


def estimates_or_reasons(
    how: Way, world: World, setting: Setting, asked: Sequence[str], seed: str
) -> dict[str, Estimate | str]:
    """Estimates from one collection; where that is refused, each by itself, or the reason why there is none."""
    if not asked:
        return {}
    try:
        return dict(how.ask(world, setting.epsilon, asked, seed, setting.away))
    except VaEdgeLdpError as reason:
        if len(asked) == 1:
            return {asked[0]: str(reason)}
    return {
        name: found for each in asked for name, found in estimates_or_reasons(how, world, setting, [each], seed).items()
    }
