"""How estimates grow with the nodes. Every size runs in a process of its own, whose memory is told.

python -m benchmarks.growth NODES ROUNDS prints one size of the whole one-round estimate as JSON. Each size is predicted
from the one before it by the law n³, and is run only when it fits the time that is left and the memory that is free.
With the name of a way as a third word it prints that way's size, in processor time of all cores, which other programs
on the machine hardly change.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.registry import OURS, Comparison, Measured, Setting, Target, Verdict, Work, verdict
from benchmarks.timing import Times, peak_megabytes, seconds
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.groups import Groups
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


@dataclass(frozen=True)
class Way:
    """One way of estimating: what it is, how it may grow at most (n to this), and the sizes that fit into memory."""

    what: str
    law: int
    sizes: tuple[int, ...]
    run: Callable[[VisibilityAwareGraph], object]


FEW, MANY = (1_000, 2_000, 4_000, 8_000, 16_000), (1_000, 4_000, 16_000, 64_000, 200_000)
WAYS = {
    "position": Way(
        "triangles by one round of POSITION", 3, FEW, lambda world: estimate(world, "position", 1, ["triangles"])
    ),
    "user": Way(
        "USER triangles from all first answers", 3, FEW, lambda world: estimate(world, "user", 1, ["triangles"])
    ),
    "user-parts": Way(
        "USER triangles from 1/100 of the first answers",
        2,
        MANY,
        lambda world: estimate(world, "user", 1, ["triangles"], share="1/100"),
    ),
    "degrees": Way("USER degrees", 1, MANY, lambda world: estimate(world, "user", 1, ["edges", "stars:2"])),
    "groups": Way("USER friends in ten groups", 1, MANY, lambda world: estimate(world, "user", 1, ["mixing"])),
}
WAY_DEGREE, TENTHS, WAY_MEGABYTES = 20, 10, 4_000


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


def one_of(way: str, nodes: int) -> Point:
    """Run one size of a way here, in processor time; another graph of this size goes before it.

    That one compiles, and fills the tables from which noise for many users is drawn.
    """
    for seed in (2, 1):
        world = _grouped(nodes, seed)
        begin = time.process_time()
        WAYS[way].run(world)
    return Point(nodes, None, time.process_time() - begin, peak_megabytes())


def _grouped(nodes: int, seed: int) -> VisibilityAwareGraph:
    graph = powerlaw(nodes, WAY_DEGREE * nodes // 2, seed=seed)
    labels = tuple(f"group {number}" for number in range(TENTHS))
    return VisibilityAwareGraph(graph, VisibilityPolicy.nothing()).grouped(
        Groups("tenth", labels, np.arange(nodes) % TENTHS)
    )


def of_way(name: str, sizes: Sequence[int] = ()) -> Setting:
    """Every size of a way, each in a process of its own; afterwards how it grew."""
    points: list[Point] = []

    def take(nodes: int) -> float:
        points.append(_child(nodes, 1, name))
        return points[-1].seconds

    def grown() -> tuple[Verdict, ...]:
        law, found, most = WAYS[name].law, Growth(tuple(points)), max((each.megabytes for each in points), default=None)
        ends = ((found.exponent, "all sizes"), (found.last_exponent, "the two largest"))
        told = (
            Verdict(f"n^{law} at most", each, slope, None if slope is None else slope <= law) for slope, each in ends
        )
        held = None if most is None else most <= WAY_MEGABYTES
        return (*told, Verdict(f"≤ {WAY_MEGABYTES:,} MB", "most memory", most, held))

    works = tuple(Work(f"{nodes:,} nodes", partial(take, nodes)) for nodes in sizes or WAYS[name].sizes)
    return Setting(f"power-law graphs of mean degree {WAY_DEGREE}, processor time", works, also=grown)


def in_a_process(nodes: int) -> Point:
    """Run one size in a fresh process.

    Memory that a virtual machine has not used for a while costs its host seconds a gigabyte when it is first touched,
    so another process touches as much before a large size.
    """
    rounds = ROUNDS if nodes <= LARGEST_OF_MANY_ROUNDS else 1
    if rounds == 1:
        subprocess.run([sys.executable, "-c", f"bytearray(b'1') * {int(GOAL_MEGABYTES) << 20}"], check=True)
    return _child(nodes, rounds)


def _child(nodes: int, rounds: int, *way: str) -> Point:
    command = [sys.executable, "-m", "benchmarks.growth", str(nodes), str(rounds), *way]
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


COMPARISONS = tuple(
    Comparison(f"growth-{name}", f"{way.what}, as people become more", partial(of_way, name), rounds=1, long=True)
    for name, way in WAYS.items()
)


if __name__ == "__main__":
    size, again, *one = sys.argv[1:]
    print(json.dumps(asdict(one_of(one[0], int(size)) if one else one_size(int(size), int(again)))))
