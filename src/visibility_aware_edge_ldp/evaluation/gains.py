"""What visibility buys: how many times smaller an error is, which epsilon reaches a target, and both in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from visibility_aware_edge_ldp.evaluation.expected_errors import clear
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.statistic import DEGREES, MAX_DEGREE, STATISTICS, TRANSITIVITY, TRIANGLES, exact

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.evaluation.results import TrialRow

EXACT, BETTER, SAME, WORSE, UNCLEAR = "exact", "better", "same", "worse", "unclear"
VERDICTS = (EXACT, BETTER, SAME, WORSE, UNCLEAR)
# Gains closer to 1 than this are no difference, and so are those that are surely within the wider margin.
ALIKE, NEARLY_ALIKE = math.log(1.02), math.log(1.1)
TARGET = 0.05
QUESTION = "Does visibility help?"
# Numbers that are no sums over parts of the graph.
NO_COUNTS = (DEGREES.name, MAX_DEGREE.name, TRANSITIVITY.name)
LEVERS = ("public positions", "scope", "classes")
SPLIT_HEAD = ("trust", "epsilon", "statistic", *LEVERS)


@dataclass(frozen=True)
class Gain:
    """One statistic at one epsilon under both policies."""

    aware: TrialRow
    uniform: TrialRow

    @property
    def factor(self) -> float:
        """How many times smaller the visibility-aware error is; infinite where it is exact."""
        if not self.aware.error:
            return math.inf if self.uniform.error else 1.0
        if not math.isfinite(self.aware.error):
            return math.nan
        return self.uniform.error / self.aware.error

    @property
    def uncertainty(self) -> float:
        """The standard error of the factor."""
        if not 0 < self.factor < math.inf:
            return math.nan
        pairs = ((row.figure.uncertainty, row.error) for row in (self.aware, self.uniform))
        return self.factor * math.sqrt(sum((spread / mean) ** 2 for spread, mean in pairs if mean))

    @property
    def reach(self) -> float:
        """How far the 95 % interval goes around the logarithm of the factor; NaN where nobody can tell."""
        return bound(self.aware.trials) * self.uncertainty / self.factor if self.factor else math.nan

    @property
    def verdict(self) -> str:
        """Exact, better, the same, worse, or unclear.

        It is the gain's logarithm that is tested, so that swapping the policies swaps the verdict.
        """
        if math.isinf(self.factor) or not self.factor:
            return EXACT if self.factor else WORSE
        if math.isnan(self.factor) or math.isnan(self.reach):
            return UNCLEAR
        size = abs(math.log(self.factor))
        if size > max(self.reach, ALIKE):
            return BETTER if self.factor > 1 else WORSE
        return SAME if self.reach <= NEARLY_ALIKE else UNCLEAR

    @property
    def words(self) -> str:
        """The gain as tables print it."""
        if self.verdict == EXACT:
            return EXACT
        if math.isnan(self.factor):
            return "-"
        shown = f"{self.factor:.{2 if self.factor < 10 else 1}f}×" if self.factor >= 0.1 else f"{self.factor:.1g}×"
        if self.verdict == SAME:
            return f"no difference ({shown})"
        doubt = "" if self.verdict != UNCLEAR or math.isnan(self.uncertainty) else f" ± {self.uncertainty:.2g}"
        return shown + doubt

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the factor of what is exact is infinite, and its verdict says so."""
        row, reach = self.aware, math.exp(self.reach) if math.isfinite(self.reach) else math.nan
        return {
            "trust": row.trust,
            "epsilon": row.epsilon,
            "statistic": row.statistic,
            "factor": self.factor,
            "standard_error": self.uncertainty,
            "low": self.factor / reach,
            "high": self.factor * reach,
            "verdict": self.verdict,
            "words": self.words,
        }


@dataclass(frozen=True)
class Split:
    """One statistic at one epsilon: its error with nothing public, and as one lever after the other is used."""

    trust: str
    statistic: str
    epsilon: float
    errors: tuple[tuple[str, float], ...]

    @property
    def factors(self) -> dict[str, float]:
        """How many times smaller each lever makes the error; their product is the whole gain."""
        pairs = pairwise(self.errors)
        return {name: before / after if after else math.inf for (_, before), (name, after) in pairs}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {"trust": self.trust, "statistic": self.statistic, "epsilon": self.epsilon}
        return {**told, "errors": dict(self.errors), "factors": self.factors}

    def texts(self) -> tuple[str, ...]:
        """A row of a table with the columns ``SPLIT_HEAD``."""
        gains = (f"{factor:.2f}×" for factor in self.factors.values())
        return self.trust, f"{self.epsilon:g}", self.statistic, *gains


def levers(policy: AnyPolicy) -> dict[str, AnyPolicy]:
    """What makes up a policy with a scope, one lever after the other: each policy uses those before it too.

    Public positions alone, all others guarded alike; the same inside the scope; and with classes of their own loss.
    """
    if policy.scope is None:
        return {}
    alike = policy.without_scope.guarded(friend_visible=policy.multipliers.private)
    return dict(zip(LEVERS, (alike, alike.within(policy.scope), policy), strict=True))


