"""Clients are overheard while something runs, and left as they were."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.engine.overheard import BLOCK, first_coins, overheard
from visibility_aware_edge_ldp.audit.engine.small_worlds import RING
from visibility_aware_edge_ldp.client.reporter import Client
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation import worlds
from visibility_aware_edge_ldp.simulation.estimate import estimate

WORLD = VisibilityAwareGraph(RING)


def test_what_is_paid_for_is_heard_and_clients_are_left_as_they_were() -> None:
    before = Client.answer
    with overheard() as heard:
        estimate(WORLD, "position", 1, ["edges"], rounds=2, seed=1)
    assert Client.answer is before
    assert sorted(number for _, number in heard) == [1, 2]


def test_first_coins_are_those_of_each_answer() -> None:
    before = Client.answer
    with first_coins() as drawn:
        estimate(WORLD, "user", 1, ["edges", "triangles"], seed=1)
    assert Client.answer is before
    assert len(drawn) == len({*drawn}) == 3  # degrees, first answers, which another client gives for these users, sums
    assert {*map(len, drawn)} == {BLOCK}


def test_coins_that_come_again_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "seeded_key", lambda *labels: bytes(32))
    with first_coins() as drawn:
        estimate(WORLD, "position", 1, ["edges"], rounds=2, seed=1)
    assert len({*drawn}) < len(drawn)
