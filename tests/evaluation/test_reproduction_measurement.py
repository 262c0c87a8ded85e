"""Cells are measured with random bytes of their own; document 004 counts clipped stars."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation import reproduction_measurement
from visibility_aware_edge_ldp.evaluation.reproduction_measurement import (
    FACEBOOK,
    RANDOM,
    TOP,
    Cell,
    Laboratory,
)
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

GRAPH = powerlaw(60, 500, seed=2)


def test_cells_have_coins_of_their_own() -> None:
    laboratory = Laboratory(GRAPH, 1)
    cell = Cell(TOP, "nothing", "position", (1.0,), ("edges",), 1)
    first, second = (laboratory.measure(name, cell, lambda _: None)[1.0, "edges"] for name in ("a", "b"))
    assert first.value != second.value


def test_trials_differ_and_their_spread_is_known() -> None:
    cell = Cell(TOP, "nothing", "position", (1.0,), ("edges",), 30)
    figure = Laboratory(GRAPH, 1).measure("a", cell, lambda _: None)[1.0, "edges"]
    assert figure.trials == 30
    # The mean of |normal errors| is √(2/π) of their standard deviation, which is what the estimates state.
    assert figure.value == pytest.approx(figure.stated * math.sqrt(2 / math.pi), abs=4 * figure.spread)
    assert 0 < figure.spread < figure.value


def test_the_laboratory_s_graphs() -> None:
    laboratory = Laboratory(powerlaw(400, 3000), 1)
    assert laboratory.graph(TOP).n == 300
    assert (laboratory.graph(RANDOM).n, laboratory.graph(RANDOM).m) == (400, 3000)
    assert laboratory.world(FACEBOOK, "nothing") is laboratory.world(FACEBOOK, "nothing")


def test_clipped_stars_are_cut_at_50_but_for_hubs() -> None:
    graph = powerlaw(300, 12_000, seed=1)
    world = VisibilityAwareGraph(graph, open_policy("hubs:0.2"))
    runs = [
        reproduction_measurement.clipped_stars(world, "", Fraction(2), ["stars:2"], seed=str(i))["stars:2"].value
        for i in range(200)
    ]
    hubs = np.argsort(-graph.degrees, kind="stable")[:60]
    cut = np.minimum(graph.degrees, 50)
    cut[hubs] = graph.degrees[hubs]
    expected, deviation = float((cut * (cut - 1) / 2).sum()), math.sqrt(240 * 2) * 49
    assert (graph.degrees > 50).sum() > 60, "somebody must be cut"
    assert np.mean(runs) == pytest.approx(expected, abs=4 * deviation / math.sqrt(200))
    assert np.std(runs) == pytest.approx(deviation, rel=0.2)


def test_one_edge_moves_clipped_stars_by_no_more_than_its_noise_hides() -> None:
    """Both ends of a private edge move by at most 49, which is what noise of 49 / (ε/2) hides at ε/2 each."""
    graph = erdos_renyi(120, 3000, seed=1)
    policy = VisibilityPolicy.from_profiles(dict.fromkeys(range(24), "public"), rule="any")

    def stars(edges: Any) -> float:
        world = VisibilityAwareGraph(Graph(range(120), edges), policy)
        return float(
            reproduction_measurement.clipped_stars(world, "", Fraction(2), ["stars:2"], seed="same")["stars:2"].value
        )

    whole = stars(graph.edges)
    private = np.flatnonzero((graph.edges >= 24).all(axis=1))[:200]
    moved = [abs(whole - stars(np.delete(graph.edges, place, axis=0))) for place in private]
    assert max(moved) <= 2 * (reproduction_measurement.CAP - 1)
    assert max(moved) > reproduction_measurement.CAP - 1, "both ends must have been seen to move"
    assert len(set(moved)) > 1, "some ends are cut, and do not move"
