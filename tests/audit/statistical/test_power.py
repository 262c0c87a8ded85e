"""How small a fault is seen: the factor that is told is noticed in 99 of 100 audits, or nearly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.statistical import audits, lower_bound, power
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import PRIVATE
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge

RUNS, REPEATS = 20_000, 300


class Inflated:
    """Randomized response at this factor of the ε that it claims."""

    kind = PRIVATE
    claimed = Guarantee(OneEdge, Fraction(1))

    def __init__(self, factor: float) -> None:
        self.mechanism = RandomizedResponse(Fraction(factor).limit_denominator(1000))

    def send(self, edges: np.ndarray, seed: str) -> np.ndarray:
        coins = keyed_random_bytes(seeded_key(seed, "inflated"))
        return self.mechanism.randomize(edges, coins).astype(np.int64).reshape(-1, 1)


@pytest.mark.long
def test_a_fault_of_the_told_size_is_noticed_and_none_is_not() -> None:
    finding = lower_bound.audit("real", [Inflated(1.0)], RUNS)
    (loss,) = finding.losses
    assert 1.01 < loss.visible < 1.3
    rings = [
        not lower_bound.audit("wrong", [Inflated(loss.visible)], RUNS, f"repeat {number}").holds
        for number in range(REPEATS)
    ]
    # 99 of 100 are told; with 300 repeats, 97 % is four standard errors below.
    assert sum(rings) >= 0.97 * REPEATS


def test_guesses_of_one_run() -> None:
    secrets = np.arange(40_000) % 2 == 1
    found = audits.guess(secrets, Inflated(1.0).send(secrets, "one run"))
    factor = power.one_run(found.right, found.made, 1.0, lower_bound.ALPHA)
    assert 1.01 < factor < 1.3


def test_what_shows_nothing_sees_nothing() -> None:
    assert power.two_worlds(0, 0, 1000, 1.0, 0.0, 0.001) == math.inf
    assert power.two_worlds(500, 500, 1000, 1.0, 0.0, 0.001) == math.inf
    assert power.one_run(10, 10, 1.0, 0.001) == power.one_run(5, 10, 1.0, 0.001) == math.inf
