"""What repeated collections found: one row a statistic and epsilon, and both policies side by side."""

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.privacy.parameters import Number, parse_epsilon
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers
from visibility_aware_edge_ldp.tabular import Records, Tabular, aligned, draw_lines, html_table

AWARE, UNIFORM = "visibility-aware", "uniform"
Progress = Callable[[int], None]


@dataclass(frozen=True)
class TrialRow:
    """One statistic at one epsilon, over all trials.

    ``truth``, ``mean_estimate`` and ``standard_deviation`` are NaN for statistics that are arrays, whose
    error is Σ|estimate − truth| / Σ truth. ``coverage`` is the share of 95 % intervals that held the truth.
    """

    epsilon: float
    statistic: str
    truth: float
    mean_estimate: float
    standard_deviation: float
    mean_relative_error: float
    error_uncertainty: float
    coverage: float
    trials: int
    seconds: float
    trust: str = "position"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV; the trust model first."""
        return {"trust": self.trust, **asdict(self)}


@dataclass(frozen=True)
class Measured:
    """One statistic in one trial: what was estimated, how far off it was, and whether its interval held the truth."""

    value: float
    error: float
    covered: float


def relative_error(value: Any, truth: Any) -> float:
    """|value − truth| / truth; for arrays the sums of both; infinite where the truth is 0 and missed."""
    miss, size = float(np.abs(np.subtract(value, truth)).sum()), float(np.abs(truth).sum())
    return miss / size if size else (0.0 if not miss else float("inf"))


class Evaluation(Sequence[TrialRow], Tabular):
    """The rows of an evaluation; prints as a table."""

    def __init__(self, rows: Iterable[TrialRow]) -> None:
        self._rows = tuple(rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def records(self) -> Records:
        """One row a statistic and epsilon."""
        return [row.as_dict() for row in self._rows]

    def draw(self, axes: Any) -> None:
        """Mean relative error against ε."""
        draw_lines(axes, self.records(), "mean_relative_error", ("trust", "statistic"), "mean relative error")

    def __repr__(self) -> str:
        return f"<Evaluation: {len(self)} rows of {', '.join(dict.fromkeys(row.statistic for row in self._rows))}>"

    def row(self, epsilon: Number, statistic: str, trust: str | None = None) -> TrialRow:
        """The row of a statistic at an epsilon; of the first trust model that has one, unless it is named."""
        wanted = (float(parse_epsilon(epsilon)), statistic)
        models = {row.trust for row in self._rows} if trust is None else {trust}
        return next(row for row in self._rows if (row.epsilon, row.statistic) == wanted and row.trust in models)

    def __str__(self) -> str:
        lines = [f"{'epsilon':>7}  {'statistic':<17}{'truth':>15}{'mean error':>12}{'covered':>9}{'seconds':>9}"]
        for row in self._rows:
            _, epsilon, name, truth, error, _, covered, seconds = _texts(row)
            lines.append(f"{epsilon:>7}  {name:<17}{truth:>15}{error:>12}{covered:>9}{seconds:>9}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ("trust", "ε", "statistic", "true value", "mean error", "± s.e.", "covered", "seconds")
        return html_table(head, [_texts(row) for row in self._rows])


def _texts(row: TrialRow) -> tuple[str, ...]:
    truth = "array" if np.isnan(row.truth) else number(row.truth)
    doubt = "-" if np.isnan(row.error_uncertainty) else f"{row.error_uncertainty:.2%}"
    covered = "-" if np.isnan(row.coverage) else f"{row.coverage:.0%}"
    found = (truth, f"{row.mean_relative_error:.2%}", doubt, covered)
    return row.trust, f"{row.epsilon:g}", row.statistic, *found, f"{row.seconds:.2f}"


@dataclass(frozen=True)
class Histogram:
    """A degree histogram: the bins' (first, last) degrees, and how many nodes were found in each."""

    bins: tuple[tuple[int, int], ...]
    nodes: tuple[float, ...]


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


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
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
        return [TRUSTS[trust].spending for trust in self.models]

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

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.aware)} rows of {self.graph}, {', '.join(self.models)}>"

    def records(self) -> Records:
        """One row a trust model, ε, statistic and policy."""
        both = ((AWARE, self.aware), (UNIFORM, self.uniform))
        return [{"policy": policy, **row.as_dict()} for policy, rows in both for row in rows]

    def draw(self, axes: Any) -> None:
        """Mean relative error against ε under both policies."""
        columns = ("trust", "statistic", "policy")
        draw_lines(axes, self.records(), "mean_relative_error", columns, "mean relative error")

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
        return "\n".join(aligned([head, *self.table()]))

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
