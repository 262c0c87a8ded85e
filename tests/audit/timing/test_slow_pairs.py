"""Signs of the pairs that differ most: exact chances, against enumeration and simulation.  [PACE.5]"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.timing.measure import FEWEST, lead_chance, one_sided_chance, slowest_chance


def least_tail(signs: tuple[bool, ...]) -> float:
    """The most unlikely count among the first 1, 2, … of them."""
    return min(one_sided_chance(k - sum(signs[:k]), sum(signs[:k])) for k in range(1, len(signs) + 1))


def test_the_chance_of_a_lead_is_that_of_all_signs() -> None:
    every = list(product([False, True], repeat=9))
    least = np.array([least_tail(signs) for signs in every])
    for signs, tail in zip(every, least, strict=True):
        assert lead_chance(np.array(signs)) == pytest.approx((least <= tail * (1 + 1e-9)).mean())


def test_chances_by_hand() -> None:
    assert one_sided_chance(0, 0) == 1
    assert one_sided_chance(0, 3) == one_sided_chance(3, 0) == pytest.approx(1 / 4)
    assert one_sided_chance(1, 3) == pytest.approx(10 / 16)
    assert one_sided_chance(2, 2) == 1
    assert lead_chance(np.zeros(0, np.bool_)) == 1
    assert lead_chance(np.ones(18, np.bool_)) == pytest.approx(2**-17)


def test_one_sided_chances_are_the_textbooks() -> None:
    stats = pytest.importorskip("scipy.stats")
    for first, second in [(3, 14), (40, 61), (0, 25)]:
        assert one_sided_chance(first, second) == pytest.approx(stats.binomtest(first, first + second).pvalue)


@pytest.mark.parametrize("pairs", [25, 100])
def test_chances_of_equal_sides_are_no_smaller_than_chance_has_them(pairs: int) -> None:
    """Whatever the machine does: times without a mean, and bursts that fall on both."""
    draw = np.random.default_rng(pairs)
    bursts = draw.pareto(0.5, (1500, 1, pairs)) * (draw.random((1500, 1, pairs)) < 0.2)
    chances = np.array([slowest_chance(*times) for times in draw.standard_cauchy((1500, 2, pairs)) + bursts])
    for alpha in (0.3, 0.1, 0.01):
        assert (chances <= alpha).mean() < alpha + 3 * np.sqrt(alpha / 1500)
    assert (chances <= 0.3).mean() > 0.15


def test_pairs_that_do_not_differ_say_nothing() -> None:
    assert slowest_chance(np.ones(50), np.ones(50)) == 1
    second = np.ones(50)
    second[:FEWEST] += 1
    assert slowest_chance(np.ones(50), second) == pytest.approx(2.0 ** (1 - FEWEST))
