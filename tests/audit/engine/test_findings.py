"""Findings: what holds, what exceeds, and what does neither."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import (
    Finding,
    Loss,
    altered,
    exact_finding,
    exact_finding_over,
    exact_mutants,
    largest,
    recast,
    replaced,
)
from visibility_aware_edge_ldp.errors import BadInput


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


@dataclass(frozen=True)
class Honest:
    number: int

    def answer(self, more: int) -> int:
        return self.number + more


@dataclass(frozen=True)
class Wider(Honest):
    note: str = ""


def test_a_mutant_has_what_was_replaced_and_all_else_of_the_real_class() -> None:
    broken = replaced(Honest, answer=lambda self, more: self.number)
    assert issubclass(broken, Honest)
    assert (broken(3).answer(4), Honest(3).answer(4)) == (3, 7)
    doubled = altered(Honest, "answer", lambda self, result, more: (self.number, 2 * result, more))
    assert doubled(3).answer(4) == (3, 14, 4)


def test_a_value_is_recast_with_the_fields_that_both_classes_have() -> None:
    assert recast(Wider, Honest(3)) == Wider(3)
    assert recast(Honest, Wider(3, "left out")) == Honest(3)


def test_rows_of_mutants_become_audits_that_say_what_is_wrong() -> None:
    def run(name: str, cases: list[int], about: str) -> Finding:
        return Finding(name, "exact", (Loss("PRIVATE", 1, 2),), len(cases), about)

    (twin,) = exact_mutants(run, [("thing, broken", "It is broken.", [1, 2])])
    assert (twin.name, twin.way, twin.broken) == ("thing, broken", "exact", "It is broken.")
    assert twin.run() == Finding("thing, broken", "exact", (Loss("PRIVATE", 1, 2),), 2, "It is broken.")


def test_the_losses_and_cases_of_all_stages_are_put_together() -> None:
    stages = [([Loss("PRIVATE", 1, 0.5)], 2), ([Loss("PRIVATE", 1, 0.7)], 3)]
    assert exact_finding_over("thing", stages, "all") == Finding("thing", "exact", (Loss("PRIVATE", 1, 0.7),), 5, "all")


def test_what_is_not_there_cannot_be_replaced() -> None:
    """A mutant under a name that no longer exists would be the real class."""
    assert replaced(Finding, holds=False) is not Finding
    with pytest.raises(BadInput, match="has no no_such_member"):
        replaced(Finding, no_such_member=1)
