"""The smallest ε for a target, and what more publicity buys."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.evaluation.plan.planner import Plan, plan
from visibility_aware_edge_ldp.evaluation.plan.predictions import Prediction, predictions
from visibility_aware_edge_ldp.evaluation.plan.scenarios import POLICIES
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(family=GRAPH, epsilons=[1, "2"], target_error=0.05)


def size(row: Prediction) -> float:
    return row.mean_relative_error if row.holds else row.standard_error / row.value


def test_the_smallest_epsilon_is_just_enough(made: Plan) -> None:
    for target in made.targets:
        for trust, epsilon in target.epsilons.items():
            if epsilon is not None and epsilon > 0.02:
                names = ["edges", "degrees", "stars:2", "stars:3", "triangles", "transitivity"]
                at, below = (
                    predictions(
                        made._moments, trust, Fraction(e).limit_denominator(1000), names, shown=[target.statistic]
                    )
                    for e in (epsilon, epsilon * 0.95)
                )
                assert size(at[0]) <= 0.05
                assert size(below[0]) > 0.05
    edges = made.targets[0]
    assert edges.least_epsilon == "user"
    assert edges.least_trust is not None


def test_a_search_says_where_it_cannot_tell_and_why() -> None:
    """A maximum has no closed form; a graph without triangles has no relative error."""
    asked = {"epsilons": [1], "target_error": 0.05, "trust": ("position", "curator")}
    (largest,) = plan(family=GRAPH, statistics="max_degree", **asked).targets  # type: ignore[arg-type]
    assert largest.epsilons["position"] is None
    assert "no closed form" in largest.unknown["position"]
    assert "curator" not in largest.unknown
    assert largest.least_epsilon is None
    assert "position cannot be told" in str(largest)
    (none,) = plan(degrees=[1, 1] * 10, statistics="triangles", **asked).targets  # type: ignore[arg-type]
    assert set(none.unknown) == {"position", "curator"}
    assert all("has none" in why for why in none.unknown.values())


def test_more_public_profiles_help(made: Plan) -> None:
    rows = made.more_public("triangles", 2, trust=["position"])
    by_what = {row.public: row.relative_standard_error for row in rows}
    assert len(by_what) == POLICIES
    assert by_what["50% of the profiles"] < by_what["10% of the profiles"] < by_what["nothing"]
    assert by_what["the largest 10% of the profiles"] < by_what["10% of the profiles"]
    # Noise comes from places without an edge: telling true edges alone helps far less.
    assert by_what["50% of all positions"] < by_what["50% of the true edges"] < by_what["nothing"]
