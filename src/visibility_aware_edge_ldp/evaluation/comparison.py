"""``va.compare``: visibility-aware against uniform, at equal loss per edge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from visibility_aware_edge_ldp.evaluation.trials import Evaluation, Progress, TrialRow, evaluate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers

AWARE, UNIFORM = "visibility-aware", "uniform"


@dataclass(frozen=True)
class Gain:
    """One statistic at one epsilon under both policies."""

    aware: TrialRow
    uniform: TrialRow

    @property
    def factor(self) -> float:
        """How many times smaller the visibility-aware error is."""
        if not self.aware.mean_relative_error:
            return math.inf if self.uniform.mean_relative_error else 1.0
        return self.uniform.mean_relative_error / self.aware.mean_relative_error

    @property
    def uncertainty(self) -> float:
        """The standard error of the factor, from the spread of the trials."""
        pairs = ((row.error_uncertainty, row.mean_relative_error) for row in (self.aware, self.uniform))
        return self.factor * math.sqrt(sum((spread / mean) ** 2 for spread, mean in pairs if mean))


@dataclass(frozen=True)
class Comparison:
    """Both evaluations of the same graph, and what they were about."""

    graph: str
    nodes: int
    edges: int
    policy: str
    positions: Mapping[str, int]
    assumptions: tuple[str, ...]
    rounds: int
    trials: int
    aware: Evaluation
    uniform: Evaluation
    multipliers: Multipliers = DEFAULT_MULTIPLIERS

    @property
    def gains(self) -> list[Gain]:
        """Row by row, both policies side by side."""
        return [Gain(a, u) for a, u in zip(self.aware, self.uniform, strict=True)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("graph", "nodes", "edges", "policy", "rounds", "trials")
        return {
            **{name: getattr(self, name) for name in names},
            "trust": "position",
            "loss": "epsilon times its class's multiplier per edge against all reports, for all statistics together",
            "caution": "simulated on a graph that was held; true values are printed, so these results are not private",
            "loss_multipliers": {str(kind): float(self.multipliers.of(kind)) for kind in NON_PUBLIC},
            "positions": dict(self.positions),
            "assumptions": list(self.assumptions),
            AWARE: [row.as_dict() for row in self.aware],
            UNIFORM: [row.as_dict() for row in self.uniform],
        }

    def table(self) -> list[tuple[str, ...]]:
        """(epsilon, statistic, uniform error, visibility-aware error, gain) as texts."""
        return [
            (
                f"{gain.aware.epsilon:g}",
                gain.aware.statistic,
                _percent(gain.uniform.mean_relative_error),
                _percent(gain.aware.mean_relative_error),
                _factor(gain.factor),
            )
            for gain in self.gains
        ]

    def __str__(self) -> str:
        head = ("epsilon", "statistic", "uniform error", "visibility-aware error", "gain")
        rows = [head, *self.table()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)


def _percent(error: float) -> str:
    """A relative error; there is none where the truth is 0."""
    return f"{error:.2%}" if math.isfinite(error) else "-"


def _factor(gain: float) -> str:
    if math.isnan(gain):
        return "-"
    return "exact" if math.isinf(gain) else f"{gain:.1f}×"


def compare(
    graph: Any,
    policy: AnyPolicy,
    epsilons: Sequence[Number] = (0.5, 1, 2, 4),
    trials: int = 20,
    statistics: str | Sequence[str] | None = None,
    *,
    seed: int | str | None = None,
    rounds: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """The same graph, the same code, the same loss per private edge: once with the policy, once with nothing public."""
    aware = VisibilityAwareGraph(graph, policy)
    losses = aware.policy.multipliers
    nothing = VisibilityPolicy.nothing().guarded(losses.friend_visible, losses.private)
    uniform = VisibilityAwareGraph(aware.graph, nothing)
    worlds = {AWARE: aware, UNIFORM: uniform}
    evaluations = {
        name: evaluate(
            world,
            epsilons=epsilons,
            trials=trials,
            statistics=statistics,
            seed=None if seed is None else f"{seed} {name}",
            rounds=rounds,
            progress=progress,
            **options,
        )
        for name, world in worlds.items()
    }
    return Comparison(
        aware.graph.source,
        aware.graph.n,
        aware.graph.m,
        str(aware.policy),
        {str(kind): size for kind, size in aware.public.class_sizes.items()},
        aware.policy.assumptions,
        rounds,
        trials,
        evaluations[AWARE],
        evaluations[UNIFORM],
        losses,
    )
