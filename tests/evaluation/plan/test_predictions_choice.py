"""The trust model that is taken where none is named, and what is said of noise."""

from __future__ import annotations

import math

import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.plan.predictions import advised, edges_standard_error, feasibility
from visibility_aware_edge_ldp.public.trust import NEIGHBOURHOOD, POSITION, USER
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


@pytest.fixture(scope="module")
def world() -> va.VisibilityAwareGraph:
    return va.VisibilityAwareGraph(erdos_renyi(300, 3000))


def test_the_model_with_the_smaller_errors_is_taken(world: va.VisibilityAwareGraph) -> None:
    """The claimed standard errors of both, which is what the choice is about."""
    for epsilon, statistic in [(1, "edges"), (3, "triangles"), (0.5, "stars:2")]:
        found = advised(world, epsilon, [statistic])
        errors = {
            trust: va.estimate(world, trust.name, epsilon, [statistic], seed=1)[statistic].standard_error
            for trust in (USER, POSITION)
        }
        assert found.trust is min(errors, key=lambda trust: float(errors[trust]))
        assert found.trust.title in found.reason


def test_options_choose_the_model_that_has_them(world: va.VisibilityAwareGraph) -> None:
    assert advised(world, 1, None, ["rounds"]).trust is POSITION
    assert advised(world, 1, None, ["hide"]).trust is USER
    assert advised(world, 1, None, ["reporters"]).trust is NEIGHBOURHOOD


def test_large_graphs_are_not_asked_pair_by_pair() -> None:
    assert advised(va.VisibilityAwareGraph(erdos_renyi(10_001, 20_000)), 4, "triangles").trust is USER


def test_noise_is_named_and_signal_is_not(world: va.VisibilityAwareGraph) -> None:
    few = advised(va.VisibilityAwareGraph(erdos_renyi(6, 5)), 1, ["edges"])
    assert "6 people at ε = 1: edges ±" in few.noise[0]
    assert "nothing but noise" in few.noise[0]
    assert advised(world, 1, ["edges"]).noise == ()


def test_bad_arguments_are_refused(world: va.VisibilityAwareGraph) -> None:
    with pytest.raises(BadInput):
        advised(world, 0, None)
    with pytest.raises(BadInput):
        advised(world, 1, "trianglez")


@pytest.mark.parametrize("trust", [USER, POSITION])
def test_the_closed_form_is_the_claimed_standard_error(world: va.VisibilityAwareGraph, trust: object) -> None:
    claimed = va.estimate(world, trust.name, 1, "edges", seed=1)["edges"].standard_error  # type: ignore[attr-defined]
    assert math.isclose(float(claimed), edges_standard_error(300, 1, trust), rel_tol=0.01)  # type: ignore[arg-type]


def test_feasibility_in_a_sentence() -> None:
    assert feasibility(6, 1) == "6 people at ε = 1: edges ± 3.428, nothing but noise."
    assert "fewer than" in feasibility(1000, 1)
