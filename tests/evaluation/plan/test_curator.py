"""A centre before anybody is asked: its noise, and how it shares ε."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.plan.base import mean_size
from visibility_aware_edge_ldp.evaluation.plan.planner import plan
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)


def test_the_mean_size_of_power_noise() -> None:
    noise = SmoothPower(Fraction(1), Fraction(1, 6))
    z = np.linspace(0, 400, 400_001)
    assert mean_size(noise) == pytest.approx(2 * float(np.trapezoid(noise._tail(z), z)), rel=1e-3)


def test_a_centre_gives_everything_to_one_question_and_shares_it_among_several() -> None:
    alone = plan(family=GRAPH, epsilons=[1], statistics="edges", trust=["curator"])
    shared = plan(family=GRAPH, epsilons=[1], statistics="edges,triangles,stars:2", trust=["curator"])
    one, several = (each.row("curator", "edges", 1).standard_error for each in (alone, shared))
    assert one == pytest.approx(2**0.5, rel=0.1)
    assert several > 1 / 0.9 * one
