"""Sums of functions of noisy degrees: exactly unbiased, with an exactly unbiased variance.  [DEGREESUM.1-3]"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.counts.degrees import degree_functions
from visibility_aware_edge_ldp.counts.degrees.degree_functions import NoisyDegrees, binomial, edges, stars, tail, total
from visibility_aware_edge_ldp.counts.degrees.degree_histogram import (
    fitted_histogram,
    projected_histogram,
    unbiased_histogram,
)
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace

NODES = 9
ONE, TWO = (DiscreteLaplace(Fraction(3)),), (DiscreteLaplace(Fraction(3)), DiscreteLaplace(Fraction(4)))
FUNCTIONS: dict[str, tuple[Callable[[NoisyDegrees], tuple[float, float]], Callable[[int], float]]] = {
    "edges": (edges, lambda d: d / 2),
    "2-stars": (lambda x: stars(x, 2), lambda d: math.comb(d, 2)),
    "3-stars": (lambda x: stars(x, 3), lambda d: math.comb(d, 3)),
    "5-stars": (lambda x: stars(x, 5), lambda d: math.comb(d, 5)),
    "at least 3": (lambda x: tail(x, 3), lambda d: float(d >= 3)),
    "at least 0": (lambda x: tail(x, 0), lambda d: 1),
    "square root": (lambda x: total(x, lambda d: np.sqrt(np.abs(d))), lambda d: math.sqrt(d)),
}


def degrees_of(
    noisy: list[int],
    public: list[int],
    noises: tuple[DiscreteLaplace, ...],
    absent: list[int] = [],  # noqa: B006
    certain: list[int] = [],  # noqa: B006
    nodes: int = NODES,
) -> NoisyDegrees:
    constants = [noise.second_difference_constant for noise in noises]
    return NoisyDegrees(
        nodes,
        np.array(certain, np.int64),
        np.array(noisy),
        np.array(public),
        np.full(len(noisy), sum(constants)),
        np.full(len(noisy), math.prod(constants) if len(constants) > 1 else 0.0),
        np.array(absent, np.int64),
    )


def outcomes(noises: tuple[DiscreteLaplace, ...], reach: int = 14) -> list[tuple[int, float]]:
    """Every noise in a window, with its chance; what is outside has a chance below 1e-15."""
    return [
        (sum(drawn), math.prod(n.probability(k) for n, k in zip(noises, drawn, strict=True)))
        for drawn in product(range(-reach, reach + 1), repeat=len(noises))
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("noises", [ONE, TWO], ids=["one noise", "two noises"])
@pytest.mark.parametrize(("degree", "public"), [(0, 0), (3, 0), (5, 2), (8, 8)])
def test_value_and_variance_of_one_user_are_exactly_unbiased(
    name: str,
    noises: tuple[DiscreteLaplace, ...],
    degree: int,
    public: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The variance before it is cut off at 0, as it enters the sum over many users."""
    monkeypatch.setattr(
        degree_functions, "expanded", lambda _, each, noise: (float(each.sum()), Spread(float(noise.sum())))
    )
    estimator, function = FUNCTIONS[name]
    mean = square = mean_variance = 0.0
    for noise, chance in outcomes(noises):
        value, (variance, *_) = estimator(degrees_of([degree + noise], [public], noises))
        mean, square = mean + chance * value, square + chance * value**2
        mean_variance += chance * variance
    truth = function(degree)
    assert mean == pytest.approx(truth, rel=1e-9, abs=1e-9)
    assert mean_variance == pytest.approx(square - truth**2, rel=1e-7, abs=1e-7)


def test_without_the_correction_stars_are_biased() -> None:
    plain = sum(chance * math.comb(3 + k, 2) for k, chance in outcomes(ONE) if 3 + k >= 0)
    assert plain > 3.04


@pytest.mark.parametrize("present", [1, 2, 3, 4])
def test_every_choice_of_who_answers_averages_to_the_truth(present: int) -> None:
    """[DEGREESUM.2] without noise: all samples of four users, two of whom have public friends; one hides nothing."""
    true, public, certain = np.array([1, 4, 6, 3]), np.array([0, 2, 5, 0]), [7]
    quiet = (DiscreteLaplace(Fraction(200)),)
    found = []
    for chosen in combinations(range(4), present):
        here, away = list(chosen), [u for u in range(4) if u not in chosen]
        found.append(degrees_of(list(true[here]), list(public[here]), quiet, list(public[away]), certain))
    for name, (estimator, function) in FUNCTIONS.items():
        truth = sum(function(int(d)) for d in [*true, *certain])
        values = np.array([(value, spread.variance) for value, spread in map(estimator, found)])
        assert values[:, 0].mean() == pytest.approx(truth), name
        if present > 1:
            assert values[:, 1].mean() == pytest.approx(values[:, 0].var(), rel=1e-9, abs=1e-9), name
        elif values[:, 0].var():
            assert (values[:, 1] == np.inf).all(), name
    counts = [unbiased_histogram(each, np.arange(NODES + 1)) for each in found]
    truth = np.bincount([*true, *certain], minlength=NODES)
    assert np.mean([each.counts for each in counts], axis=0) == pytest.approx(truth)
    if present > 1:
        spread = np.var([each.counts for each in counts], axis=0)
        assert np.mean([each.standard_errors**2 for each in counts], axis=0) == pytest.approx(spread)


