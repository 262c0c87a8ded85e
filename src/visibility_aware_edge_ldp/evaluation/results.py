"""What repeated collections found: one row a statistic and epsilon, and both policies side by side."""

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.evaluation import expected_errors
from visibility_aware_edge_ldp.evaluation.gains import Gain, Split, helps, reached_words
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers
from visibility_aware_edge_ldp.tabular import Records, Tabular, aligned, draw_lines, html_table

AWARE, UNIFORM = "visibility-aware", "uniform"
Progress = Callable[[int], None]
# Normal deviates beyond which errors are surely not of the size that standard errors say: one row in a thousand.
SURELY = 3.3


@dataclass(frozen=True)
class TrialRow:
    """One statistic at one epsilon, over all trials.

    ``truth``, ``mean_estimate`` and ``standard_deviation`` are NaN for statistics that are arrays, whose
    error is Σ|estimate − truth| / Σ truth. ``coverage`` is the share of 95 % intervals that held the truth.
    ``expected`` is the figure that is compared; the observed ``errors`` check it: ``chi_square`` is the sum of their
    squares in standard errors, about as large as ``trials``. ``one`` is the first collection.
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
    expected: expected_errors.Expected | None = None
    chi_square: float = math.nan
    errors: tuple[float, ...] = ()
    one: expected_errors.Measured | None = None

    @property
    def figure(self) -> expected_errors.Expected:
        """The expected error; the mean of the observed ones where nothing better is known."""
        return self.expected or expected_errors.Expected(
            self.mean_relative_error, self.error_uncertainty, expected_errors.TRIALS
        )

    @property
    def error(self) -> float:
        """The expected relative error of one collection."""
        return self.figure.error

    @property
    def is_consistent(self) -> bool:
        """Whether the errors are of the size that the standard errors say, as far as so few can tell."""
        sure = (
            self.figure.basis == expected_errors.STANDARD_ERROR
            and abs(expected_errors.deviate(self.chi_square, self.trials)) > SURELY
        )
        return not sure

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV; the trust model first."""
        mine = ("expected", "errors", "one")
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in mine}
        first = self.one or expected_errors.Measured(self.mean_estimate, math.nan, math.nan)
        return {
            "trust": self.trust,
            **plain,
            "expected_error": self.error,
            "expected_error_low": self.error_interval[0],
            "expected_error_high": self.error_interval[1],
            "basis": self.figure.basis,
            "errors": list(self.errors),
            "first_estimate": first.value,
            **{name: getattr(first, name) for name in ("low", "high", "uncut_low", "uncut_high")},
        }

    @property
    def error_interval(self) -> tuple[float, float]:
        """The 95 % interval of the expected error, on a logarithmic scale: it never reaches 0."""
        error, doubt = self.error, self.figure.uncertainty
        if not (error and math.isfinite(error) and math.isfinite(doubt)):
            return (error, error) if not doubt else (math.nan, math.nan)
        reach = math.exp(expected_errors.clear(max(self.trials - 1, 1)) * doubt / error)
        return error / reach, error * reach


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


@dataclass(frozen=True)
class Matrix:
    """A mixing or contact matrix: each two groups, and what was found between them, with its interval."""

    pairs: tuple[tuple[str, str], ...]
    values: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]


HEAD = ("trust", "ε", "statistic", "uniform", "visibility-aware", "gain")


LOSS = "ε is the loss per PRIVATE edge against all reports together, once for all statistics of a collection."


@dataclass(frozen=True)
class DrawnHistogram:
    """The degree histogram of one collection beside the true one, which is added up over the same bins."""

    trust: str
    policy: str
    epsilon: float
    drawn: Histogram
    truth: tuple[float, ...]


@dataclass(frozen=True)
class DrawnMatrix:
    """The matrix of one collection beside the true one."""

    trust: str
    policy: str
    epsilon: float
    statistic: str
    drawn: Matrix
    truth: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("trust", "policy", "epsilon", "statistic")
        return {
            **{name: getattr(self, name) for name in names},
            "labels": [list(pair) for pair in self.drawn.pairs],
            "value": list(self.drawn.values),
            "interval": [list(self.drawn.lows), list(self.drawn.highs)],
            "truth": list(self.truth),
        }


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
    splits: tuple[Split, ...] = ()
    inside: Mapping[str, float] = field(default_factory=dict)
    """With a scope: what each lever does, and what part of each true count lies inside."""
    matrices: tuple[DrawnMatrix, ...] = ()

    @property
    def asked(self) -> float:
        """What share of all positions is asked."""
        return 1 - self.positions.get("PUBLIC", 0) / max(sum(self.positions.values()), 1)

    @property
    def scope_words(self) -> list[str]:
        """With a scope: what is asked, and what part of the truth lies inside."""
        if not self.splits:
            return []
        parts = ", ".join(f"{_percent(part)} of {name}" for name, part in self.inside.items())
        return [f"The scope asks {_percent(self.asked)} of the positions; inside lie {parts}. All errors are of these."]

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
        compared = "visibility-aware against uniform, expected relative error of one collection"
        return f"{self.graph}: {compared}; policy: {self.policy}"

    @property
    def verdict(self) -> list[str]:
        """Whether visibility helps and by how much, and which epsilon reaches a usual target."""
        return [helps(self.gains), *reached_words(self.aware, self.uniform)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names, split = ("graph", "nodes", "edges", "policy", "rounds", "trials"), [row.as_dict() for row in self.splits]
        scope = {"positions_asked": self.asked, "part_inside": dict(self.inside), "split": split}
        return {
            **{name: getattr(self, name) for name in names},
            "trust": self.models,
            "loss": "epsilon times its class's multiplier per edge against all reports, for all statistics together",
            "notes": self.notes,
            "caution": "simulated on a graph that was held; true values are printed, so these results are not private",
            "loss_multipliers": {str(kind): float(self.multipliers.of(kind)) for kind in NON_PUBLIC},
            "positions": dict(self.positions),
            "assumptions": list(self.assumptions),
            "verdict": self.verdict,
            AWARE: [row.as_dict() for row in self.aware],
            UNIFORM: [row.as_dict() for row in self.uniform],
            "gains": [gain.as_dict() for gain in self.gains],
            **({"scope": scope} if self.splits else {}),
            **({"matrices": [each.as_dict() for each in self.matrices]} if self.matrices else {}),
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
                _percent(gain.uniform.error),
                _percent(gain.aware.error),
                gain.words,
            )
            for gain in self.gains
        ]

    def __str__(self) -> str:
        head = ("trust", "epsilon", "statistic", "uniform error", "visibility-aware error", "gain")
        return "\n".join(aligned([head, *self.table()]))

    def _repr_html_(self) -> str:
        told = "".join(f"<p>{html.escape(text)}</p>" for text in (*self.verdict, LOSS))
        return f"<p>{html.escape(self.title)}</p>{html_table(HEAD, self.table())}{told}"


def _percent(error: float) -> str:
    """A relative error; there is none where the truth is 0."""
    if not math.isfinite(error):
        return "-"
    if 0 < error < 1e-5:
        return "<0.001%"
    return f"{error:.2%}" if error >= 0.001 or not error else f"{error * 100:.2g}%"
