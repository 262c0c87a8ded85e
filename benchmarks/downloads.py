"""USER triangles where each user downloads a part of the first answers: error, coverage, time and memory.

VA_EDGE_LDP_DATA=folder python -m benchmarks.downloads [--graph FILE] [--runs 20] [--download 10MB 100MB]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks import rivals
from benchmarks.estimates import EPSILON, private, scipy_checked
from benchmarks.registry import OURS, Comparison, NotHereError, Setting, Target, rival, work
from benchmarks.timing import dataset
from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import part_triangles
from visibility_aware_edge_ldp.counts.exact import triangles
from visibility_aware_edge_ldp.evaluation.plan.downloads import download_error
from visibility_aware_edge_ldp.public.surveys.row_parts import groups_for_download, parse_size, part_survey
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.row_parts import collect_parts
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

LARGEST, DOWNLOADS = "imdb-actors-c20.edges.txt.gz", ("10MB", "100MB")
SHARE, FEWER = 100, 20_000


def graph_of(name: str) -> Graph:
    """A real graph; says so where it is not here."""
    path = dataset(name)
    if path is None:
        raise NotHereError(name)
    return read_graph(path)


def whole(graph: Graph, download: str = DOWNLOADS[0]) -> Setting:
    """Both rounds of all users of a large graph, through the wire format, with a standard error."""
    world = private(graph)
    run = partial(estimate, world, "user", EPSILON, ["triangles"], download=download)
    return Setting(f"{graph.size}, {download} for each user", (work(OURS, run),))


def beside(graph: Graph) -> Setting:
    """A share of the first answers, beside a plain version in which only that share is answered at all."""
    world, draws = private(graph), np.random.default_rng()
    plain = partial(rivals.sampled_two_rounds, graph, EPSILON, draws, 1 / SHARE)
    run = partial(estimate, world, "user", EPSILON, ["triangles"], share=f"{1 / SHARE:g}")
    return Setting(
        f"{graph.size}, 1/{SHARE} of the first answers",
        (work(OURS, run), rival("NumPy and SciPy, plainly", lambda: scipy_checked(plain))),
    )


COMPARISONS = (
    Comparison(
        "downloads",
        "USER triangles with 10 MB of first answers for each user",
        lambda: whole(graph_of(LARGEST)),
        (Target("seconds", 60),),
        rounds=1,
        long=True,
    ),
    Comparison(
        "downloads-20000",
        "USER triangles with a share of the first answers",
        lambda: beside(graph_of(LARGEST).highest_degree(FEWER)),
        (Target("faster", 1, "NumPy and SciPy, plainly"),),
        rounds=1,
        long=True,
    ),
)


def main(words: Sequence[str] | None = None) -> None:
    """The table; each run answers once for all downloads, whose surveys share their first answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default=LARGEST)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--download", nargs="+", default=list(DOWNLOADS))
    given = parser.parse_args(words)
    try:
        graph = graph_of(given.graph)
    except NotHereError as missing:
        sys.exit(f"{missing} is not in the folder that VA_EDGE_LDP_DATA names.")
    world, true = private(graph), float(triangles(graph))
    sizes = {each: groups_for_download(parse_size(each), graph.n) for each in given.download}
    found: dict[str, list[tuple[float, float, bool]]] = {each: [] for each in sizes}
    for seed in range(1, given.runs + 1):
        began = time.perf_counter()
        surveys = {each: part_survey(world.public, EPSILON, groups, f"coin {seed}") for each, groups in sizes.items()}
        for each, collection in collect_parts(world, surveys, seed).items():
            told = part_triangles(collection)
            low, high = told.interval()
            found[each].append((float(told.value) / true - 1, float(told.standard_error) / true, low <= true <= high))
        print(f"run {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{graph.size}, ε = {EPSILON}, {given.runs} runs, at most {most:.1f} GB")
    for each, groups in sizes.items():
        off, errors, held = np.array(found[each], dtype=np.float64).T
        predicted = download_error(world, EPSILON, groups, true).mean_error
        print(
            f"{each}: mean error {np.abs(off).mean():.2%}, predicted {predicted:.2%}, bias {off.mean():+.2%}, standard "
            f"error {np.sqrt((errors**2).mean()):.2%} (found {np.sqrt((off**2).mean()):.2%}), held {held.mean():.1%}"
        )


if __name__ == "__main__":
    main()
