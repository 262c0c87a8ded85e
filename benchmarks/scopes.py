"""What a scope buys on real graphs: error, bias and coverage of triangles inside, beside asking everybody.

VA_EDGE_LDP_DATA=folder python -m benchmarks.scopes [--only "user" "two rounds"] [--runs 200]
VA_EDGE_LDP_DATA=folder python -m benchmarks.scopes --times [--runs 20]

The second one measures time and memory of an estimate inside ten public lists and of asking everybody, in turn.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.timing import dataset
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.evaluation.plan.planner import plan
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.readers import read_graph

RUNS = 200
EGOS = """kind = "profiles"
file = "{}"
public_when = "is_ego == 1"
rule = "any"
"""
FACEBOOK = ("facebook_combined.txt.gz", "facebook_profile.csv.gz", "lists")
AMHERST = ("fb100-Amherst41.edges.txt.gz", "fb100-Amherst41.nodes.csv.gz", "group:year,missing=0")


@dataclass(frozen=True)
class Setting:
    """A graph with its attributes, a scope (None: everybody is asked), a loss, and options of ``estimate``."""

    name: str
    graph: str
    attributes: str
    scope: str | None
    epsilon: float = 1
    options: dict[str, Any] = field(default_factory=dict)

    def world(self) -> VisibilityAwareGraph | None:
        """The graph inside; None where its files are not here."""
        graph, attributes = dataset(self.graph), dataset(self.attributes)
        if graph is None or attributes is None:
            return None
        with TemporaryDirectory() as folder:
            file = Path(folder) / "egos.toml"
            file.write_text(EGOS.format(attributes))
            policy = open_policy(str(file) if "facebook" in self.graph else "nothing")
        world = VisibilityAwareGraph(read_graph(graph), policy)
        return world if self.scope is None else world.inside(self.scope, attributes)


def settings() -> Iterator[Setting]:
    """Everything that the table shows."""
    everybody, inside = (*FACEBOOK[:2], None), FACEBOOK
    for epsilon in (0.5, 1, 2):
        yield Setting("everybody", *everybody, epsilon)
        yield Setting("ten lists", *inside, epsilon)
    yield Setting("ten lists, two rounds", *inside, 1, {"rounds": 2})
    for away in (0.1, 0.3):
        yield Setting(f"ten lists, {away:.0%} away", *inside, 1, {"dropout": away})
    yield Setting("user, everybody", *everybody, 1, {"trust": "user"})
    yield Setting("user, ten lists", *inside, 1, {"trust": "user"})
    yield Setting("Amherst, everybody", *AMHERST[:2], None)
    yield Setting("Amherst, same year", *AMHERST)


def row(setting: Setting, world: VisibilityAwareGraph, runs: int) -> str:
    """A line of the table: what is asked and inside, and what so many runs found."""
    asked = {"statistics": ["triangles"], "epsilon": setting.epsilon, **setting.options}
    truth, whole = exact(world.graph, "triangles"), exact(world.whole, "triangles")
    found, seconds = [], []
    for seed in range(runs):
        started = time.process_time()
        found.append(estimate(world, seed=seed, **asked)["triangles"])
        seconds.append(time.process_time() - started)
    values, errors = (np.array([getattr(each, of) for each in found]) for of in ("value", "standard_error"))
    held = np.mean([low <= truth <= high for low, high in (each.interval() for each in found)])
    z = (values.mean() - truth) / (values.std(ddof=1) / runs**0.5)
    share = sum(world.public.class_sizes[kind] for kind in NON_PUBLIC) / world.public.positions
    wrong = np.abs(values / truth - 1)
    cells = (
        setting.name, f"{setting.epsilon:g}", f"{share:.1%}", f"{truth / whole:.2%}", f"{wrong.mean():.2%}",
        f"{wrong.std(ddof=1) / runs**0.5:.2%}", f"{errors.mean() / truth:.2%}", predicted(setting, world),
        f"{z:+.2f}", f"{held:.1%}", f"{1000 * np.median(seconds):.0f} ms", f"{peak(world, asked):.1f} MB",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


TIMED: dict[str, dict[str, Any]] = {
    "once": {},
    "two rounds": {"rounds": 2},
    "10% away": {"dropout": 0.1},
    "transitivity too": {"statistics": ["triangles", "transitivity"]},
    "four_cycles too": {"statistics": ["triangles", "four_cycles"]},
    "user": {"trust": "user"},
}
TIMES = ("triangles", "asked", "one core", "all cores, processor", "all cores, elapsed", "memory")


def times(label: str, options: dict[str, Any], runs: int) -> Iterator[str]:
    """Two lines: what one estimate takes at least when everybody is asked, and inside the lists."""
    names = {"everybody": None, "ten lists": FACEBOOK[2]}
    worlds = {name: Setting(name, *FACEBOOK[:2], scope).world() for name, scope in names.items()}
    least: dict[str, list[float]] = {name: [float("inf")] * 3 for name in worlds}
    asked = {"statistics": ["triangles"], "epsilon": 1, **options}

    def once(world: VisibilityAwareGraph | None, seed: int) -> tuple[float, float]:
        if world is None:
            return 0.0, 0.0
        begun, started = time.perf_counter(), time.process_time()
        estimate(world, seed=seed, **asked)
        return time.process_time() - started, time.perf_counter() - begun

    for seed in range(runs + 1):  # the first one only loads the kernels
        for name, world in worlds.items():
            # Within a piece of larger work an estimate keeps to one core.
            alone, _ = on_cores(lambda each, seed=seed: once(each, seed), [world, None])
            found = (alone[0], *once(world, seed))
            if seed:
                least[name] = [min(pair) for pair in zip(least[name], found, strict=True)]
    for name, world in worlds.items():
        if world is not None:
            took = (f"{1000 * each:.0f} ms" for each in least[name])
            yield "| " + " | ".join((label, name, *took, f"{peak(world, asked):.1f} MB")) + " |"


def predicted(setting: Setting, world: VisibilityAwareGraph) -> str:
    """The standard error that a plan foretells, where it knows the options."""
    if setting.options.keys() - {"trust"}:
        return ""
    models = [setting.options.get("trust", "position")]
    found = plan(
        family=world.whole, policy=world.policy, epsilons=[setting.epsilon], statistics=["triangles"], trust=models
    )
    return f"{found.predictions[0].relative_standard_error:.2%}"


def peak(world: VisibilityAwareGraph, asked: dict[str, Any]) -> float:
    """Megabytes that one more run takes at most."""
    tracemalloc.start()
    estimate(world, seed=0, **asked)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 1e6


HEAD = (
    "triangles", "ε", "positions asked", "triangles inside", "mean error", "its own error", "standard error",
    "predicted", "z of the bias", "coverage", "processor time", "memory",
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Print the table, a line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], help="settings whose names contain one of these")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--times", action="store_true", help="measure time and memory alone")
    given = parser.parse_args(arguments)
    if given.times:
        print("| " + " | ".join(TIMES) + " |\n|" + "---|" * len(TIMES), flush=True)
        for label, options in TIMED.items():
            if any(part in label for part in given.only):
                for line in times(label, options, given.runs):
                    print(line, flush=True)
        return 0
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    for setting in settings():
        if any(part in setting.name for part in given.only):
            world = setting.world()
            if world is not None:
                print(row(setting, world, given.runs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
