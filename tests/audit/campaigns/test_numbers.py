"""Numbers that campaigns upload, measured on the bytes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.campaigns import numbers
from visibility_aware_edge_ldp.audit.campaigns.numbers import PRIVATE, Setting
from visibility_aware_edge_ldp.audit.engine.noise_laws import Noised, power_losses
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes

NOISE = SmoothPower(Fraction(1), Fraction(1, 8))


@pytest.mark.parametrize(("shift", "bounds"), [(40, (40, 40)), (0, (40, 44)), (30, (40, 45)), (-30, (50, 40))])
def test_before_rounding_a_little_more_is_told_than_after_it(shift: int, bounds: tuple[int, int]) -> None:
    one, other = Noised(0, Decimal(bounds[0])), Noised(shift, Decimal(bounds[1]))
    for smooth, rounded in zip(numbers.told_apart(NOISE, one, other), power_losses(NOISE, one, other), strict=True):
        assert rounded - 1e-3 <= smooth <= rounded + 0.05
    assert numbers.told_apart(NOISE, one, one) == (0, 0)
    assert numbers.told_apart(NOISE, one, Noised(0, 0)) == (math.inf, math.inf)


@pytest.mark.parametrize("bound", [50, 12345])
def test_a_number_and_its_noise_are_found_by_their_words(bound: int) -> None:
    def send(coins: RandomBytes) -> np.ndarray:
        return np.array([17 + NOISE.sample(bound, coins)])

    found = numbers.power_noised(send, 0, (), NOISE)
    assert found.number == 17
    assert float(found.bound) == pytest.approx(bound, rel=2e-3)


def test_no_noise_is_seen_and_another_one_stops_the_audit() -> None:
    assert numbers.power_noised(lambda coins: np.array([5]), 0, (), NOISE) == Noised(5, 0)
    other = SmoothPower(Fraction(1), Fraction(1, 3))
    with pytest.raises(ProtocolViolation, match="another noise"):
        numbers.power_noised(lambda coins: np.array([other.sample(1000, coins)]), 0, (), NOISE)


def test_both_ends_of_an_edge_report_degrees() -> None:
    losses = list(numbers.degree_losses(Setting("degrees", "1", 3)))
    assert [kind for kind, _ in losses] == [PRIVATE] * 3
    assert [loss for _, loss in losses] == pytest.approx([1, 1, 1])


def test_a_hub_alone_tells_what_was_agreed_to_at_most() -> None:
    losses = [loss for _, loss in numbers.hub_losses(Setting("hubs", "4", 4, publics=1))]
    assert 0 < max(losses) <= 4
