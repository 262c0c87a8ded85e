"""The centre at size: number and bound move together, and a bound that is too small is noticed."""

from __future__ import annotations

from decimal import Decimal

import pytest

from visibility_aware_edge_ldp.audit.at_size import curator
from visibility_aware_edge_ldp.client.sensitivity import Profile
from visibility_aware_edge_ldp.errors import ProtocolViolation


@pytest.mark.parametrize("statistic", ["edges", "max_degree", "triangles", "stars:2"])
def test_claims_are_nearly_used_up(statistic: str) -> None:
    world = curator.books(statistic, 40, 20) if statistic == "triangles" else curator.star(statistic, 20, 10)
    loss = curator.loss_of(world)
    assert loss.holds
    assert loss.found > 0.95 * loss.claimed
    for there in (True, False):
        curator.refuse_other_bounds(world, there)


def test_a_bound_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Profile.smooth
    monkeypatch.setattr(Profile, "smooth", lambda self, beta: real(self, beta) * Decimal("0.99"))
    with pytest.raises(ProtocolViolation):
        curator.refuse_other_bounds(curator.books("triangles", 40, 30), True)
