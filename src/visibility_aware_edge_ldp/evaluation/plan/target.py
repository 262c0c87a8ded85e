"""The smallest ε that reaches an error, the cheapest trust model, and what more publicity buys.  [PLAN.10]"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.plan.moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.one_pass import moments_of
from visibility_aware_edge_ldp.evaluation.plan.predicted import offers, predictions
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.graph import Graph

# Epsilons that are looked at, in thousandths, and how finely.
_LEAST, _MOST = 10, 16_000
_FINE = 1.02
# Trust models by how much one reporter must be trusted with: its one bit, its list, its friends' lists, everything.
BY_TRUST = ("position", "user", "neighbourhood", "curator")
SHARES = ("0.1", "0.25", "0.5")


@dataclass(frozen=True)
class Reached:
    """Where one statistic reaches the target: the smallest ε of each trust model, None where none does."""

    statistic: str
    target_error: float
    epsilons: dict[str, float | None]

    @property
    def least_trust(self) -> str | None:
        """The model that trusts least and reaches the target with ε at most 1, or else with any ε."""
        known = {name: e for name in BY_TRUST if (e := self.epsilons.get(name)) is not None}
        small = [name for name, epsilon in known.items() if epsilon <= 1]
        return next(iter(small or known), None)

    @property
    def least_epsilon(self) -> str | None:
        """The local model that reaches the target with the smallest ε; the centre only where no local one does."""
        known = {name: e for name, e in self.epsilons.items() if e is not None}
        local = {name: e for name, e in known.items() if name != "curator"} or known
        return min(local, key=lambda name: local[name]) if local else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "least_trust": self.least_trust, "least_epsilon": self.least_epsilon}

    def __str__(self) -> str:
        each = ", ".join(f"{name} {'never' if e is None else f'ε = {e:.3g}'}" for name, e in self.epsilons.items())
        best = f" Smallest loss without a centre: {self.least_epsilon}." if self.least_epsilon in BY_TRUST[:-1] else ""
        return f"{self.statistic} within {self.target_error:.3g}: {each}.{best}"


def reached(
    moments: Moments, trust: Sequence[str], statistics: Sequence[str], target_error: float, delta: Fraction
) -> list[Reached]:
    """For each statistic and trust model the smallest ε, all statistics asked together."""
    if not 0 < target_error < 1:
        raise BadInput(f"A target error is a share of the value between 0 and 1, such as 0.05; got {target_error}.")
    return [
        Reached(
            name,
            target_error,
            {
                model: smallest_epsilon(moments, model, statistics, name, target_error, delta)
                for model in trust
                if offers(model, name)
            },
        )
        for name in statistics
    ]


def smallest_epsilon(
    moments: Moments,
    trust: str,
    statistics: Sequence[str],
    statistic: str,
    target_error: float,
    delta: Fraction = Fraction(0),
) -> float | None:
    """The smallest ε, to 2 %, whose predicted mean relative error is at most the target."""

    def good(thousandths: int) -> bool:
        rows = predictions(moments, trust, Fraction(thousandths, 1000), statistics, delta, [statistic], bounds=False)
        row = rows[0]
        # Where hardly any bit is flipped the law is not normal, and the standard error is small all the same.
        return row.mean_relative_error <= target_error if row.holds else row.standard_error <= target_error * row.value

    if not good(_MOST):
        return None
    low, high = _LEAST, _MOST
    while high > low * _FINE and high > low + 1:
        middle = max(low + 1, min(round((low * high) ** 0.5), high - 1))
        low, high = (low, middle) if good(middle) else (middle, high)
    return high / 1000


def publicity(graph: Graph, statistic: str, epsilon: Fraction, trust: Sequence[str]) -> list[dict[str, Any]]:
    """The standard error of these trust models as more becomes public."""
    rows = []
    for what, policy in _policies():
        moments = moments_of(VisibilityAwareGraph(graph, policy), statistic == "four_cycles")
        for model in (each for each in trust if offers(each, statistic)):
            (row,) = predictions(moments, model, epsilon, [statistic], bounds=False)
            relative = row.standard_error / row.value if row.value else float("nan")
            rows.append({"public": what, "trust": model, "relative_standard_error": relative, "note": row.note})
    return rows


def _policies() -> Iterator[tuple[str, VisibilityPolicy]]:
    yield "nothing", VisibilityPolicy.nothing()  # type: ignore[misc]
    for share in SHARES:
        yield f"{share} of all positions", VisibilityPolicy(share)
        yield f"{share} of the profiles", VisibilityPolicy.public_profiles(share)  # type: ignore[misc]
        yield f"the largest {share} of the profiles", VisibilityPolicy.public_hubs(share)  # type: ignore[misc]
