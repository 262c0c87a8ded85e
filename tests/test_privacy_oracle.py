"""dp-accounting as an independent oracle: what losses add up to.  [COMPOSITION.1], [COMPOSITION.3], [COMPOSITION.5]"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.privacy import (
    Bill,
    Guarantee,
    OneEdge,
    OneListEntry,
    Release,
    edge_from_lists,
    optimal_epsilon,
)

pytest.importorskip("dp_accounting")
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

# The library rounds losses up to multiples of this, once for each mechanism.
GRID = 1e-4


def bill_of(prices: list[Guarantee[OneEdge]]) -> Guarantee[OneEdge]:
    """Our own sum over as many releases."""
    return Bill(Release("s", number, (("PRIVATE", price),)) for number, price in enumerate(prices))["PRIVATE"]


def composed(parts: list[Any]) -> Any:
    total = pld.identity()
    for part in parts:
        total = total.compose(part)
    return total


def randomized_response(epsilon: Fraction) -> Any:
    """Theirs draws a bucket anew with probability p, so that half of p flips."""
    return pld.from_randomized_response(float(2 * RandomizedResponse(epsilon).flip), 2)


def promises(prices: list[Guarantee[OneEdge]]) -> Any:
    each = [common.DifferentialPrivacyParameters(float(price.epsilon), float(price.delta)) for price in prices]
    return composed([pld.from_privacy_parameters(one) for one in each])


def best_delta(epsilon: float, count: int, total: float) -> float:
    """Kairouz, Oh and Viswanath (2015), pure and homogeneous: the exact δ of ``count`` randomized responses."""
    keep = 1 / (1 + math.exp(-epsilon))
    return math.fsum(
        math.comb(count, k) * (keep ** (count - k) * (1 - keep) ** k)
        * max(0.0, 1 - math.exp(total - epsilon * (count - 2 * k)))
        for k in range(count + 1)
    )  # fmt: skip


@pytest.mark.parametrize("shares", [("0.3", "0.7"), ("1", "1"), ("0.1", "0.2", "0.3", "1.4")])
def test_rounds_of_randomized_response_add_up(shares: tuple[str, ...]) -> None:
    """The bill is what the library finds for the real mechanisms, and nothing less would do."""
    losses = [Fraction(share) for share in shares]
    ours = float(bill_of([Guarantee(OneEdge, loss) for loss in losses]).epsilon)
    theirs = composed([randomized_response(loss) for loss in losses])
    assert theirs.get_epsilon_for_delta(0) == pytest.approx(ours, abs=len(losses) * GRID + 1e-9)
    assert theirs.get_delta_for_epsilon(ours + len(losses) * GRID) == pytest.approx(0, abs=1e-12)
    assert theirs.get_delta_for_epsilon(0.9 * ours) > 1e-4


def test_an_edge_in_two_lists_pays_twice() -> None:
    """[COMPOSITION.3] with the discrete Laplace noise of both ends' degrees."""
    noise = DiscreteLaplace(Fraction(1, 2))
    one = pld.from_discrete_laplace_mechanism(float(noise.rate), noise.sensitivity)
    ours = edge_from_lists(Guarantee(OneListEntry, noise.epsilon))
    assert composed([one, one]).get_epsilon_for_delta(0) == pytest.approx(float(ours.epsilon), abs=2 * GRID)
    assert composed([one, one]).get_delta_for_epsilon(float(noise.epsilon)) > 0.01  # the twin that pays once


def test_a_second_question_to_those_who_said_one_is_within_the_sum() -> None:
    """POSITION's two rounds as one channel: our exact loss is theirs, and at most the bill."""
    first, second = RandomizedResponse(Fraction(1, 2)), RandomizedResponse(Fraction(3, 2))
    channel = first.channel.refined(1, second.channel)
    upper, lower = (
        {outcome: math.log(chance) for outcome, chance in enumerate(chances)}
        for chances in (channel.given_one, channel.given_zero)
    )
    theirs = pld.from_two_probability_mass_functions(lower, upper)
    found = theirs.get_epsilon_for_delta(0)
    assert found == pytest.approx(channel.loss, abs=2 * GRID)
    assert (
        found <= float(bill_of([Guarantee(OneEdge, Fraction(1, 2)), Guarantee(OneEdge, Fraction(3, 2))]).epsilon) + GRID
    )


@pytest.mark.parametrize("deltas", [("0", "1/1000000"), ("1/1000", "1/1000", "1/100")])
def test_deltas_add_up_too(deltas: tuple[str, ...]) -> None:
    prices = [Guarantee(OneEdge, Fraction(i + 1, 2), Fraction(delta)) for i, delta in enumerate(deltas)]
    ours, theirs = bill_of(prices), promises(prices)
    total = theirs.get_delta_for_epsilon(float(ours.epsilon) + len(prices) * GRID)
    assert 0 < total <= float(ours.delta)
    assert total > 0.9 * float(ours.delta)


@pytest.mark.parametrize(("epsilon", "count", "delta"), [("0.1", 30, 1e-6), ("0.5", 8, 1e-4), ("1", 4, 1e-9)])
def test_the_tighter_figure_is_the_best_possible(epsilon: str, count: int, delta: float) -> None:
    """[COMPOSITION.5] against the closed form, and never above the bill."""
    prices = [Guarantee(OneEdge, Fraction(epsilon))] * count
    tight, plain = optimal_epsilon(prices, delta), float(bill_of(prices).epsilon)
    assert tight <= plain + count * GRID
    assert best_delta(float(epsilon), count, tight) <= delta * (1 + 1e-6)
    assert best_delta(float(epsilon), count, tight - 2 * count * GRID) > delta


def test_without_a_delta_the_tighter_figure_is_the_sum() -> None:
    prices = [Guarantee(OneEdge, Fraction(1, 10))] * 30
    assert optimal_epsilon(prices, 0) == pytest.approx(3, abs=30 * GRID)
    assert optimal_epsilon(prices, 1e-6) < 2.7


def test_the_twin_that_takes_the_worst_of_two_rounds_is_caught() -> None:
    """Disjoint bits may; the same bits may not."""
    once = Guarantee(OneEdge, Fraction(1))
    claimed = float((once | once).epsilon)
    assert promises([once, once]).get_delta_for_epsilon(claimed) > 0.1
    assert promises([once]).get_delta_for_epsilon(claimed + GRID) == pytest.approx(0, abs=1e-12)
