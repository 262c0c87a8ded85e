"""Comparisons of what is worked out on a graph that is held: triangles, sensitivity, reading, a centre's work."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import rivals
from benchmarks.estimates import facebook
from benchmarks.registry import OURS, Comparison, Setting, Target, real_graph, rival, words_for, work
from visibility_aware_edge_ldp.client.sensitivity import triangle_profile
from visibility_aware_edge_ldp.counts.exact import triangles
from visibility_aware_edge_ldp.guaranteed_dp import VAEdgeLDPSystem
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

MILLION_EDGES, LARGEST = "imdb-actors-c10.edges.txt.gz", "imdb-actors-c20.edges.txt.gz"
# NetworkX takes minutes above this.
SMALL = 10_000
COUNTERS: dict[str, Callable[[Graph], rivals.Work]] = {
    "igraph": rivals.igraph_triangles,
    "networkit": rivals.networkit_triangles,
    "NetworkX": rivals.networkx_triangles,
}


def exact_triangles(graph: Graph) -> Setting:
    """Every library counts a graph that it holds in its own form already."""
    names = [name for name in COUNTERS if name != "NetworkX" or graph.n <= SMALL]
    others = (rival(name, partial(COUNTERS[name], graph)) for name in names)
    return Setting(words_for(graph), (work(OURS, lambda: triangles(graph)), *others))


def smooth_sensitivity(graph: Graph) -> Setting:
    """Ours is the whole profile, exact for all pairs and distances; the product is where a plain program begins."""
    nothing = VisibilityPolicy.nothing().bind(graph.names)
    ours = work(OURS, lambda: triangle_profile(graph.n, graph.edges, nothing))
    return Setting(words_for(graph), (ours, rival("SciPy A @ A", partial(rivals.scipy_square, graph))))


def reading(edges: int) -> Setting:
    """A random list in a temporary folder; ours also sorts, and drops what is double."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "edges.txt"
    rows = np.random.default_rng(0).integers(0, max(2, edges // 10), (edges, 2))
    with path.open("w", encoding="ascii") as file:
        for block in np.array_split(rows, max(1, edges // 500_000)):
            file.write("".join(f"{u} {v}\n" for u, v in block.tolist()))
    works = (work(OURS, lambda: read_graph(path)), work("NumPy loadtxt", lambda: np.loadtxt(path, dtype=np.int64)))
    return Setting(f"a random list of {edges:,} edges", works)


def curator(graph: Graph) -> Setting:
    """All six queries of a trusted centre."""
    world, system = VisibilityAwareGraph(graph, VisibilityPolicy("0.15", "0.35", "0.5")), VAEdgeLDPSystem(1, 1e-6)
    return Setting(words_for(graph), (work(OURS, lambda: system.run_all(world, seed=1)),))


COMPARISONS = (
    Comparison(
        "triangles",
        "exact triangles",
        lambda: exact_triangles(facebook()),
        (Target("faster", 20, "NetworkX"), Target("faster", 1, "igraph"), Target("faster", 1, "networkit")),
    ),
    Comparison(
        "triangles-large",
        "exact triangles of a large graph",
        lambda: exact_triangles(real_graph(LARGEST)),
        (Target("faster", 1, "igraph"), Target("faster", 1, "networkit")),
        rounds=3,
    ),
    Comparison(
        "smooth-sensitivity",
        "smooth sensitivity of triangles",
        lambda: smooth_sensitivity(facebook()),
        (Target("faster", 30, "SciPy A @ A"),),
    ),
    Comparison(
        "smooth-sensitivity-large",
        "smooth sensitivity of triangles, 1 million edges",
        lambda: smooth_sensitivity(real_graph(MILLION_EDGES)),
        (Target("faster", 300, "SciPy A @ A"),),
        rounds=3,
    ),
    Comparison(
        "reading", "reading an edge list", lambda: reading(2_000_000), (Target("times", 3, "NumPy loadtxt"),), rounds=3
    ),
    Comparison(
        "curator",
        "all six queries of a trusted centre",
        lambda: curator(real_graph(LARGEST)),
        (Target("seconds", 60),),
        rounds=1,
        long=True,
    ),
)
