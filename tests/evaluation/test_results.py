"""Both policies side by side: gains, and what was assumed."""

from __future__ import annotations

import math

from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 200, 1)


def test_a_comparison_gains_from_what_is_public() -> None:
    found = compare(GRAPH, VisibilityPolicy("0.9"), epsilons=[1], trials=12, statistics=["edges", "stars:2"], seed=5)
    assert all(gain.factor > 1.3 for gain in found.gains)
    assert all(gain.uncertainty > 0 for gain in found.gains)
    assert found.as_dict()["uniform"][0]["epsilon"] == 1
    assert "gain" in str(found)


def test_exact_answers_gain_without_bound() -> None:
    found = compare(GRAPH, VisibilityPolicy(1), epsilons=[1], trials=2, statistics=["edges"], seed=5)
    assert found.gains[0].factor == math.inf
    assert found.table()[0] == ("position", "1", "edges", found.table()[0][3], "0.00%", "exact")


def test_an_oracle_s_assumption_is_kept() -> None:
    found = compare(GRAPH, VisibilityPolicy.public_hubs("0.1"), epsilons=[1], trials=1, statistics=["edges"], seed=5)
    assert found.assumptions == ("it is public knowledge who the hubs are",)
    assert found.as_dict()["assumptions"]
