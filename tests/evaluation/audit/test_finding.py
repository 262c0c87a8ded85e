"""Findings: what holds, what exceeds, and what does neither."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from visibility_aware_edge_ldp.evaluation.audit.finding import Finding, Loss, largest
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding


@pytest.mark.parametrize(
    ("loss", "holds", "exceeds"),
    [
        (Loss("PRIVATE", 1, 1.0), True, False),
        (Loss("PRIVATE", 1, 1.001), False, True),
        (Loss("PRIVATE", 1, math.inf), False, True),
        (Loss("PRIVATE", 1, 0.5, 1e-6, 1e-5), False, True),
        (Loss("PRIVATE", 1, math.nan), False, False),
        (Loss("PRIVATE", math.nan, 0.5), False, False),
        (Loss("PRIVATE", 1, 0.5, 1e-6, math.nan), False, False),
        (Loss("PRIVATE", 1, math.inf, 0.0, math.nan), False, False),
    ],
    ids=str,
)
def test_what_is_not_a_number_neither_holds_nor_exceeds(loss: Loss, holds: bool, exceeds: bool) -> None:
    assert (loss.holds, loss.exceeds) == (holds, exceeds)
    finding = Finding("thing", "exact", (loss,), 3, "")
    assert (finding.holds, finding.caught) == (holds, exceeds)


@pytest.mark.parametrize(
    ("losses", "cases"), [((), 5), ((Loss("PRIVATE", 1, 0.5),), 0), ((Loss("PRIVATE", 1, 2.0),), 0)]
)
@pytest.mark.parametrize("way", ["exact", "statistical", "time"])
def test_an_audit_of_nothing_neither_holds_nor_catches(way: str, losses: tuple[Loss, ...], cases: int) -> None:
    finding = Finding("thing", way, losses, cases, "")
    assert (finding.holds, finding.caught) == (False, False)
    assert finding.as_dict()["holds"] is False


def test_a_finding_of_no_losses_does_not_hold() -> None:
    assert not exact_finding("x", [], 0, "").holds
    assert not exact_finding("x", [], 4, "").holds


@pytest.mark.parametrize("order", list(permutations([0.2, math.nan, 0.9])), ids=str)
def test_the_largest_does_not_lose_what_is_not_a_number(order: tuple[float, ...]) -> None:
    assert math.isnan(largest(order))
    assert largest(value for value in order if value == value) == 0.9


@pytest.mark.parametrize("order", list(permutations([(1, 0.5), (1, math.nan), (4, 3.9)])), ids=str)
@pytest.mark.parametrize("of_delta", [False, True], ids=["epsilon", "delta"])
def test_no_order_of_the_losses_hides_one(order: tuple[tuple[float, float], ...], of_delta: bool) -> None:
    losses = [
        Loss("PRIVATE", claimed, 0.5, 1.0, found) if of_delta else Loss("PRIVATE", claimed, found)
        for claimed, found in order
    ]
    finding = exact_finding("x", losses, 3, "")
    assert not finding.holds
    assert not finding.caught or of_delta
