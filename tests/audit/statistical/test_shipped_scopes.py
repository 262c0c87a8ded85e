"""What leaves real clients inside a scope tells of edges inside as much as is billed, and nothing of others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.statistical import shipped_lists
from visibility_aware_edge_ldp.audit.statistical.shipped_scopes import ScopedPairs, audits, mutants

RUNS = 40_000


def pairs(outside: bool) -> ScopedPairs:
    return ScopedPairs(shipped_lists.PRIVATE, shipped_lists.one_bin, shipped_lists.bins, outside=outside)


def test_an_edge_inside_is_told_and_one_outside_is_not() -> None:
    inside, outside = (audit.run() for audit in audits(RUNS))
    assert inside.holds
    assert inside.losses[0].found > 0.75
    assert outside.holds
    assert outside.losses[0].found == 0


def test_a_client_that_counts_friends_outside_is_caught() -> None:
    (twin,) = mutants(RUNS)
    assert twin.run().caught


def test_with_the_same_coins_an_edge_outside_changes_no_number() -> None:
    there, gone = (pairs(True).send(np.full(300, edge), "seed") for edge in (True, False))
    assert (there == gone).all()
    there, gone = (pairs(False).send(np.full(300, edge), "seed") for edge in (True, False))
    assert (there != gone).any()


@pytest.mark.parametrize("outside", [False, True])
def test_the_claim_is_the_bill_inside_and_nothing_outside(outside: bool) -> None:
    assert pairs(outside).claimed.epsilon <= (Fraction(1, 10**8) if outside else 1)
    assert bool(pairs(outside).public(6).classes.inside([0], [1])[0]) is not outside
