"""Many canaries in one run: near epsilon, not above it, and a leak among them is seen.  [SHOWN.3]"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.statistical.audits import audit_one_run, guess, one_run_audits
from visibility_aware_edge_ldp.audit.statistical.mutants import AskedPerTriangle, same_for_all_users
from visibility_aware_edge_ldp.audit.statistical.shipped_counts import Owned
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import PRIVATE, Positions, Rows, one_round, two_rounds
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.surveys.neighbourhood import BELIEVED

CANARIES = 300_000


@pytest.mark.parametrize("each", one_run_audits(CANARIES), ids=lambda each: each.name)
def test_real_clients_show_nearly_all_of_epsilon(each: object) -> None:
    finding = each.run()  # type: ignore[attr-defined]
    assert finding.holds
    assert (finding.way, finding.cases) == ("one run", CANARIES)
    assert all(loss.found >= 0.95 * loss.claimed for loss in finding.losses)


def test_triangles_can_be_canaries_too() -> None:
    assert audit_one_run("user triangles, two rounds", [Rows(PRIVATE)], 20_000).holds


def test_twins_are_caught_in_one_run() -> None:
    again = Positions(PRIVATE, two_rounds, times=5, client=AskedPerTriangle)
    same = Positions(PRIVATE, one_round, users=2, coins=same_for_all_users)
    for twin in (again, same):
        assert not audit_one_run("twin", [twin], 50_000).holds


def test_a_perfect_guesser_is_bounded_by_the_number_of_guesses() -> None:
    secrets = np.random.default_rng(1).integers(0, 2, 4000).astype(np.bool_)
    found = guess(secrets, secrets[:, None].astype(np.int8), alpha=0.01)
    assert (found.made, found.right) == (3000, 3000)
    rate = 0.01 ** (1 / 3000)
    assert found.epsilon == pytest.approx(math.log(rate / (1 - rate)), rel=1e-4)


def test_a_few_bare_canaries_are_worth_abstaining_from_the_others() -> None:
    """One in fifty is sent as it is and the others are noise: only those are guessed."""
    rng = np.random.default_rng(2)
    secrets, noise = rng.integers(0, 2, (2, 40_000))
    bare = rng.random(40_000) < 0.02
    sent = np.where(bare, 10 + secrets, noise)[:, None]
    found = guess(secrets.astype(np.bool_), sent)
    assert found.made == bare[10_000:].sum() == found.right
    assert found.epsilon > 4


def test_noise_shows_nothing() -> None:
    rng = np.random.default_rng(3)
    secrets = rng.integers(0, 2, 20_000).astype(np.bool_)
    assert guess(secrets, rng.integers(0, 9, (20_000, 2))).epsilon == 0.0


def test_a_promise_with_delta_is_refused() -> None:
    with pytest.raises(BadInput, match="pure"):
        audit_one_run("believed", [Owned(PRIVATE, BELIEVED, delta=Fraction(1, 100))], 100)
