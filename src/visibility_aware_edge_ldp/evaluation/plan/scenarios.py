"""Which ε reaches an error, in which trust model, and what making more public buys.  [PLAN.10, PLAN.12]"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.gains import Split, levers, nothing_public
from visibility_aware_edge_ldp.evaluation.results import UNIFORM
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.trust import TRUSTS

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.evaluation.plan.predictions import Prediction
    from visibility_aware_edge_ldp.truth.graph import Graph

    Predict = Callable[[str, str, Fraction], Prediction]
    """From a trust model, a statistic and ε to the predicted error."""

# Epsilons that are looked at, in thousandths, and how finely.
_LEAST, _MOST = 10, 16_000
_FINE = 1.02
_STEPS = 40
SHARES = ("0.1", "0.25", "0.5")
KINDS = {
    "edges": "{} of the true edges",
    "positions": "{} of all positions",
    "profiles": "{} of the profiles",
    "hubs": "the largest {} of the profiles",
}
POLICIES = 1 + len(SHARES) * len(KINDS)


@dataclass(frozen=True)
class Reached:
    """Where one statistic reaches the target: the smallest ε of each trust model, None where none is known to.

    ``unknown`` says for which of them nobody can tell without a simulation, and why; the others never reach it.
    """

    statistic: str
    target_error: float
    epsilons: dict[str, float | None]
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def least_trust(self) -> str | None:
        """The model that trusts least and reaches the target with ε at most 1, or else with any ε."""
        known = {name: e for name in TRUSTS if (e := self.epsilons.get(name)) is not None}
        small = [name for name, epsilon in known.items() if epsilon <= 1]
        return next(iter(small or known), None)

    @property
    def least_epsilon(self) -> str | None:
        """The local model that reaches the target with the smallest ε; the centre only where none does."""
        known = {name: e for name, e in self.epsilons.items() if e is not None}
        local = {name: e for name, e in known.items() if TRUSTS[name].local} or ({} if self.unknown else known)
        return min(local, key=lambda name: local[name]) if local else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "least_trust": self.least_trust, "least_epsilon": self.least_epsilon}

    def __str__(self) -> str:
        each = ", ".join(f"{name} {self._said(e, name)}" for name, e in self.epsilons.items())
        least = self.least_epsilon
        best = f" Smallest loss without a centre: {least}." if least is not None and TRUSTS[least].local else ""
        return f"{self.statistic} within {self.target_error:.3g}: {each}.{best}"

    def _said(self, epsilon: float | None, trust: str) -> str:
        if epsilon is not None:
            return f"ε = {epsilon:.3g}"
        return f"cannot be told ({self.unknown[trust]})" if trust in self.unknown else "never"


def reached(predict: Predict, trust: Mapping[str, Sequence[str]], statistic: str, target_error: float) -> Reached:
    """For one statistic the smallest ε of each trust model that answers it; ``trust`` says what each answers."""
    if not 0 < target_error < 1:
        raise BadInput(f"A target error is a share of the value between 0 and 1, such as 0.05; got {target_error}.")
    epsilons: dict[str, float | None] = {}
    unknown: dict[str, str] = {}
    for model in (model for model, offered in trust.items() if statistic in offered):
        # Whether there is a relative error at all does not depend on ε.
        row = predict(model, statistic, Fraction(1))
        if math.isfinite(row.relative_standard_error):
            epsilons[model] = smallest_epsilon(partial(predict, model, statistic), target_error)
        else:
            epsilons[model], unknown[model] = None, row.note
    return Reached(statistic, target_error, epsilons, unknown)


def smallest_epsilon(predict: Callable[[Fraction], Prediction], target_error: float) -> float | None:
    """The smallest ε, to 2 %, whose predicted mean relative error is at most the target.  [PLAN.10]"""

    def excess(thousandths: int) -> float:
        """ln of the predicted error over the target."""
        # Where hardly any bit is flipped the law is not normal, and the standard error is small all the same.
        size = predict(Fraction(thousandths, 1000)).likely_relative_error
        return math.inf if math.isnan(size) else math.log(max(size, 1e-300) / target_error)

    found = _first_below(excess)
    return None if found is None else found / 1000


def _first_below(excess: Callable[[int], float]) -> int | None:
    """Where a falling function reaches 0, within 2 % from above: straight lines in ln ε, kept inside a bracket."""
    low, high, guess = (_LEAST - 1, math.inf), (_MOST + 1, -math.inf), 1000
    for _ in range(_STEPS):
        value = excess(guess)
        if -math.log(_FINE) <= value <= 0:
            return guess
        low, high = (low, (guess, value)) if value <= 0 else ((guess, value), high)
        if high[0] <= max(low[0] * _FINE, low[0] + 1):
            break
        guess = _between(low, high)
    return None if high[0] > _MOST else high[0]


def _between(low: tuple[int, float], high: tuple[int, float]) -> int:
    """The next ε to look at: on the line through both ends, or from one end on a line of slope −1.5."""
    (a, above), (b, below) = low, high
    if math.isfinite(above) and math.isfinite(below):
        share = above / (above - below) if above > below else 0.5
        aim = math.log(a) + share * math.log(b / a) + _FINE / 200
    elif math.isfinite(above):
        aim = math.log(a) + max(above, 0.01) / 1.5 + _FINE / 200
    elif math.isfinite(below):
        aim = math.log(b) + min(below, -0.01) / 1.5 + _FINE / 200
    else:
        aim = math.log(a * b) / 2
    # Never nearer to an end than a fiftieth of the bracket, so that it closes even where the function jumps.
    margin = math.log(b / a) / 50
    return max(a + 1, min(round(math.exp(min(max(aim, math.log(a) + margin), math.log(b) - margin))), b - 1))


@dataclass(frozen=True)
class Publicity:
    """One trust model under one policy: how large its standard error is beside the value."""

    kind: str
    share: float
    trust: str
    relative_standard_error: float
    note: str = ""

    @property
    def public(self) -> str:
        """What is public, in words."""
        return KINDS[self.kind].format(f"{self.share:.0%}") if self.share else "nothing"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV."""
        error = self.relative_standard_error
        return {"public": self.public, **vars(self), "relative_standard_error": None if error != error else error}


