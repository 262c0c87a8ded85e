"""What was foretold beside what was taken, for runs of every kind.

python -m benchmarks.foretold prints foretold, taken and their ratio; aimed at is a ratio within 30 %.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.registry import OURS, Comparison, Setting, Target, Work
from benchmarks.timing import seconds
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.simulation.options import statistics_for
from visibility_aware_edge_ldp.simulation.runtime_forecast import forecast
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

MEAN_DEGREE, WITHIN = 44, 0.3


@dataclass(frozen=True)
class Asked:
    """One run."""

    nodes: int
    trust: str = "position"
    policy: str = "nothing"
    statistics: str = "all"
    rounds: int = 1

    def __str__(self) -> str:
        twice = ", two rounds" if self.rounds == 2 else ""
        return f"{self.trust}, {self.policy}, {self.statistics}{twice}: {self.nodes:,} nodes"


RUNS = (
    Asked(3_000),
    Asked(6_000),
    Asked(16_000),
    Asked(16_000, statistics="triangles"),
    Asked(20_000, statistics="edges,max_degree"),
    Asked(6_000, policy="profiles:0.5"),
    Asked(3_000, policy="document-001"),
    Asked(6_000, policy="document-001"),
    Asked(6_000, rounds=2),
    Asked(6_000, "user", statistics="triangles"),
    Asked(12_000, "user", statistics="triangles"),
    Asked(6_000, "user", "document-001", "triangles"),
)
JUDGED = Asked(16_000)


@dataclass(frozen=True)
class Kept:
    """What was foretold and what was taken, in seconds."""

    asked: Asked
    foretold: float
    taken: float

    @property
    def ratio(self) -> float:
        """Of what was foretold to what was taken."""
        return self.foretold / self.taken

    def __str__(self) -> str:
        mark = "✓" if abs(self.ratio - 1) <= WITHIN else "✗"
        return f"{self.foretold:9.2f} {self.taken:9.2f} {self.ratio:7.2f} {mark}  {self.asked}"


def foretold_and_taken(asked: Asked) -> Kept:
    """Foretell a run, and run it."""
    foretold, call = prepared(asked)
    return Kept(asked, foretold(), seconds(call))


def prepared(asked: Asked) -> tuple[Callable[[], float], Callable[[], object]]:
    """What foretells a run, and what runs it."""
    graph = powerlaw(asked.nodes, asked.nodes * MEAN_DEGREE // 2, seed=1)
    world = VisibilityAwareGraph(graph, open_policy(asked.policy))
    run = Run(world, asked.trust, statistics_for(world, asked.trust, asked.statistics), asked.rounds)
    options = {"rounds": asked.rounds} if asked.trust == "position" else {}
    return lambda: forecast(run).seconds, lambda: estimate(world, asked.trust, 1, asked.statistics, **options)


def setting() -> Setting:
    """The largest of them, for the table of all comparisons; what was foretold stands in a rival's place."""
    foretold, call = prepared(JUDGED)
    return Setting(str(JUDGED), (Work(OURS, lambda: seconds(call)), Work("foretold", foretold)))


COMPARISONS = (
    Comparison(
        "foretold",
        "time taken against time foretold",
        setting,
        (Target("times", 1 + WITHIN, "foretold"), Target("at least", 1 - WITHIN, "foretold")),
        rounds=3,
    ),
)


def main(runs: tuple[Asked, ...] = RUNS) -> None:
    """Print the table."""
    print(f"{'foretold':>9} {'taken':>9} {'ratio':>7}")
    for asked in runs:
        print(foretold_and_taken(asked), flush=True)


if __name__ == "__main__":
    main(RUNS[: int(sys.argv[1])] if len(sys.argv) > 1 else RUNS)
