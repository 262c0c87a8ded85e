"""How long the smooth sensitivity of triangles takes, beside the product A @ A of the same graph by SciPy.

    VA_EDGE_LDP_DATA=folder python benchmarks/smooth_sensitivity.py [--product-of-large]

The product holds the common neighbours of all pairs, from which a plain program would take its maximum;
ours is the whole profile, exact for all pairs and distances up to the horizon. Both are timed in turn in the
same run, three times; medians and their ratio are printed. The product of imdb-actors-c10 is much larger than
its graph, and is made once, when asked for.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from scipy.sparse import csr_array

from visibility_aware_edge_ldp.client.sensitivity import star_profile, triangle_profile
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

ROUNDS = 3
SMALLEST_RATIO = {"facebook_combined.txt.gz": 10.0, "imdb-actors-c10.edges.txt.gz": 50.0}
LARGEST = "imdb-actors-c20.edges.txt.gz"
POLICIES = {"nothing public": VisibilityPolicy.nothing(), "15/35/50 % by hash": VisibilityPolicy(0.15, 0.35, 0.5)}


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def product_of(graph: Graph) -> Callable[[], object]:
    """A @ A with 32-bit counts."""
    ends = np.concatenate((graph.edges, graph.edges[:, ::-1]))
    matrix = csr_array((np.ones(len(ends), np.int32), (ends[:, 0], ends[:, 1])), shape=(graph.n, graph.n))
    return lambda: matrix @ matrix


def profiles(graph: Graph) -> dict[str, float]:
    """The median time of each profile."""
    times = {}
    for name, policy in POLICIES.items():
        known = (graph.n, graph.edges, policy.bind(graph.names))
        makes = {"triangles": partial(triangle_profile, *known), "3-stars": partial(star_profile, *known, 3)}
        for statistic, make in makes.items():
            times[f"{statistic}, {name}"] = median(seconds(make) for _ in range(ROUNDS))
    return times


def compare(path: Path, rounds: int) -> bool:
    """Print the ratio to the product; whether it is as large as promised."""
    graph = read_graph(path)
    product, classes = product_of(graph), VisibilityPolicy.nothing().bind(graph.names)
    theirs, ours = [], []
    for _ in range(rounds):
        theirs.append(seconds(product))
        ours.append(seconds(lambda: triangle_profile(graph.n, graph.edges, classes)))
    ratio = median(theirs) / median(ours)
    print(f"{path.name}: A @ A {median(theirs):.4f} s, profile {median(ours):.4f} s, {ratio:.1f} times as fast")
    return ratio >= SMALLEST_RATIO[path.name]


def main() -> int:
    """Time all, print the ratios, and fail when one is smaller than promised."""
    folder = Path(os.environ.get("VA_EDGE_LDP_DATA", "."))
    facebook, million = (folder / name for name in SMALLEST_RATIO)
    triangle_profile(3, np.array([(0, 1)], np.int32), POLICIES["nothing public"].bind(range(3)))  # compile
    good = compare(facebook, ROUNDS)
    if "--product-of-large" in sys.argv:
        good &= compare(million, 1)
    for path in (facebook, folder / LARGEST):
        for name, taken in profiles(read_graph(path)).items():
            print(f"{path.name}: {name}: {taken:.4f} s")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