@pytest.mark.parametrize("noises", [ONE, TWO], ids=["one noise", "two noises"])
@pytest.mark.parametrize("degree", [0, 4, 8])
def test_the_histogram_of_one_user_is_exactly_unbiased(noises: tuple[DiscreteLaplace, ...], degree: int) -> None:
    bins = np.array([0, 1, 3, 4, 6, NODES])
    mean, square = np.zeros(5), np.zeros(5)
    for noise, chance in outcomes(noises):
        found = unbiased_histogram(degrees_of([degree + noise], [0], noises), bins)
        assert found.counts.sum() == pytest.approx(1)
        mean, square = mean + chance * found.counts, square + chance * found.counts**2
    truth = np.histogram([degree], bins)[0]
    assert mean == pytest.approx(truth, abs=1e-9)


def test_histogram_and_tails_agree() -> None:
    rng = np.random.default_rng(1)
    noisy = list(rng.integers(-4, 14, 50))
    public = list(rng.integers(0, 3, 50))
    each = degrees_of(noisy, public, TWO, absent=[1, 0, 2], certain=[3, 3])
    bins = np.array([0, 2, 5, NODES])
    counts = unbiased_histogram(each, bins).counts
    assert counts.sum() == pytest.approx(55)
    assert counts[2] == pytest.approx(tail(each, 5)[0])
    assert counts[1] + counts[2] == pytest.approx(tail(each, 2)[0] - expansion_of_public(each, 2))


def expansion_of_public(each: NoisyDegrees, threshold: int) -> float:
    """What starting from the public degrees changes: the tail knows of the absent what is public."""
    reach = (each.public >= threshold).sum() + (each.absent >= threshold).sum()
    return float(reach - each.expansion * (each.public >= threshold).sum())


def test_fitted_and_projected_sum_to_the_users_and_are_not_negative() -> None:
    rng = np.random.default_rng(3)
    each = degrees_of(list(rng.integers(-3, 12, 60)), [0] * 60, TWO, absent=[0] * 20, certain=[5, 8, 8], nodes=83)
    for found in (fitted_histogram(each), projected_histogram(each)):
        assert found.counts.min() >= 0
        assert found.counts.sum() == pytest.approx(83)
        assert found.edges[-1] == 83
    assert (fitted_histogram(each).edges == unbiased_histogram(each).edges).all()


def test_everybody_certain_is_exact() -> None:
    each = degrees_of([], [], ONE, certain=[0, 2, 2, 8, 0, 0, 0, 0, 0])
    assert edges(each) == (6, Spread(0))
    assert stars(each, 2) == (30, Spread(0))
    assert tail(each, 2) == (3, Spread(0))
    for found in (fitted_histogram(each), unbiased_histogram(each), projected_histogram(each)):
        assert found.counts.tolist() == [6, 0, 2, 0, 0, 0, 0, 0, 1]
        assert not found.standard_errors.any()


def test_nobody_answered_is_refused() -> None:
    with pytest.raises(BadStatistic, match="Nobody"):
        degrees_of([], [], ONE, absent=[0])


def test_binomials_extend_as_polynomials() -> None:
    x = np.arange(-6, 7)
    assert binomial(x, 0).tolist() == [1] * 13
    assert binomial(x, 2).tolist() == [d * (d - 1) / 2 for d in x]
    assert binomial(x, 3).tolist() == [d * (d - 1) * (d - 2) / 6 for d in x]
    assert binomial(np.array([60]), 30) == pytest.approx(math.comb(60, 30))
    assert (np.diff(binomial(x, 4), 4) == 1).all()


@pytest.mark.parametrize(("degree", "k"), [(5000, 2000), (2**62, 9)])
def test_what_cannot_be_calculated_is_refused(degree: int, k: int) -> None:
    with pytest.raises(BadStatistic, match="smaller K"):
        binomial(np.array([degree, 3]), k)
