"""The certificate of a simulated world."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.trust import CURATOR, USER
from visibility_aware_edge_ldp.simulation import worlds
from visibility_aware_edge_ldp.simulation.worlds import certificate, check_world
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(20, 40, 1), VisibilityPolicy("0.2", "0.3", "0.5"))


def test_a_certificate_says_what_was_asked_of_whom() -> None:
    releases = degree_survey(WORLD.public, 1).releases
    found = certificate(WORLD, USER, releases, 7, {"users": 0.5}, assumptions=("the sky is blue",))
    assert found.trust == "USER"
    assert found.simulated
    assert found.local
    assert found.bill["PRIVATE"].epsilon == 1
    assert sum(found.classes.values()) == WORLD.public.positions
    assert found.assumptions[-1] == "the sky is blue"
    assert not certificate(WORLD, CURATOR, releases, None).local


def test_positions_of_many_users_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "MOST_COUNTED", 10)
    assert certificate(WORLD, USER, (), None).classes == {}


def test_a_graph_alone_is_no_world() -> None:
    with pytest.raises(BadInput, match="wrap the graph"):
        check_world(WORLD.graph)
