"""Clopper and Pearson's limits, against SciPy, against sums of exact fractions, and by what they promise.  [SHOWN.1]"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from visibility_aware_edge_ldp.audit.statistical.lower_bound import MOST_TRIALS, lower_limit, tail, upper_limit
from visibility_aware_edge_ldp.errors import BadInput

ALPHAS = (1e-9, 0.0005, 0.05, 0.4)
COUNTS = (
    [(k, 7) for k in range(8)]
    + [(k, 1000) for k in (0, 1, 10, 500, 990, 1000)]
    + [(k, 750_000) for k in (0, 3, 1000, 201_700, 548_300, 749_999, 750_000)]
    + [(30_000_000, 10**8), (2, 10**8)]
)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("successes", "trials"), COUNTS)
def test_the_limits_are_scipys_and_never_narrower(successes: int, trials: int, alpha: float) -> None:
    low, high = lower_limit(successes, trials, alpha), upper_limit(successes, trials, alpha)
    theirs_low = beta.ppf(alpha, successes, trials - successes + 1) if successes else 0.0
    theirs_high = beta.isf(alpha, successes + 1, trials - successes) if successes < trials else 1.0
    assert low == pytest.approx(theirs_low, rel=2e-5)
    assert high == pytest.approx(theirs_high, rel=2e-5)
    # SciPy's own inverse is right to about twelve digits.
    assert low <= theirs_low * (1 + 1e-11)
    assert high >= theirs_high * (1 - 1e-11)


@given(st.integers(1, 40), st.data())
@settings(max_examples=60, deadline=None)
def test_the_tail_is_the_exact_sum(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials + 1))
    chance = data.draw(st.fractions(0, 1, max_denominator=1000))
    terms = (comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(successes, trials + 1))
    assert tail(successes, trials, float(chance)) == pytest.approx(float(sum(terms, Fraction(0))), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("chance", [1e-7, 0.001, 0.2689, 0.5, 0.9, 1 - 1e-6])
@pytest.mark.parametrize("trials", [1, 1000, 10**6, 10**7])
def test_the_tail_is_scipys_near_the_mean_and_far_from_it(trials: int, chance: float) -> None:
    spread = (trials * chance * (1 - chance)) ** 0.5
    for away in (-8, -3, -1, 0, 1, 3, 8):
        successes = min(max(round(trials * chance + away * spread), 0), trials)
        assert tail(successes, trials, chance) == pytest.approx(binom.sf(successes - 1, trials, chance), rel=1e-6)


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.5, 0.97])
def test_the_limits_miss_as_seldom_as_they_promise(chance: float) -> None:
    """All outcomes of 60 trials, weighed exactly: a check of the theorem and of which side is which."""
    trials, alpha = 60, 0.03
    weights = [float(binom.pmf(k, trials, chance)) for k in range(trials + 1)]
    below = sum(w for k, w in enumerate(weights) if lower_limit(k, trials, alpha) > chance)
    above = sum(w for k, w in enumerate(weights) if upper_limit(k, trials, alpha) < chance)
    assert max(below, above) <= alpha
    # Not for being too wide: on some side a miss is possible.
    assert below + above > 0


@pytest.mark.parametrize(
    ("successes", "trials", "alpha"),
    [(-1, 5, 0.1), (6, 5, 0.1), (0, 0, 0.1), (0, MOST_TRIALS + 1, 0.1), (1, 5, 0.0), (1, 5, 1.0)],
)
def test_what_has_no_limits_is_refused(successes: int, trials: int, alpha: float) -> None:
    with pytest.raises(BadInput):
        lower_limit(successes, trials, alpha)
