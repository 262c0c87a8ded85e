"""A collection of hubs' reports: what it refuses, keeps and says of those who are missing.  [HUBSUM.1-3]"""

from __future__ import annotations

from dataclasses import replace

import pytest

from visibility_aware_edge_ldp.aggregator.hubs import HubCollection, triangles
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.hubs import hub_survey
from visibility_aware_edge_ldp.simulation.simulate import collect_hubs
from visibility_aware_edge_ldp.truth.readers import read_graph

EDGES = [(0, v) for v in range(2, 12)] + [(1, v) for v in range(2, 12)] + [(2, 3), (4, 5), (6, 7)]
POLICY = VisibilityPolicy.from_profiles({0: "public", 1: "public"}, rule="any")
WORLD = VisibilityAwareGraph(read_graph(EDGES, nodes=12), POLICY)
SURVEY = hub_survey(WORLD.public, 1)


def test_nothing_is_estimated_before_a_hub_has_answered() -> None:
    empty = HubCollection(SURVEY, WORLD.public)
    assert empty.missing == SURVEY.plan.hubs
    with pytest.raises(BadStatistic, match="No hub has answered yet"):
        triangles(empty)


def test_what_breaks_the_protocol_is_refused() -> None:
    collection = collect_hubs(WORLD, SURVEY, seed=1)
    report = collection._reports[0]
    moved = tuple(value + 1 for value in report.values)
    bad = {
        "another survey": replace(report, survey="0" * 64),
        "there is no 99": replace(report, hub=99),
        "second, different answer": replace(report, values=moved),
    }
    before = collection.digest
    for hint, wrong in bad.items():
        with pytest.raises(ProtocolViolation, match=hint):
            collection.absorb(wrong)
    assert collection.digest == before


def test_later_reports_do_not_change_a_snapshot() -> None:
    whole, collection = collect_hubs(WORLD, SURVEY, seed=1), HubCollection(SURVEY, WORLD.public)
    taken = collection.snapshot()
    for report in whole._reports.values():
        collection.absorb(report)
    assert (taken.present, collection.present) == ([], whole.present)
    assert taken.left_out() > collection.left_out()


def test_farther_reaches_are_more_certain() -> None:
    collection = collect_hubs(WORLD, SURVEY, seed=1)
    name = SURVEY.numbers[0]
    assert 0 < collection.reach(name, 0.5) < collection.reach(name, 0.95)
