"""How the whole one-round estimate grows with the nodes. Every size runs in a process of its own, whose memory is told.

python -m benchmarks.growth NODES ROUNDS prints one size as JSON. Each size is predicted from the one before it by the
law n³, and is run only when it fits the time that is left and the memory that is free.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.registry import OURS, Measured, Target, Verdict, verdict
from benchmarks.timing import Times, peak_megabytes, seconds
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.memory import available_bytes, needed_bytes
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 50_000)
MEAN_DEGREE, LAW = 44, 3
ROUNDS, LARGEST_OF_MANY_ROUNDS = 3, 8_000
BUDGET = 60.0
GOAL_NODES, GOAL_SECONDS, GOAL_MEGABYTES = 50_000, 15.0, 2_000.0


@dataclass(frozen=True)
class Point:
    """One size: what was foretold, the median, and the most memory its process held."""

    nodes: int
    predicted: float | None
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Growth:
    """All sizes that were run, and why no more were."""

    points: tuple[Point, ...]
    stopped: str = ""

    @property
    def exponent(self) -> float | None:
        """The slope of log seconds against log nodes."""
        return fitted(self.points)[0] if len(self.points) > 1 else None

    @property
    def last_exponent(self) -> float | None:
        """The same between the two largest sizes, where what does not grow matters least."""
        return fitted(self.points[-2:])[0] if len(self.points) > 1 else None

    def predicted(self, nodes: int) -> float | None:
        """By n³ from the largest size that was run, which never grew faster."""
        if not self.points:
            return None
        last = self.points[-1]
        return last.seconds * (nodes / last.nodes) ** LAW


def fitted(points: Sequence[Point]) -> tuple[float, float]:
    """Exponent and constant by least squares on logarithms."""
    nodes, times = ([math.log(getattr(point, name)) for point in points] for name in ("nodes", "seconds"))
    slope, constant = np.polyfit(nodes, times, 1)
    return float(slope), float(constant)


def one_size(nodes: int, rounds: int) -> Point:
    """Run one size here."""
    small = VisibilityAwareGraph(powerlaw(100, 500, seed=1), VisibilityPolicy.nothing())
    estimate(small, epsilon=1, statistics="all")  # compiles
    world = VisibilityAwareGraph(powerlaw(nodes, MEAN_DEGREE * nodes // 2, seed=1), VisibilityPolicy.nothing())
    taken = median(seconds(lambda: estimate(world, epsilon=1, statistics="all")) for _ in range(rounds))
    return Point(nodes, None, taken, peak_megabytes())


def in_a_process(nodes: int) -> Point:
    """Run one size in a fresh process.

    Memory that a virtual machine has not used for a while costs its host seconds a gigabyte when it is first touched,
    so another process touches as much before a large size.
    """
    rounds = ROUNDS if nodes <= LARGEST_OF_MANY_ROUNDS else 1
    if rounds == 1:
        subprocess.run([sys.executable, "-c", f"bytearray(b'1') * {int(GOAL_MEGABYTES) << 20}"], check=True)
    command = [sys.executable, "-m", "benchmarks.growth", str(nodes), str(rounds)]
    root = Path(__file__).parent.parent
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root).stdout
    return Point(**json.loads(found))


def grow(sizes: Sequence[int] = SIZES, budget: float = BUDGET, run: Callable[[int], Point] = in_a_process) -> Growth:
    """Rising sizes until time or memory would not be enough."""
    points: list[Point] = []
    deadline = time.perf_counter() + budget
    for nodes in sizes:
        predicted = Growth(tuple(points)).predicted(nodes)
        left = deadline - time.perf_counter()
        if predicted is not None and predicted > left:
            why = f"{nodes:,} nodes would take about {predicted:,.0f} s, and {max(left, 0):,.0f} s are left"
            return Growth(tuple(points), why)
        if 2 * needed_bytes(nodes) > available_bytes():
            return Growth(tuple(points), f"{nodes:,} nodes would need more than half of the free memory")
        point = run(nodes)
        points.append(Point(nodes, predicted, point.seconds, point.megabytes))
    return Growth(tuple(points))


def goal(growth: Growth) -> Measured:
    """The largest size beside its targets; where it was not run, what is to be expected of it."""
    last = next((point for point in growth.points if point.nodes == GOAL_NODES), None)
    times = {} if last is None else {OURS: Times((last.seconds,))}
    megabytes = None if last is None else last.megabytes
    small = None if megabytes is None else megabytes <= GOAL_MEGABYTES
    foretold = growth.predicted(GOAL_NODES)
    why = "" if last or foretold is None else f"{growth.stopped}; by n³ it would take {foretold:,.0f} s"
    return Measured(
        f"growth-{GOAL_NODES}",
        f"one-round estimate of {GOAL_NODES:,} nodes, all statistics",
        f"a power-law graph of {GOAL_NODES:,} nodes" if last else "",
        times,
        (
            verdict(Target("seconds", GOAL_SECONDS), times),
            Verdict(f"≤ {GOAL_MEGABYTES:,.0f} MB", "", megabytes, small),
        ),
        why_not=why,
    )


if __name__ == "__main__":
    print(json.dumps(asdict(one_size(int(sys.argv[1]), int(sys.argv[2])))))
