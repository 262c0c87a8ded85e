"""Synthetic graphs: exact sizes, pinned edges, the promised shape, and clear refusals."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable
from math import comb

import networkx as nx
import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth import synthetic
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, facebook_like, parse, powerlaw

Maker = Callable[..., Graph]
both = pytest.mark.parametrize("maker", [powerlaw, erdos_renyi])


@pytest.fixture(scope="module")
def facebook() -> Graph:
    return facebook_like()


@pytest.fixture(scope="module")
def oracle(facebook: Graph) -> nx.Graph:
    graph = nx.Graph(facebook.edges.tolist())
    assert sorted(graph) == list(range(4039))
    return graph


def digest(graph: Graph) -> str:
    return hashlib.sha256(graph.edges.astype("<i4").tobytes()).hexdigest()


def assert_simple(graph: Graph, n: int, m: int) -> None:
    """Exactly m distinct rows u < v, sorted, on n nodes; Graph itself checks the range."""
    assert (graph.n, graph.m) == (n, m)
    assert graph.edges.dtype == np.int32
    numbers = graph.edges.astype(np.int64) @ [n, 1]
    assert (np.diff(numbers) > 0).all()


# ── facebook-like ──


def test_facebook_like_has_the_originals_size(facebook: Graph) -> None:
    assert_simple(facebook, 4039, 88_234)
    assert facebook.source == "facebook-like (synthetic)"


@pytest.mark.long
def test_facebook_like_has_the_originals_triangles_and_clustering(oracle: nx.Graph) -> None:
    assert sum(nx.triangles(oracle).values()) / 3 == pytest.approx(1_612_010, rel=0.05)
    assert nx.transitivity(oracle) == pytest.approx(0.5192, rel=0.05)
    assert nx.average_clustering(oracle) == pytest.approx(0.6055, rel=0.05)


def test_facebook_like_has_the_originals_degrees(facebook: Graph, oracle: nx.Graph) -> None:
    degrees = [degree for _, degree in oracle.degree()]
    assert max(degrees) == pytest.approx(1045, rel=0.05)
    assert sum(comb(d, 2) for d in degrees) == pytest.approx(9_314_849, rel=0.05)
    assert sum(comb(d, 3) for d in degrees) == pytest.approx(727_318_426, rel=0.05)
    # Not promised, but a different shape of the degrees should be noticed.
    assert np.percentile(degrees, [25, 50, 75, 90]) == pytest.approx([11, 25, 57, 112], abs=4)
    assert np.percentile(degrees, 99) == pytest.approx(200, rel=0.1)


def test_facebook_like_hangs_together(oracle: nx.Graph) -> None:
    assert nx.is_connected(oracle)
    assert nx.diameter(oracle, usebounds=True) <= 8  # the original's


def test_egos_know_their_friends_and_nobody_else(oracle: nx.Graph) -> None:
    assert [oracle.degree(ego) for ego in range(10)] == list(synthetic.EGOS)


# ── the same edges for good ──


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("facebook-like", "e195f206b421dbf41189d2fcf7d0634b76fe499275fce5b82126377753ad4b4e"),
        ("powerlaw:1000,5000", "d547ded1120a9721ffc346d426870976a3e477ecf627240a0d9a0a2b1109fe52"),
        ("random:1000,5000", "e3b427ccb110e4d05067d8b9cbb63fb93f53097b0602b75af23a6e256c2f8106"),
        ("powerlaw:50,1000,7", "9387b95da6875ce6e8f1e163654e0f0c456ff2a83dbcddc01b145d048aac3244"),
    ],
)
def test_the_edges_are_pinned(text: str, expected: str) -> None:
    assert digest(parse(text)) == expected


def test_the_hash_is_splitmix64() -> None:
    gamma = np.array([0x9E3779B97F4A7C15], dtype=np.uint64)
    assert synthetic._mixed(gamma)[0] == 0xE220A8397B1DCDAF  # the first output of the reference code for seed 0


@both
def test_seeds_name_graphs(maker: Maker) -> None:
    assert digest(maker(100, 300, seed=1)) == digest(maker(100, 300, seed=1))
    assert len({digest(maker(100, 300, seed=seed)) for seed in (-1, 0, 1, 2, 2**63)}) == 5


# ── exact sizes ──


@both
def test_every_size_of_small_graph(maker: Maker) -> None:
    for n in range(2, 9):
        for m in range(comb(n, 2) + 1):
            assert_simple(maker(n, m, seed=n), n, m)


@both
@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 0.51, 0.99])
def test_every_density(maker: Maker, share: float) -> None:
    m = int(comb(300, 2) * share)
    assert_simple(maker(300, m), 300, m)


def test_a_row_that_is_too_short_is_made_longer() -> None:
    # Ten draws miss one of three positions for about every fourth seed.
    for seed in range(40):
        assert sorted(synthetic._draw(3, 3, seed, 1.0)) == [0 * 3 + 1, 0 * 3 + 2, 1 * 3 + 2]
    assert (synthetic._uniform(5, 100)[:60] == synthetic._uniform(5, 60)).all()


@both
def test_large_graphs_stay_within_memory(maker: Maker) -> None:
    tracemalloc.start()
    try:
        assert_simple(maker(100_000, 500_000), 100_000, 500_000)
        assert tracemalloc.get_traced_memory()[1] < 200 * 500_000  # bytes per edge
    finally:
        tracemalloc.stop()


# ── distributions ──


def uniformity(maker: Maker, n: int, m: int, graphs: int) -> float:
    """Pearson's statistic for equally likely positions as a standard normal; large means uneven.

    It is scaled for drawing m without replacement and made normal as by Wilson and Hilferty.
    """
    total = comb(n, 2)
    counts = np.zeros((n, n))
    for seed in range(graphs):
        np.add.at(counts, tuple(maker(n, m, seed=seed).edges.T), 1)
    observed, expected = counts[np.triu_indices(n, 1)], graphs * m / total
    statistic = ((observed - expected) ** 2).sum() / expected / (1 - m / total) * (total - 1) / total
    spread = 2 / (9 * (total - 1))
    return float((np.cbrt(statistic / (total - 1)) - (1 - spread)) / np.sqrt(spread))


@pytest.mark.parametrize("m", [20, 50])  # drawn directly; through the absences
def test_random_positions_are_equally_likely(m: int) -> None:
    assert uniformity(erdos_renyi, 12, m, 2000) < 6  # a false alarm has a chance of 1e-9
    assert uniformity(powerlaw, 12, m, 2000) > 6  # the twin that must fail


def tail_exponent(degrees: np.ndarray) -> float:
    """Hill's estimate over the top 2 %, leaving out the capped hubs."""
    top = np.sort(degrees)[::-1][: len(degrees) // 50]
    return float(1 + 1 / np.log(top[len(top) // 50 :] / top[-1]).mean())


def test_powerlaw_has_a_heavy_tail() -> None:
    heavy, light = powerlaw(100_000, 500_000).degrees, erdos_renyi(100_000, 500_000).degrees
    assert heavy.max() > 20 * light.max()
    assert tail_exponent(heavy) == pytest.approx(2.5, abs=0.3)
    assert tail_exponent(light) > 5  # the twin that must fail


def test_powerlaw_hubs_are_capped_and_come_first() -> None:
    degrees = powerlaw(100_000, 500_000).degrees
    assert 0.8 * 1000 < degrees.max() < 1.2 * 1000  # the root of 2m
    assert degrees[:100].mean() > 5 * degrees[-10_000:].mean()


def test_a_dense_powerlaw_misses_the_last_nodes_most() -> None:
    degrees = powerlaw(200, int(0.7 * comb(200, 2))).degrees
    assert degrees[:50].mean() > degrees[-50:].mean() + 5


# ── names and refusals ──


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("powerlaw:60,90", powerlaw(60, 90)),
        ("powerlaw:60,90,4", powerlaw(60, 90, 4)),
        ("random:60,90", erdos_renyi(60, 90)),
        ("random:60,90,4", erdos_renyi(60, 90, seed=4)),
    ],
)
def test_parse_names_what_it_makes(text: str, made: Graph) -> None:
    graph = parse(text)
    assert digest(graph) == digest(made)
    assert graph.source == made.source == f"{text} (synthetic)"


@pytest.mark.parametrize(
    "text",
    [
        *("", "facebook", "facebook-like:3,4", "powerlaw", "powerlaw:", "powerlaw:9", "powerlaw:9,8,7,6"),
        *("random:9,x", "random:9,,1", "random:9.5,4", "smallworld:9,8", "Random:9,8"),
    ],
)
def test_unknown_names_are_refused(text: str) -> None:
    with pytest.raises(BadGraph, match=r"no synthetic graph .*facebook-like, powerlaw:n,m or random:n,m"):
        parse(text)


@both
@pytest.mark.parametrize("n", [-5, 0, 1, 2**31])
def test_a_bad_number_of_nodes_is_refused(maker: Maker, n: int) -> None:
    with pytest.raises(BadGraph, match=f"from 2 to 2,147,483,647 nodes, not {n:,}"):
        maker(n, 0)


@both
@pytest.mark.parametrize("m", [-1, 46, 10**12])
def test_a_bad_number_of_edges_is_refused(maker: Maker, m: int) -> None:
    with pytest.raises(BadGraph, match=f"10 nodes has from 0 to 45 edges, not {m:,}"):
        maker(10, m)