def nothing_public(policy: AnyPolicy) -> AnyPolicy:
    """The policy without a public position, a class or a scope, at the same losses."""
    guard = policy.multipliers
    return VisibilityPolicy.nothing().guarded(guard.friend_visible, guard.private)


def part_inside(world: VisibilityAwareGraph, truths: Mapping[str, Any]) -> dict[str, float]:
    """What part of each true count of the whole graph lies inside the scope; nothing where there is none."""
    if world.policy.scope is None:
        return {}
    counts = [name for name, truth in truths.items() if np.ndim(truth) == 0 and name not in NO_COUNTS]
    wholes = {name: float(exact(world.whole, name)) for name in counts}
    return {name: float(truths[name]) / whole for name, whole in wholes.items() if whole}


def bound(trials: int) -> float:
    """How many standard errors are clear between two figures from so many trials."""
    return clear(2 * max(trials - 1, 1))


def counted(gains: Iterable[Gain]) -> dict[str, int]:
    """How many cells have each verdict."""
    found = [gain.verdict for gain in gains]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def helps(gains: Sequence[Gain]) -> str:
    """Whether visibility helps, and by how much."""
    tally, factors = counted(gains), sorted(gain.factor for gain in gains if gain.verdict == BETTER)
    parts = []
    if len(factors) > 1:
        each = f"{factors[0]:.2f}× to {factors[-1]:.2f}× smaller (median {median(factors):.2f}×)"
        parts.append(f"{len(factors)} errors are {each}")
    elif factors:
        parts.append(f"1 error is {factors[0]:.2f}× smaller")
    parts += [f"{tally[EXACT]} {'becomes' if tally[EXACT] == 1 else 'become'} exact"] if tally[EXACT] else []
    others = {SAME: "No difference in {}.", WORSE: "Larger errors in {}.", UNCLEAR: "More trials are needed for {}."}
    rest = [words.format(tally[verdict]) for verdict, words in others.items() if tally[verdict]]
    noise = sum(gain.verdict == BETTER and gain.aware.error >= 1 for gain in gains)
    rest += [f"In {noise} of these even the smaller error exceeds 100 %: nothing but noise."] if noise else []
    answer = f"Yes, in {tally[BETTER] + tally[EXACT]} of {len(gains)} cells: {', '.join(parts)}." if parts else "No."
    return " ".join([QUESTION, answer, *rest])


def reached_words(aware: Sequence[TrialRow], uniform: Sequence[TrialRow]) -> list[str]:
    """Which epsilon each trust model needs for the usual target; triangles where they were asked for."""
    if not len(aware):
        return []
    name = decisive(aware)
    said: dict[str, list[str]] = {}
    for trust in dict.fromkeys(row.trust for row in aware if row.statistic == name):
        points = curve(aware, name, trust)
        with_it, without = (needed_epsilon(each, TARGET) for each in (points, curve(uniform, name, trust)))
        said.setdefault(_model_words(with_it, without, points), []).append(trust.upper())
    told = "; ".join(
        f"{' and '.join([', '.join(most), last] if most else [last])} {words}" for words, (*most, last) in said.items()
    )
    label = STATISTICS[name].label if name in STATISTICS else name
    return [f"{label.capitalize()} within {TARGET:.0%}: {told}."]


def decisive(rows: Sequence[TrialRow]) -> str:
    """The statistic that a verdict is about: triangles where they were asked for, else the first."""
    names = [row.statistic for row in rows]
    return TRIANGLES.name if TRIANGLES.name in names else names[0]


def curve(rows: Sequence[TrialRow], name: str, trust: str) -> list[tuple[float, float]]:
    """(epsilon, expected error) of one statistic in one trust model, by growing epsilon."""
    return sorted((row.epsilon, row.error) for row in rows if (row.statistic, row.trust) == (name, trust))


def needed_epsilon(points: Sequence[tuple[float, float]], target: float) -> float:
    """The least epsilon from which on the error stays within the target, on straight lines between logarithms.

    Minus infinity where it is within it everywhere that was tried, and infinity where it is not at the last.
    """
    outside = [place for place, (_, error) in enumerate(points) if not error <= target]
    if not outside:
        return -math.inf
    if outside[-1] == len(points) - 1:
        return math.inf
    (low, large), (high, little) = points[outside[-1]], points[outside[-1] + 1]
    if not (math.isfinite(large) and little > 0):
        return high
    share = math.log(large / target) / math.log(large / little)
    return low * math.exp(share * math.log(high / low))


def _model_words(needed: float, without: float, points: Sequence[tuple[float, float]]) -> str:
    first, last = points[0][0], points[-1][0]
    ways = {-math.inf: f"at every ε from {first:g} on", math.inf: f"not up to ε = {last:g}"}
    said = ways.get(needed) or f"at ε ≥ {_rounded_up(needed)}"
    if _rounded_up(needed) == _rounded_up(without) or without == -math.inf:
        return said
    return f"{said} (without visibility {_rounded_up(without) if without < math.inf else f'more than {last:g}'})"


def _rounded_up(epsilon: float) -> str:
    """Two digits, never less than it was."""
    if not math.isfinite(epsilon):
        return str(epsilon)
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return f"{math.ceil(epsilon / unit - 1e-9) * unit:g}"
