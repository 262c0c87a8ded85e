"""How often 95 % intervals hold the truth when users stay away; the figures in the theorem files come from here.

VA_EDGE_LDP_DATA=folder python -m benchmarks.coverage [sums] [triangles] [cycles] [owned]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.timing import dataset
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of
from visibility_aware_edge_ldp.aggregator.rows import cycles, triangles
from visibility_aware_edge_ldp.counts.degrees.degree_functions import binomial
from visibility_aware_edge_ldp.counts.nonresponse import missing
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

FILES = {
    "Caltech": "fb100-Caltech36.edges.txt.gz",
    "Facebook": "facebook_combined.txt.gz",
    "ca-GrQc": "ca-GrQc.edges.txt.gz",
}
RUNS, SAMPLES, AWAY = 300, 2000, 0.3
NORMAL_95 = 1.96
ROWS = {"triangles": triangles, "four_cycles": cycles}


def main(wanted: list[str]) -> int:
    """Print one line a setting."""
    parts = {"sums": sums, "triangles": triangle_rows, "cycles": cycle_rows, "owned": owned}
    for name in wanted or parts:
        parts[name]()
    return 0


def graph_of(name: str) -> Graph | None:
    """A graph by name, or None where its file is not here; power-law graphs are made."""
    if name.startswith("power law"):
        nodes, edges = (int(word) for word in name.split()[2].split(","))
        return powerlaw(nodes, edges, seed=2)
    path = dataset(FILES[name])
    return None if path is None else read_graph(path)


def report(what: str, truth: float, found: Iterator[Estimate]) -> None:
    """Coverage, on which side it fails, what normal intervals would hold, bias, and deviation over standard error."""
    seen = list(found)
    limits = np.array([one.interval() for one in seen])
    values = np.array([one.value for one in seen])
    errors = np.sqrt(np.mean([one.variance for one in seen]))
    z = (values.mean() - truth) / (values.std(ddof=1) / np.sqrt(values.size))
    too_low, too_high = (limits[:, 1] < truth).mean(), (limits[:, 0] > truth).mean()
    held = 1 - too_low - too_high
    deviations = np.sqrt([one.variance for one in seen])
    normal = (np.abs(values - truth) <= NORMAL_95 * deviations).mean()
    print(
        f"  {what}: {held:.1%} of {len(seen)} held it; {too_low:.1%} below, {too_high:.1%} above; "
        f"normal ones {normal:.1%}; bias {z:+.1f} z; deviation {values.std(ddof=1) / errors:.2f} standard errors",
        flush=True,
    )


def sums() -> None:
    """2- and 3-stars expanded from those who are there, without any noise."""
    print("Sums over users of whom some are missing, without noise")
    random = np.random.default_rng(1)
    for name in (*FILES, "power law 100,600", "power law 300,1500", "power law 600,3000"):
        graph = graph_of(name)
        for k in (2, 3) if graph is not None else ():
            each = binomial(graph.degrees.astype(np.int64), k)
            for away in (0.1, 0.3, 0.5):
                there = (each[random.random(each.size) >= away] for _ in range(SAMPLES))
                found = (_expanded(sample, each.size) for sample in there)
                report(f"{name}, {k}-stars, {away:.0%} missing", float(each.sum()), found)


def _expanded(sample: np.ndarray, users: int) -> Estimate:
    return estimate_of("stars", users / sample.size * float(sample.sum()), missing(sample, 0.0, users))


def triangle_rows() -> None:
    """USER triangles."""
    rows("triangles", [("Caltech", RUNS, (1, 4), AWAY), ("Facebook", 40, (1,), AWAY)])


def cycle_rows() -> None:
    """USER 4-cycles in two rounds."""
    settings = [("Caltech", RUNS, (1, 2, 4), 0.0), ("Caltech", RUNS, (1, 2, 4), AWAY), ("Facebook", 40, (1,), 0.0)]
    rows("four_cycles", settings)


def rows(statistic: str, settings: list[tuple[str, int, tuple[int, ...], float]]) -> None:
    """Sums over rows, nothing public."""
    print(f"USER {statistic}, nothing public")
    finish: Callable[..., Estimate] = ROWS[statistic]
    for name, runs, epsilons, away in settings:
        graph = graph_of(name)
        for epsilon in epsilons if graph is not None else ():
            world = VisibilityAwareGraph(graph, VisibilityPolicy.nothing())
            surveys = row_surveys(world.public, epsilon, [statistic])
            found = (finish(collect_rows(world, surveys, seed, away)[statistic]) for seed in range(runs))
            report(f"{name}, ε = {epsilon}, {away:.0%} away", float(exact(world.graph, statistic)), found)


def owned() -> None:
    """NEIGHBOURHOOD (a); at a large ε only who stayed away is left."""
    print("NEIGHBOURHOOD, every user reports, nothing public")
    settings = [
        ("Caltech", RUNS, (1, 200)),
        ("power law 120,1500", RUNS, (8, 200)),
        ("power law 300,1500", 4 * RUNS, (8, 200)),
        ("Facebook", 60, (1,)),
    ]
    for name, runs, epsilons in settings:
        graph = graph_of(name)
        for epsilon in epsilons if graph is not None else ():
            world, truth = VisibilityAwareGraph(graph, VisibilityPolicy.nothing()), float(exact(graph, "triangles"))
            found = (
                estimate(world, "neighbourhood", epsilon, seed=seed, dropout=AWAY)["triangles"] for seed in range(runs)
            )
            report(f"{name}, ε = {epsilon}, {AWAY:.0%} away", truth, found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
