"""All six queries of a trusted centre on a large graph, and exact triangles beside other libraries.

VA_EDGE_LDP_DATA=folder python -m benchmarks.curator
"""

from __future__ import annotations

import sys

from benchmarks.timing import dataset, peak_megabytes, seconds, side_by_side
from visibility_aware_edge_ldp.guaranteed_dp import VAEdgeLDPSystem, table
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.statistics import triangles

LARGEST_SECONDS, LARGEST_MEGABYTES = 60.0, 4096.0


def main() -> int:
    """Time the six queries and the triangle counts, and fail when they take more than promised."""
    large, small = dataset("imdb-actors-c20.edges.txt.gz"), dataset("facebook_combined.txt.gz")
    if large is None or small is None:
        print("VA_EDGE_LDP_DATA does not name a folder with imdb-actors-c20 and facebook; nothing was timed")
        return 0
    graph = read_graph(large)
    policies = {"nothing public": VisibilityPolicy.nothing(), "15/35/50 %": VisibilityPolicy("0.15", "0.35", "0.5")}
    failed = False
    for name, policy in policies.items():
        results = {}
        taken = seconds(
            lambda policy=policy, kept=results: kept.update(
                VAEdgeLDPSystem(1, 1e-6).run_all(VisibilityAwareGraph(graph, policy), seed=1)
            )
        )
        print(f"{graph.source}, {name}: all six queries in {taken:.1f} s")
        print(table(results))
        failed |= taken > LARGEST_SECONDS
    promised = f"under {LARGEST_SECONDS:g} s and {LARGEST_MEGABYTES:,.0f} MB"
    print(f"peak memory {peak_megabytes():,.0f} MB (promised: {promised})")
    failed |= peak_megabytes() > LARGEST_MEGABYTES
    _exact_triangles(read_graph(small), 3)
    _exact_triangles(graph, 1)
    return int(failed)


def _exact_triangles(graph: object, rounds: int) -> None:
    """Exact triangles beside igraph, and NetworkX where it takes seconds rather than minutes."""
    import igraph
    import networkx

    edges = graph.edges.tolist()
    theirs = igraph.Graph(n=graph.n, edges=edges)
    works = {"ours": lambda: triangles(graph), "igraph": lambda: len(theirs.list_triangles())}
    if graph.n < 10_000:
        plain = networkx.Graph(edges)
        works["networkx"] = lambda: sum(networkx.triangles(plain).values()) // 3
    found = side_by_side(rounds, **works)
    times = ", ".join(f"{name} {value:.3f} s" for name, value in found.items())
    print(f"exact triangles of {graph.source}: {times}")


if __name__ == "__main__":
    sys.exit(main())
