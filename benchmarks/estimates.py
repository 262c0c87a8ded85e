"""Comparisons of whole estimates: POSITION in one round, USER in two, and the answers themselves."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import pseudocode, rivals, roofs
from benchmarks.registry import OURS, Comparison, Setting, Target, Work, rival, words_for, work
from benchmarks.timing import seconds
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_position
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.counts.group_triangles import triangle_total
from visibility_aware_edge_ldp.dataset import default_graph
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import secure_coins
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import position_count
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

EPSILON = 1
FLIP = 1 / (1 + math.e**EPSILON)
BY_DEGREES = ["edges", "stars:2", "stars:3", "max_degree", "degree_histogram"]
DOCUMENT_NODES, POSITIONS = 300, 1 << 23
IMOLA, HE = "Imola et al. (2021) plainly in NumPy", "He et al. (2025) plainly in NumPy and SciPy"
OPENDP_BITS, OPENDP_VECTOR = 5_000, 1 << 16


@cache
def facebook() -> Graph:
    """The Facebook graph, or its stand-in, which says so."""
    return default_graph()[0]


def private(graph: Graph) -> VisibilityAwareGraph:
    """Everything private."""
    return VisibilityAwareGraph(graph, VisibilityPolicy.nothing())


def score_matrix(collection: PositionCollection, kind: type[np.floating]) -> npt.NDArray[np.floating]:
    """The unbiased score of every position as a dense matrix, which a plain program would hold."""
    scores = collection.group_scores()
    assert scores is not None
    matrix, everybody = scores.matrix, np.arange(scores.n)
    parts = (matrix.rows(everybody[start : start + 512]) for start in range(0, scores.n, 512))
    return np.concatenate([part[:, matrix.places(everybody)].astype(kind) for part in parts])


def noisy_triangles(graph: Graph) -> Setting:
    """The triangles' score of the noisy graph, which each side holds in its own way; and ours from the answers on."""
    world = private(graph)
    collection = collect(world, position_survey(world.public, EPSILON))
    scores, dense = collection.group_scores(), score_matrix(collection, np.float32)
    assert scores is not None
    return Setting(
        words_for(graph),
        (
            work(OURS, lambda: triangle_total(scores)),
            work("NumPy float32 S @ S ∘ S", lambda: rivals.closed_paths(dense)),
            work("ours from the answers on, with its interval", lambda: estimate_position(collection, ["triangles"])),
        ),
        roofs.noisy_triangles(graph.n, FLIP),
    )


def one_round(graph: Graph) -> Setting:
    """Everything after start-up: randomized, encoded, decoded, collected; every statistic with its interval."""
    world, dense = private(graph), rivals.noisy_scores(graph, EPSILON, np.random.default_rng(0))
    pairs, draws = roofs.all_pairs(graph.n), np.random.default_rng()
    return Setting(
        words_for(graph),
        (
            work(OURS, lambda: estimate(world, epsilon=EPSILON, statistics="all")),
            work("NumPy float32 product", lambda: dense @ dense),
            work(f"triangles alone, {IMOLA}", lambda: rivals.noisy_counts(graph, EPSILON, draws)),
        ),
        None if pairs is None else pairs + roofs.answers(position_count(graph.n)) / roofs.cores(),
    )


def classes(graph: Graph) -> Setting:
    """Half of the profiles are public: two public ends make a position public, one friend-visible, none private."""
    worlds = {
        OURS: VisibilityAwareGraph(graph, VisibilityPolicy.public_profiles("0.5", rule="both")),
        "one class": private(graph),
    }
    works = (work(name, partial(estimate, world, epsilon=EPSILON, statistics="all")) for name, world in worlds.items())
    return Setting(words_for(graph), tuple(works))


def hashed_classes(graph: Graph) -> Setting:
    """All statistics where a hash of each position draws its class: a plane for each outcome of each class."""
    hashed = VisibilityAwareGraph(graph, VisibilityPolicy("0.15", "0.35", "0.5"))
    worlds = {OURS: hashed, "one class": private(graph)}
    works = (work(name, partial(estimate, world, epsilon=EPSILON, statistics="all")) for name, world in worlds.items())
    return Setting(words_for(graph), tuple(works))


def response(positions: int = POSITIONS) -> Setting:
    """Which bits to flip, packed as they are sent; on one core each."""
    mechanism, coins = RandomizedResponse(Fraction(EPSILON)), secure_coins()
    by_bit = partial(rivals.opendp_response, OPENDP_BITS, 1 - FLIP)
    vector = partial(rivals.opendp_vector, OPENDP_VECTOR, FLIP)
    return Setting(
        f"{positions:,} positions, one core",
        (
            work(OURS, lambda: mechanism.packed_flips(positions, coins)),
            work("NumPy random < q", rivals.numpy_response(positions, FLIP)),
            rival("OpenDP, a vector of bits", vector, positions / OPENDP_VECTOR),
            rival("OpenDP, bit by bit", by_bit, positions / OPENDP_BITS),
        ),
        roofs.answers(positions),
    )


