"""Ticks that are round, and epsilons that do not run into each other."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.presentation import (
    drawing as axes,
)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.009, 0.06, ["1%", "2%", "5%"]),
        (0.002, 0.15, ["0.2%", "0.5%", "1%", "2%", "5%", "10%"]),
        (0.002, 2, ["0.3%", "1%", "3%", "10%", "30%", "100%"]),
        (0.5, 3e5, ["100%", "1,000%", "10,000%", "100,000%", "10⁶%", "10⁷%"]),
    ],
)
def test_ticks_are_round(low: float, high: float, labels: list[str]) -> None:
    assert [axes.percent_label(tick) for tick in axes.percent_ticks(low, high)] == labels


def test_crowded_epsilons_are_thinned() -> None:
    assert axes.apart([0.5, 1, 2, 4]) == [0.5, 1, 2, 4]
    assert axes.apart([1.0]) == [1.0]
    assert len(axes.apart([1 + i / 10 for i in range(91)])) <= 8


@pytest.mark.parametrize(("low", "high"), [(0.6, 1.6), (0.05, 90.0), (0.66, 1.5), (1e-6, 2.0)])
def test_axes_of_gains_have_some_ticks_but_not_too_many(low: float, high: float) -> None:
    ticks = axes.plain_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert ticks == sorted(ticks)
    assert all(low <= tick <= high for tick in ticks)
    assert 1 in ticks
