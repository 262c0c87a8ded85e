"""A centre's expected errors, from the exact law of its noise, against laws that are known and against long runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from support.comparisons import GRAPH, small
from visibility_aware_edge_ldp.evaluation.compare.curator_law import curator_errors, size_law
from visibility_aware_edge_ldp.evaluation.expected_errors import EXACT_LAW
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothStudentT
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.curator import Centre, ask_within

NAMES = ("edges", "triangles", "stars:2")


@pytest.mark.parametrize("epsilon", ["3", "1", "0.1", "0.001"])
def test_the_mean_size_of_discrete_laplace_noise(epsilon: str) -> None:
    noise = DiscreteLaplace(Fraction(epsilon))
    exact = 2 * noise.alpha / (1 - noise.alpha**2)
    assert size_law(noise.law).mean == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("bound", [50, 10**6])
def test_the_mean_size_of_student_noise(bound: int) -> None:
    noise = SmoothStudentT(Fraction(1))
    scale = float(noise.scale(bound))  # of Student's t with 4 degrees of freedom the mean size is 1
    assert size_law(noise.law(bound)).mean == pytest.approx(scale, rel=3e-3)


def test_no_noise_has_no_size() -> None:
    assert size_law(None).mean == 0
    assert size_law(None).at(np.array([0.1, 1.0])).tolist() == [0, 0]
    public = Centre(VisibilityAwareGraph(GRAPH, VisibilityPolicy(1)))
    found = curator_errors(public, Fraction(1), Fraction(0), {"edges": 200}, ("edges",))
    assert (found["edges"].error, found["edges"].basis) == (0.0, EXACT_LAW)


@pytest.mark.long
@pytest.mark.parametrize("delta", ["0", "1e-4"])
def test_long_runs_err_as_much_as_the_law_says(delta: str) -> None:
    design = small(trust="curator", statistics=NAMES)
    epsilon, world = Fraction(1), design.worlds[AWARE]
    centre = Centre(world)
    law = curator_errors(centre, epsilon, Fraction(delta), design.truths, NAMES)
    errors = []
    for seed in range(300):
        answers, _ = ask_within(Centre(world, worked_out=centre.worked_out), epsilon, delta, NAMES, seed=seed)
        errors.append([abs(answers[name].estimate.value / design.truths[name] - 1) for name in NAMES])
    means, spread = np.mean(errors, axis=0), np.std(errors, axis=0) / math.sqrt(300)
    for place, name in enumerate(NAMES):
        assert law[name].error == pytest.approx(means[place], abs=4 * spread[place]), name


def test_what_no_policy_can_change_gains_nothing() -> None:
    design = small(trust="curator", statistics=NAMES)
    aware, uniform = (
        curator_errors(Centre(design.worlds[policy]), Fraction(1), Fraction(0), design.truths, NAMES)["edges"].error
        for policy in (AWARE, UNIFORM)
    )
    assert uniform / aware == pytest.approx(1, abs=0.01)
