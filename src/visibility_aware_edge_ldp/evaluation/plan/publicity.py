"""What making more public buys: edges, positions, profiles drawn by lot, or the profiles of the hubs.  [PLAN.12]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.evaluation.plan.one_pass import moments_of
from visibility_aware_edge_ldp.evaluation.plan.predicted import offers, predictions
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.graph import Graph

SHARES = ("0.1", "0.25", "0.5")
# Nodes whose rows are looked at: ten policies must not take ten times as long as one plan.
ROWS = 384
KINDS = {
    "edges": "{} of the true edges",
    "positions": "{} of all positions",
    "profiles": "{} of the profiles",
    "hubs": "the largest {} of the profiles",
}
POLICIES = 1 + len(SHARES) * len(KINDS)


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
    statistic: str,
    epsilon: Fraction,
    trust: Sequence[str],
    values: dict[str, float] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Publicity]:
    """The standard error of these trust models as more becomes public.

    ``values`` are counts of this graph that are known already; ``progress`` is called with 1 after each policy.
    """
    models = [model for model in trust if offers(model, statistic)]
    rows, known = [], {} if values is None else values
    for kind, share, policy in _policies(graph):
        moments = moments_of(VisibilityAwareGraph(graph, policy), statistic == "four_cycles", ROWS)
        moments.values = known
        for model in models:
            (row,) = predictions(moments, model, epsilon, [statistic], bounds=False)
            relative = row.standard_error / row.value if row.value else float("nan")
            rows.append(Publicity(kind, float(share), model, relative, row.note))
        if progress is not None:
            progress(1)
    return rows


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
