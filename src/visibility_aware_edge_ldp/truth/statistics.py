"""Exact statistics of a graph: the truth that estimates are measured against."""

from visibility_aware_edge_ldp.subgraphs.sparse import (
    degree_histogram,
    degrees,
    edges,
    exact,
    four_cycles,
    max_degree,
    stars,
    transitivity,
    triangles,
)

__all__ = [
    "degree_histogram",
    "degrees",
    "edges",
    "exact",
    "four_cycles",
    "max_degree",
    "stars",
    "transitivity",
    "triangles",
]
