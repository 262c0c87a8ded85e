"""``va.compare``: visibility-aware against uniform, at equal loss per edge, whomever one trusts."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.evaluation.compare.design import AWARE, HISTOGRAM, UNIFORM, Cell, Design, designed
from visibility_aware_edge_ldp.evaluation.compare.kept import Histogram, Kept, Trial
from visibility_aware_edge_ldp.evaluation.compare.runner import run
from visibility_aware_edge_ldp.evaluation.compare.words import notes_for
from visibility_aware_edge_ldp.evaluation.trials import Evaluation, Progress, TrialRow, html_table, summaries
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers

__all__ = ["AWARE", "UNIFORM", "Comparison", "DrawnHistogram", "Gain", "compare", "compared"]

HEAD = ("trust", "ε", "statistic", "uniform", "visibility-aware", "gain")
LOSS = "ε is the loss per PRIVATE edge against all reports together, once for all statistics of a collection."


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
class DrawnHistogram:
    """The degree histogram of one collection beside the true one, which is added up over the same bins."""

    trust: str
    policy: str
    epsilon: float
    drawn: Histogram
    truth: tuple[float, ...]


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
    histograms: tuple[DrawnHistogram, ...] = ()

    @property
    def gains(self) -> list[Gain]:
        """Row by row, both policies side by side."""
        return [Gain(a, u) for a, u in zip(self.aware, self.uniform, strict=True)]

    @property
    def models(self) -> list[str]:
        """The trust models that were compared."""
        return list(dict.fromkeys(row.trust for row in self.aware))

    @property
    def notes(self) -> list[str]:
        """How each model spends epsilon, so that all lose the same."""
        return notes_for(self.models)

    @property
    def title(self) -> str:
        """What the table shows, of what."""
        times = f"{self.trials} trials" if self.trials > 1 else "1 trial"
        return f"{self.graph}: mean relative error over {times}; policy: {self.policy}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("graph", "nodes", "edges", "policy", "rounds", "trials")
        return {
            **{name: getattr(self, name) for name in names},
            "trust": self.models,
            "loss": "epsilon times its class's multiplier per edge against all reports, for all statistics together",
            "notes": self.notes,
            "caution": "simulated on a graph that was held; true values are printed, so these results are not private",
            "loss_multipliers": {str(kind): float(self.multipliers.of(kind)) for kind in NON_PUBLIC},
            "positions": dict(self.positions),
            "assumptions": list(self.assumptions),
            AWARE: [row.as_dict() for row in self.aware],
            UNIFORM: [row.as_dict() for row in self.uniform],
        }

    def table(self) -> list[tuple[str, ...]]:
        """(trust, epsilon, statistic, uniform error, visibility-aware error, gain) as texts."""
        return [
            (
                gain.aware.trust,
                f"{gain.aware.epsilon:g}",
                gain.aware.statistic,
                _percent(gain.uniform.mean_relative_error),
                _percent(gain.aware.mean_relative_error),
                _factor(gain.factor),
            )
            for gain in self.gains
        ]

    def __str__(self) -> str:
        head = ("trust", "epsilon", "statistic", "uniform error", "visibility-aware error", "gain")
        rows = [head, *self.table()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.title)}</p>{html_table(HEAD, self.table())}<p>{html.escape(LOSS)}</p>"


def _percent(error: float) -> str:
    """A relative error; there is none where the truth is 0."""
    if not math.isfinite(error):
        return "-"
    if 0 < error < 1e-5:
        return "<0.001%"
    return f"{error:.2%}" if error >= 0.001 or not error else f"{error * 100:.2g}%"


def _factor(gain: float) -> str:
    if math.isnan(gain):
        return "-"
    return "exact" if math.isinf(gain) else f"{gain:.1f}×" if gain >= 0.1 else f"{gain:.1g}×"


def compare(
    graph: Any,
    policy: AnyPolicy,
    epsilons: Sequence[Number] = (0.5, 1, 2, 4),
    trials: int = 20,
    statistics: str | Sequence[str] | None = None,
    *,
    trust: str | Sequence[str] = "position",
    seed: int | str | None = None,
    rounds: int = 1,
    progress: Progress | None = None,
    cores: int = 1,
    folder: str | Path | None = None,
    **options: Any,
) -> Comparison:
    """The same graph, the same code, the same loss per private edge: once with the policy, once with nothing public.

    Parameters
    ----------
    graph, policy
        Anything that ``read_graph`` takes, and which positions of it are public.
    epsilons, trials
        Losses per PRIVATE edge, and how many independent collections at each.
    statistics
        Names; each trust model answers those that it can. Default: those that the models answer by default.
    trust
        One trust model, several, or "all".
    seed
        Makes the run repeatable, and therefore not private.
    rounds
        Position model: 1, or 2 as in the source documents.
    progress
        Is called with 1 after each trial.
    cores
        So many processes at a time. A script that asks for more than one needs ``if __name__ == "__main__":``.
    folder
        Where finished trials are kept; the same call with the same folder goes on where the last one stopped.
    **options
        Go to :func:`estimate` of the models that take them.
    """
    more = {**options, **({"rounds": rounds} if rounds != 1 else {})}
    design = designed(graph, policy, epsilons, trials, statistics, trust, seed, more)
    return compared(design, run(design, Kept(folder, design), progress, cores))


def compared(design: Design, trials: Mapping[Cell, Trial]) -> Comparison:
    """The rows of all finished trials."""
    aware = design.worlds[AWARE]
    return Comparison(
        design.graph.source,
        design.graph.n,
        design.graph.m,
        str(aware.policy),
        {str(kind): size for kind, size in aware.public.class_sizes.items()},
        aware.policy.assumptions,
        int(design.options.get("position", {}).get("rounds", 1)),
        design.trials,
        _evaluation(design, trials, AWARE),
        _evaluation(design, trials, UNIFORM),
        aware.policy.multipliers,
        _histograms(design, trials),
    )


def _evaluation(design: Design, trials: Mapping[Cell, Trial], policy: str) -> Evaluation:
    return Evaluation(
        row
        for trust, names in design.questions.items()
        for epsilon in design.epsilons
        for row in _rows(
            design, [trials[Cell(trust, policy, epsilon, i)] for i in range(design.trials)], trust, epsilon
        )
    )


def _rows(design: Design, runs: Sequence[Trial], trust: str, epsilon: Fraction) -> list[TrialRow]:
    truths = {name: design.truths[name] for name in design.questions[trust]}
    seconds = float(np.mean([run.seconds for run in runs]))
    return summaries(trust, float(epsilon), truths, [run.found for run in runs], seconds)


def _histograms(design: Design, trials: Mapping[Cell, Trial]) -> tuple[DrawnHistogram, ...]:
    """Those of the epsilon nearest to 1, for one figure."""
    epsilon = min(design.epsilons, key=lambda each: abs(math.log(each)))
    cells = (Cell(trust, policy, epsilon, 0) for trust in design.questions for policy in design.policies)
    drawn = ((cell, trials[cell].histogram) for cell in cells)
    return tuple(
        DrawnHistogram(cell.trust, cell.policy, float(epsilon), found, _over(found, design.truths[HISTOGRAM]))
        for cell, found in drawn
        if found is not None
    )


def _over(found: Histogram, truth: Any) -> tuple[float, ...]:
    return tuple(float(truth[first : last + 1].sum()) for first, last in found.bins)
