"""Subgraphs of four nodes by a sample: in the mean over coins as over all fours; intervals hold.  [GRAPHLET.4]"""

from __future__ import annotations

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.counts.graphlets import sampled
from visibility_aware_edge_ldp.counts.graphlets.exact import PATTERNS, DenseScores, graphlets
from visibility_aware_edge_ldp.counts.graphlets.sampled import (
    ALL_FOURS,
    CLIQUES,
    THROUGH,
    counted,
    is_sampled,
    refuse_many,
    sample_note,
    sampled_graphlets,
)
from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

NAMES = tuple(PATTERNS)


def matrix(n: int, seed: int, values: tuple[float, ...] = (-0.3, 1.4)) -> np.ndarray:
    found = np.triu(np.random.default_rng(seed).choice(np.array(values), (n, n)), 1)
    return found + found.T


def shrink(monkeypatch: pytest.MonkeyPatch, nodes: int, partners: int, draws: int) -> None:
    """Make all samples so small."""
    for name, size in (("NODES", nodes), ("PARTNERS", partners), ("DRAWS", draws)):
        monkeypatch.setattr(sampled, name, size)


@pytest.mark.parametrize("values", [(-0.3, 1.4), (-0.3, 1.4, 0.0, 1.0)])
@pytest.mark.parametrize("name", THROUGH)
def test_products_of_matrices_and_all_pairs_are_the_same_as_all_fours(name: str, values: tuple[float, ...]) -> None:
    """On up to 64 nodes all of them are in the sample."""
    scores = matrix(20, 3, values)
    assert sampled_graphlets(scores, name, "coin") == pytest.approx(graphlets(scores, name), rel=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_in_the_mean_over_coins_nothing_is_lost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is that of all fours, and the variance is theirs and the sample's, without which it would be seen."""
    shrink(monkeypatch, 8, 8, 24)
    scores, coins = matrix(24, 5), 400 if name == CLIQUES else 150
    value, variance = graphlets(scores, name)
    found = np.array([sampled_graphlets(scores, name, str(coin)) for coin in range(coins)])
    error = found.std(axis=0, ddof=1) / coins**0.5
    by_coin = found[:, 0].var(ddof=1)
    assert abs(found[:, 0].mean() - value) <= 4.5 * error[0] + 1e-6 * abs(value)
    # A variance over 400 coins is itself known to about 7 %, and a little more where they lean.
    assert abs(found[:, 1].mean() - variance - by_coin) <= 4.5 * np.hypot(error[1], 0.1 * by_coin)
    if name == CLIQUES:
        assert by_coin > 4.5 * np.hypot(error[1], 0.1 * by_coin)


def test_nodes_with_many_triangles_are_drawn_rather() -> None:
    scores = np.zeros((40, 40))
    scores[:8, :8] = 1 - np.eye(8)
    chances = sampled._chances(DenseScores(scores))
    assert chances.sum() == pytest.approx(1)
    assert chances[:8] == pytest.approx(np.full(8, 0.25 / 40 + 0.75 / 8))
    assert chances[8:] == pytest.approx(np.full(32, 0.25 / 40))
    assert sampled._chances(DenseScores(np.zeros((4, 4)))) == pytest.approx(np.full(4, 0.25))


def test_a_coin_gives_the_same_sample_again_and_another_another() -> None:
    scores = matrix(40, 1)
    one, again, other = (sampled_graphlets(scores, CLIQUES, coin) for coin in ("a", "a", "b"))
    assert one == again
    assert one[0] != other[0]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_sampled_and_what_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most = ALL_FOURS[name]
    assert not is_sampled(most, name)
    assert is_sampled(most + 1, name)
    assert not sample_note(most, name)
    assert name in sample_note(most + 1, name)
    scores = matrix(12, 2)
    assert counted(scores, name, "coin") == graphlets(scores, name)
    monkeypatch.setitem(ALL_FOURS, name, 11)
    assert counted(scores, name, "coin") == sampled_graphlets(scores, name, "coin")


def test_larger_graphs_are_refused_with_a_way_out() -> None:
    refuse_many(4039, CLIQUES)
    with pytest.raises(TooLarge, match="--top 5000"):
        refuse_many(5001, CLIQUES)


def test_the_certificate_says_that_a_sample_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    world = va.VisibilityAwareGraph(erdos_renyi(30, 200, 1))
    assert "public coin" not in "\n".join(va.estimate(world, "position", 3, ["diamonds"], seed=1).certificate.lines())
    monkeypatch.setitem(ALL_FOURS, "diamonds", 29)
    assert "public coin" in "\n".join(va.estimate(world, "position", 3, ["diamonds"], seed=1).certificate.lines())


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_with_fresh_coins(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And for 4-cliques those of a twin that counts the sample for everybody do not."""
    shrink(monkeypatch, 8, 16, 12)
    monkeypatch.setitem(ALL_FOURS, name, 10)
    graph, runs = powerlaw(40, 300, 2), 150
    world, truth = va.VisibilityAwareGraph(graph), exact(graph, name)
    fours, held, twins = sampled.counted, 0, 0
    for seed in range(runs):
        monkeypatch.setattr(sampled, "counted", lambda scores, name, coin, seed=seed: fours(scores, name, str(seed)))
        found = va.estimate(world, "position", 6, [name], seed=seed)[name]
        low, high = found.interval()
        held += low <= truth <= high
        monkeypatch.setattr(sampled, "counted", lambda scores, name, coin: graphlets(scores, name))
        alone = float(va.estimate(world, "position", 6, [name], seed=seed)[name].standard_error)
        twins += abs(truth - float(found.value)) <= 1.96 * alone
    assert held >= 0.88 * runs
    if name == CLIQUES:
        assert twins < 0.8 * runs
