"""What formed and ended between waves: exact means and variances on few positions, and intervals with rows away."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.nonresponse.waves import (
    ENDED,
    FORMED,
    NET,
    Changed,
    WaveFlags,
    between_waves,
    level,
)
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.mechanisms.changes import Changes
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE, FRIEND_VISIBLE = Visibility.PRIVATE, Visibility.FRIEND_VISIBLE
STRICT, LOOSE = Changes(Fraction(1), 1), Changes(Fraction(2), 1)


def flags(formed: list[int], ended: list[int], sizes: list[int], rows: int, positions: int) -> WaveFlags:
    return WaveFlags({PRIVATE: STRICT}, {PRIVATE: np.array([sizes, formed, ended])}, rows, positions)


def test_means_and_variances_are_exact() -> None:
    """Two rows of two and one positions; one edge formed and one ended: every answer, with its chance."""
    q = STRICT.quiet.flip
    raised = [(1, 0), (0, 0), (0, 1)]  # formed and ended flags of three positions
    rows = (0, 0, 1)
    sums = {name: [Fraction(0)] * 3 for name in (FORMED, ENDED, NET)}
    for said in product((0, 1), repeat=6):
        chance, counts = Fraction(1), np.array([[2, 1], [0, 0], [0, 0]])
        for place, bit in enumerate(said):
            position, flag = divmod(place, 2)
            one = Fraction(1, 2) if raised[position][flag] else q
            chance *= one if bit else 1 - one
            counts[1 + flag, rows[position]] += bit
        found = WaveFlags({PRIVATE: STRICT}, {PRIVATE: counts}, 2, 3).changed()
        for name, each in found.items():
            value = Fraction(float(each.estimate.value))
            moments = 1, value, value**2
            sums[name] = [total + chance * moment for total, moment in zip(sums[name], moments, strict=True)]
    c = 3 * STRICT.channel.variance(0)
    for name, mean, variance in ((FORMED, 1, c + 1), (ENDED, 1, c + 1), (NET, 0, 2 * c + 2)):
        _, first, second = map(float, sums[name])
        assert first == pytest.approx(mean, abs=1e-9)
        assert second - first**2 == pytest.approx(float(variance), rel=1e-9)


def test_the_stated_variance_is_noise_and_what_is_seen_to_have_changed() -> None:
    found = flags([400, 300], [100, 100], [1000, 800], 2, 1800).changed()
    noise = 1800 * float(STRICT.channel.variance(0))
    for name, terms in ((FORMED, 1), (ENDED, 1), (NET, 2)):
        each = found[name]
        assert each.sampling == 0
        parts = [max(float(found[one].estimate.value), 0) for one in ((name,) if name != NET else (FORMED, ENDED))]
        assert each.estimate.variance == pytest.approx(terms * noise + sum(parts))


def test_classes_have_scores_of_their_own() -> None:
    counts = {PRIVATE: np.array([[50], [20], [0]]), FRIEND_VISIBLE: np.array([[70], [30], [0]])}
    found = WaveFlags({PRIVATE: STRICT, FRIEND_VISIBLE: LOOSE}, counts, 1, 120).changed()
    wanted = sum(
        (ones - size * float(each.quiet.flip)) / (0.5 - float(each.quiet.flip))
        for size, ones, each in ((50, 20, STRICT), (70, 30, LOOSE))
    )
    assert found[FORMED].estimate.value == pytest.approx(wanted)


def drawn(dice: np.random.Generator, changes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    q = float(STRICT.quiet.flip)
    return dice.binomial(changes, 0.5) + dice.binomial(sizes - changes, q)


def held(stay: float, runs: int = 400, twin: bool = False) -> float:
    """How often 95 % intervals of the net change hold the truth, with so large a share of the rows."""
    dice, rows = np.random.default_rng(5), 60
    sizes = np.arange(rows, 0, -1)
    formed, ended = (dice.binomial(sizes, share) for share in (0.4, 0.1))
    truth, good = int(formed.sum() - ended.sum()), 0
    for _ in range(runs):
        here = np.sort(dice.choice(rows, round(stay * rows), replace=False))
        said = [drawn(dice, each[here], sizes[here]) for each in (formed, ended)]
        found = WaveFlags(
            {PRIVATE: STRICT}, {PRIVATE: np.array([sizes[here], *said])}, rows, int(sizes.sum())
        ).changed()
        estimate = found[NET].estimate
        if twin:
            estimate = Estimate(NET, estimate.value, found[NET].noise)
        low, high = estimate.interval()
        good += bool(low <= truth <= high)
    return good / runs


@pytest.mark.parametrize("stay", [1.0, 0.7, 0.3])
def test_intervals_hold(stay: float) -> None:
    assert 0.915 <= held(stay) <= 0.985


def test_without_what_sampling_adds_they_would_not() -> None:
    assert held(0.3, twin=True) < 0.9


def wave(value: float, variance: float, noise: float) -> Changed:
    return Changed(Estimate(NET, value, variance, unbiased=noise == variance), noise)


def test_noise_adds_up_and_what_is_due_to_the_absent_may_go_together() -> None:
    together = between_waves(NET, [wave(3, 9, 9), wave(-1, 25, 16), wave(2, 5, 1)])
    assert together.value == 4
    assert together.variance == pytest.approx(9 + 16 + 1 + (3 + 2) ** 2)
    assert together.conservative
    assert not between_waves(NET, [wave(3, 9, 9), wave(1, 4, 4)]).conservative
    with pytest.raises(BadInput, match="At least one wave"):
        between_waves(NET, [])


def test_levels_share_the_first_waves_error() -> None:
    first = Estimate("edges", 100.0, 50.0)
    found = level(first, [wave(3, 9, 9), wave(-1, 16, 16)])
    assert (found.statistic, found.value, found.variance) == ("edges", 102, 75)


def test_too_few_rows_say_nothing() -> None:
    assert flags([1], [0], [5], 1, 5).changed()[FORMED].estimate.unbiased
    for few in (flags([1], [0], [5], 2, 9), flags([], [], [], 2, 9), flags([0], [0], [0], 1, 0)):
        with pytest.raises(BadStatistic, match="Too few answered"):
            few.changed()
        assert few.noise == {}


def test_liars_move_all_their_flags() -> None:
    found, step = flags([1, 1], [0, 0], [5, 3], 4, 16), float(1 / (Fraction(1, 2) - STRICT.quiet.flip))
    assert found.bound(FORMED, 1) == pytest.approx(2 * 5 * step)
    assert found.bound(NET, 5) == pytest.approx(2 * 2 * 8 * step)
    assert math.isfinite(found.bound(ENDED, 0))