def two_rounds(graph: Graph) -> Setting:
    """Both rounds of all users, through the wire format, and the standard error; the rivals have no wire format."""
    world, draws = private(graph), np.random.default_rng()
    plain, alone = (partial(rivals.two_rounds, graph, EPSILON, draws, each) for each in (True, False))
    return Setting(
        words_for(graph),
        (
            work(OURS, lambda: estimate(world, "user", EPSILON, ["triangles"])),
            rival("NumPy and SciPy, plainly", lambda: scipy_checked(plain)),
            rival("the same without a standard error", lambda: scipy_checked(alone)),
            rival(HE, lambda: scipy_checked(partial(rivals.by_vertices, graph, EPSILON, draws))),
        ),
    )


def scipy_checked(call: Any) -> Any:
    """The same call, where SciPy is installed."""
    import scipy.sparse  # noqa: F401 - asked for here, so that it is said to be missing and not an error later

    return call


def documents(graph: Graph) -> Setting:
    """The four algorithms at 300 nodes; triangles are scaled by n³ and the others by n²."""
    small = graph.highest_degree(min(DOCUMENT_NODES, graph.n))
    positions = pseudocode_positions(small)
    coins, n, growth = random.Random(0), small.n, graph.n / small.n
    triangles = partial(pseudocode.triangle_count, positions, EPSILON, coins)

    def others() -> None:
        pseudocode.edge_count(positions, EPSILON, coins)
        pseudocode.max_degree(positions, n, EPSILON, coins)
        for k in (2, 3):
            pseudocode.star_count(positions, n, k, EPSILON, coins)

    world = private(graph)
    return Setting(
        f"{words_for(graph)}; the documents' at {n} nodes",
        (
            work(OURS, lambda: estimate(world, epsilon=EPSILON, statistics="all")),
            Work("documents' pseudocode, scaled", lambda: growth**3 * seconds(triangles) + growth**2 * seconds(others)),
        ),
    )


def pseudocode_positions(graph: Graph) -> pseudocode.Positions:
    """Every position, none of them public."""
    edges = {(u, v) for u, v in graph.edges.tolist()}
    return {(u, v): ((u, v) in edges, False) for u in range(graph.n) for v in range(u + 1, graph.n)}


def degrees(users: int, edges: int) -> Setting:
    """Every user reports its noisy degree; all statistics of degrees from the reports."""
    graph = powerlaw(users, edges, seed=1)
    world = private(graph)
    return Setting(words_for(graph), (work(OURS, lambda: estimate(world, "user", EPSILON, BY_DEGREES)),))


def many_nodes(n: int) -> Setting:
    """A graph of Facebook's mean degree."""
    return noisy_triangles(powerlaw(n, 22 * n, seed=1))


COMPARISONS = (
    Comparison(
        "noisy-triangles",
        "triangles of the noisy graph",
        lambda: noisy_triangles(facebook()),
        (Target("faster", 80, "NumPy float32 S @ S ∘ S"),),
    ),
    Comparison(
        "noisy-triangles-20000",
        "triangles of the noisy graph",
        lambda: many_nodes(20_000),
        (Target("faster", 120, "NumPy float32 S @ S ∘ S"),),
        rounds=1,
        long=True,
    ),
    Comparison(
        "position",
        "whole one-round estimate, all statistics, variances and intervals",
        lambda: one_round(facebook()),
        (
            Target("faster", 5, "NumPy float32 product"),
            Target("faster", 10, f"triangles alone, {IMOLA}"),
            Target("seconds", 0.04),
        ),
    ),
    Comparison(
        "classes",
        "the same with three node-type classes",
        lambda: classes(facebook()),
        (Target("times", 1.2, "one class"),),
        rounds=3,
    ),
    Comparison(
        "hashed-classes",
        "the same with three classes drawn by hash",
        lambda: hashed_classes(facebook()),
        (Target("times", 2, "one class"),),
        rounds=3,
    ),
    Comparison(
        "response",
        "cryptographic randomized response",
        response,
        (
            Target("faster", 12, "NumPy random < q"),
            Target("faster", 1000, "OpenDP, a vector of bits"),
            Target("faster", 1000, "OpenDP, bit by bit"),
        ),
        rounds=7,
    ),
    Comparison(
        "two-rounds",
        "USER triangles in two rounds, whole trial",
        lambda: two_rounds(facebook()),
        (Target("faster", 20, "NumPy and SciPy, plainly"), Target("faster", 5, HE), Target("seconds", 0.025)),
    ),
    Comparison(
        "documents",
        "the documents' pseudocode in plain Python",
        lambda: documents(facebook()),
        (Target("faster", 10_000, "documents' pseudocode, scaled"),),
        rounds=3,
    ),
    Comparison(
        "degrees",
        "USER degree statistics of 1 million users",
        lambda: degrees(1_000_000, 5_000_000),
        (Target("seconds", 2),),
        rounds=3,
    ),
)
