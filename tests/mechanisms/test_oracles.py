"""OpenDP as an independent oracle: the same promises and, by chi-square, the same laws.  [RR.1], [DL.1], [DL.3]

OpenDP's coins have no seed, so every limit is one that a correct program passes but once in 10⁹ runs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, sample_each
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import secure_coins

FALSE_ALARM = 1e-9
DRAWS = 40_000
BITS = 4_000
stats = pytest.importorskip("scipy.stats")


@pytest.fixture(scope="module")
def dp() -> Any:
    """OpenDP's own measurements."""
    library = pytest.importorskip("opendp.prelude")
    library.enable_features("contrib")
    return library


def chance_of(counts: np.ndarray, chances: np.ndarray) -> float:
    """Pearson's chi-square: how often counts that have these chances differ from them as much."""
    return float(stats.chisquare(counts, chances / chances.sum() * counts.sum()).pvalue)


def chance_of_same(first: np.ndarray, second: np.ndarray) -> float:
    """Chi-square of two samples: how often two samples of one law differ as much."""
    return float(stats.chi2_contingency(np.stack([first, second])).pvalue)


def cells(draws: np.ndarray, law: DiscreteLaplace) -> tuple[np.ndarray, np.ndarray]:
    """Draws counted by value, both tails together beyond where fewer than 50 are expected, and their chances."""
    reach = law.interval(1 - 100 / draws.size)[1]
    inside = np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    chances = np.array([law.probability(k) for k in range(-reach, reach + 1)])
    tails = inside[0] + inside[-1]
    return np.append(inside[1:-1], tails), np.append(chances, 1 - chances.sum())


@pytest.fixture(scope="module")
def their_laplace(dp: Any) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return lambda scale: dp.m.make_laplace(*space, scale=scale)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_randomized_response_makes_the_same_promise(dp: Any, epsilon: str) -> None:
    ours = RandomizedResponse(Fraction(epsilon))
    assert dp.m.make_randomized_response_bool(float(ours.keep)).map(1) == pytest.approx(float(epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_randomized_response_has_the_same_law(dp: Any, epsilon: str) -> None:
    ours = RandomizedResponse(Fraction(epsilon))
    theirs = dp.m.make_randomized_response_bool(float(ours.keep))
    bits = np.arange(BITS) % 2 == 1
    their_flips = np.array([theirs(bool(bit)) for bit in bits]) ^ bits
    our_flips = ours.randomize(np.arange(10 * BITS) % 2 == 1, secure_coins()) ^ (np.arange(10 * BITS) % 2 == 1)
    flips = [np.bincount(each, minlength=2) for each in (their_flips, our_flips)]
    chances = np.array([float(ours.keep), float(ours.flip)])
    assert chance_of(flips[0], chances) > FALSE_ALARM
    assert chance_of(flips[1], chances) > FALSE_ALARM
    assert chance_of_same(*flips) > FALSE_ALARM


def test_the_same_check_catches_a_randomized_response_that_is_off(dp: Any) -> None:
    """The twin's promise is 1.5 where 1 was asked: 4,000 draws tell."""
    ours, twin = RandomizedResponse(Fraction(1)), dp.m.make_randomized_response_bool(0.8175744761936437)
    assert twin.map(1) == pytest.approx(1.5)
    flips = np.bincount([int(not twin(True)) for _ in range(BITS)], minlength=2)
    assert chance_of(flips, np.array([float(ours.keep), float(ours.flip)])) < FALSE_ALARM


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("0.5", 1), ("2", 1), ("1", 3)])
def test_discrete_laplace_makes_the_same_promise(their_laplace: Any, epsilon: str, sensitivity: int) -> None:
    ours = DiscreteLaplace(Fraction(epsilon), sensitivity)
    assert their_laplace(float(1 / ours.rate)).map(sensitivity) == pytest.approx(float(ours.epsilon))


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("0.5", 1), ("2", 1), ("1", 3)])
def test_discrete_laplace_has_the_same_law(their_laplace: Any, epsilon: str, sensitivity: int) -> None:
    """Their draws against our formula, and both of our samplers against their draws."""
    ours = DiscreteLaplace(Fraction(epsilon), sensitivity)
    theirs, chances = cells(np.array(their_laplace(float(1 / ours.rate))([0] * DRAWS)), ours)
    assert chance_of(theirs, chances) > FALSE_ALARM
    together, _ = cells(ours.sample_many(DRAWS, secure_coins()), ours)
    each, _ = cells(sample_each(ours.epsilon, np.full(DRAWS, sensitivity), secure_coins()), ours)
    assert chance_of_same(theirs, together) > FALSE_ALARM
    assert chance_of_same(theirs, each) > FALSE_ALARM


def test_the_same_check_catches_a_laplace_that_is_off(their_laplace: Any) -> None:
    """The twin has a tenth more epsilon."""
    ours, twin = DiscreteLaplace(Fraction(1, 2)), DiscreteLaplace(Fraction(11, 20))
    theirs, chances = cells(np.array(their_laplace(float(1 / ours.rate))([0] * DRAWS)), twin)
    assert chance_of(theirs, chances) < FALSE_ALARM
    wrong, _ = cells(twin.sample_many(DRAWS, secure_coins()), twin)
    right, _ = cells(np.array(their_laplace(float(1 / ours.rate))([0] * DRAWS)), twin)
    assert chance_of_same(right, wrong) < FALSE_ALARM
