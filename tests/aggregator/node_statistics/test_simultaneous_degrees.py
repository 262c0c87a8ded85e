"""Everybody's degree at once and the K largest, from collections of all kinds.  [ATONCE.1-4]"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

ALL, TOP = "simultaneous_degrees", "largest_degrees:8"
RUNS = 40
# Of 40 times that all is held with a chance of 90 % or more, fewer than 27 come with a chance of 2e-5.
LEVEL, LEAST = 0.9, 27
SETTINGS: list[tuple[str, str, float, dict[str, Any]]] = [
    ("user", "nothing", 1, {}),
    ("user", "document-001", 1, {"dropout": 0.2}),
    ("position", "nothing", 1, {}),
    ("position", "document-001", 2, {}),
    ("position", "profiles:0.5", 2, {"dropout": 0.3}),
    ("position", "nothing", 2, {"rounds": 2}),
    ("position", "nothing", 2, {"sample_positions": "0.4"}),
]


def held(found: Estimate, truth: np.ndarray) -> bool:
    low, high = found.interval(LEVEL)
    return bool(((low <= truth) & (truth <= high)).all())


@pytest.mark.parametrize(("trust", "policy", "epsilon", "options"), SETTINGS)
def test_all_degrees_are_held_at_once(trust: str, policy: str, epsilon: float, options: dict[str, Any]) -> None:
    """And so are all of the largest; who is called sure is so, in every collection in which all are held."""
    world = va.VisibilityAwareGraph(powerlaw(60, 300, 2), policy)
    truth, names = exact(world.graph, "degrees"), world.public.names
    kept = 0
    for seed in range(RUNS):
        found = va.estimate(world, trust, epsilon, [ALL, TOP], seed=seed, **options)
        low, high = found[ALL].interval(0.95)
        everybody = bool(((low <= truth) & (truth <= high)).all())
        kept += held(found[ALL], truth)
        if everybody:
            ends = found[TOP].interval(0.95)
            largest = np.sort(truth)[::-1][:8]
            assert ((ends[0] <= largest) & (largest <= ends[1])).all()
            sure = [node for _, node, told in found[TOP].labels or () if told == "sure"]
            assert all((truth > truth[list(names).index(node)]).sum() < 8 for node in sure)
    assert kept >= LEAST


@pytest.mark.parametrize("trust", ["user", "position"])
def test_a_twin_with_an_interval_for_each_is_seen(trust: str) -> None:
    """Intervals of `degrees` hold each degree nine times in ten, and all of them next to never."""
    world = va.VisibilityAwareGraph(erdos_renyi(60, 300, 2))
    truth = exact(world.graph, "degrees")
    found = [va.estimate(world, trust, 1, ["degrees"], seed=seed)["degrees"] for seed in range(RUNS)]
    assert sum(held(each, truth) for each in found) < RUNS / 10


def test_somebody_far_above_is_sure_and_named() -> None:
    edges = [(0, other) for other in range(1, 120)] + [(i, i + 1) for i in range(1, 40)]
    world = va.VisibilityAwareGraph(va.read_graph(edges))
    for trust in ("user", "position"):
        found = va.estimate(world, trust, 4, ["largest_degrees:1"], seed=3)["largest_degrees:1"]
        assert found.labels == [(1, world.public.names[0], "sure")]
        row = found.records()[0]
        assert (row["rank"], row["node"], row["among"]) == (1, world.public.names[0], "sure")
        assert row["low"] <= 119 <= row["high"]
        assert not found.has_standard_error
        assert not found.unbiased


def test_what_is_public_is_exact() -> None:
    world = va.VisibilityAwareGraph(erdos_renyi(30, 100, 1), "fractions:1,0,0")
    for trust in ("user", "position"):
        found = va.estimate(world, trust, 1, [ALL, "largest_degrees:3"], seed=1)
        low, high = found[ALL].interval()
        assert np.array_equal(low, world.graph.degrees)
        assert np.array_equal(high, world.graph.degrees)
        assert all(told == "sure" for *_, told in found["largest_degrees:3"].labels or ())


def test_impossible_numbers_and_other_models_are_refused() -> None:
    world = va.VisibilityAwareGraph(erdos_renyi(30, 100, 1))
    with pytest.raises(BadStatistic, match="1 to 29 largest"):
        va.estimate(world, "user", 1, ["largest_degrees:30"])
    with pytest.raises(BadStatistic):
        va.estimate(world, "curator", 1, [ALL])
