"""What is measured for a table: cells, each a graph, a policy, a trust model and some epsilons."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.evaluation.trials import Progress, relative_error
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.parameters import exact_epsilon
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth import synthetic
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.statistics import exact

Ask = Callable[..., Mapping[str, Any]]

FACEBOOK, TOP, POWERLAW, RANDOM = "Facebook", "300 nodes", "power law", "random"
TOP_NODES = 300
# The mean error of fewer trials is mostly luck.
FEWEST = 5


@dataclass(frozen=True)
class Figure:
    """A number of a table, and how well it is known.

    Parameters
    ----------
    value
        A relative error, averaged over the trials; or what a document prints.
    spread
        The standard error of that mean; NaN for one trial and for what is printed.
    trials
        How many trials; 0 for what is printed.
    stated
        The mean standard error that the estimates gave themselves, relative to the truth; NaN where they give none.
    unbiased
        Whether the estimates' mean is the truth, so that their standard errors tell the size of their errors.
    """

    value: float
    spread: float = float("nan")
    trials: int = 0
    stated: float = float("nan")
    unbiased: bool = True

    @property
    def is_predicted(self) -> bool:
        """Whether there are so few trials that the estimates' own standard errors say more than their errors."""
        return 0 < self.trials < FEWEST and self.unbiased and not math.isnan(self.stated)

    @property
    def shown(self) -> float:
        """The figure for a table; of few trials the mean error that their standard errors mean: √(2/π) of them."""
        return self.stated * math.sqrt(2 / math.pi) if self.is_predicted else self.value


@dataclass(frozen=True)
class Cell:
    """One thing to measure.

    Parameters
    ----------
    graph, policy
        One of the names above; what ``--policy`` takes.
    trust, epsilons, statistics
        As for ``estimate``; every epsilon is a loss per PRIVATE edge against all reports.
    trials
        How many independent collections at each epsilon.
    options
        Further arguments of ``estimate``.
    ask
        What answers, where it is not ``estimate``.
    """

    graph: str
    policy: str
    trust: str
    epsilons: tuple[float, ...]
    statistics: tuple[str, ...]
    trials: int
    options: Mapping[str, Any] = field(default_factory=dict)
    ask: Ask = estimate


Found = Mapping[tuple[float, str], Figure]


class Laboratory:
    """Graphs and worlds, made once and shared by all cells."""

    def __init__(self, facebook: Graph, seed: int | str) -> None:
        self.facebook, self.seed = facebook, seed
        self._graphs: dict[str, Graph] = {FACEBOOK: facebook}
        self._worlds: dict[tuple[str, str], VisibilityAwareGraph] = {}

    def graph(self, name: str) -> Graph:
        """The graph of this name; generated ones are as large as Facebook."""
        size = self.facebook.n, self.facebook.m
        makers: dict[str, Callable[[], Graph]] = {
            TOP: lambda: self.facebook.highest_degree(min(TOP_NODES, self.facebook.n)),
            POWERLAW: lambda: synthetic.powerlaw(*size),
            RANDOM: lambda: synthetic.erdos_renyi(*size),
        }
        if name not in self._graphs:
            self._graphs[name] = makers[name]()
        return self._graphs[name]

    def world(self, graph: str, policy: str) -> VisibilityAwareGraph:
        """The graph with this policy."""
        key = graph, policy
        if key not in self._worlds:
            self._worlds[key] = VisibilityAwareGraph(self.graph(graph), open_policy(policy))
        return self._worlds[key]

    def measure(self, name: str, cell: Cell, progress: Progress) -> dict[tuple[float, str], Figure]:
        """Every statistic at every epsilon, over fresh collections; ``name`` keeps the cells' coins apart."""
        world, found = self.world(cell.graph, cell.policy), {}
        truths = {statistic: float(exact(world.graph, statistic)) for statistic in cell.statistics}
        for epsilon in cell.epsilons:
            runs = []
            for trial in range(cell.trials):
                seed = f"{self.seed} {name} epsilon {epsilon:g} trial {trial}"
                loss = exact_epsilon(str(epsilon))
                runs.append(cell.ask(world, cell.trust, loss, cell.statistics, seed=seed, **cell.options))
                progress(1)
            for statistic, truth in truths.items():
                found[epsilon, statistic] = _figure([run[statistic] for run in runs], truth)
        return found


def _figure(estimates: list[Any], truth: float) -> Figure:
    errors = np.array([relative_error(each.value, truth) for each in estimates])
    stated = float(np.mean([float(each.standard_error) for each in estimates])) / truth if truth else float("nan")
    spread = float(errors.std(ddof=1) / np.sqrt(errors.size)) if errors.size > 1 else float("nan")
    return Figure(float(errors.mean()), spread, errors.size, stated, all(each.unbiased for each in estimates))