def publicity(
    graph: Graph,
    predict: Callable[[VisibilityAwareGraph], Sequence[Prediction]],
    progress: Callable[[int], None] | None = None,
) -> list[Publicity]:
    """Predicted standard errors as more becomes public; ``progress`` is called with 1 after each policy."""
    rows = []
    for kind, share, policy in _policies(graph):
        found = predict(VisibilityAwareGraph(graph, policy))
        rows += [Publicity(kind, float(share), row.trust, row.relative_standard_error, row.note) for row in found]
        if progress is not None:
            progress(1)
    return rows


def splits(
    world: VisibilityAwareGraph, predict: Callable[[VisibilityAwareGraph], Sequence[Prediction]]
) -> tuple[Split, ...]:
    """For each trust model: the error with nothing public, and as one lever after the other is used."""
    steps = {UNIFORM: nothing_public(world.policy), **levers(world.policy)}
    found = [predict(VisibilityAwareGraph(world.graph, policy)) for policy in steps.values()]
    return tuple(
        Split(
            rows[0].trust,
            rows[0].statistic,
            rows[0].epsilon,
            tuple(zip(steps, (row.relative_standard_error for row in rows), strict=True)),
        )
        for rows in zip(*found, strict=True)
    )


def _policies(graph: Graph) -> Iterator[tuple[str, str, VisibilityPolicy]]:
    yield "positions", "0", VisibilityPolicy.nothing()  # type: ignore[misc]
    for share in SHARES:
        yield "edges", share, _some_edges(graph, float(share))
        yield "positions", share, VisibilityPolicy(share)
        yield "profiles", share, VisibilityPolicy.public_profiles(share)  # type: ignore[misc]
        yield "hubs", share, VisibilityPolicy.public_hubs(share)  # type: ignore[misc]


def _some_edges(graph: Graph, share: float) -> VisibilityPolicy:
    """Every so-manieth true edge: nobody could publish that without telling, and it shows how little it would help."""
    taken = graph.edges[np.floor(np.arange(round(share * graph.m)) / share).astype(np.int64).clip(max=graph.m - 1)]
    names = graph.names
    pairs = [(names[u], names[v]) for u, v in taken.tolist()]
    return VisibilityPolicy.from_positions(pairs)  # type: ignore[return-value]
