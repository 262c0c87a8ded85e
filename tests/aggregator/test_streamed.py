"""Answers that are counted and not kept: the estimates of a whole collection, and its refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator import streamed
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.streamed import StreamedCollection
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public import positions
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, position_survey
from visibility_aware_edge_ldp.simulation import worlds
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.simulate import collect, reports
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

POLICIES = ("nothing", "profiles:0.5", "document-001", "fractions:1,0,0", "fractions:0,1,0")


def small(policy: str = "document-001", nodes: int = 150) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(powerlaw(nodes, 6 * nodes, seed=1), open_policy(policy))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_same_estimates_as_from_everything_kept(policy: str, rounds: int, dropout: float) -> None:
    world = small(policy)
    survey = position_survey(world.public, 1, rounds)
    found = estimate_all(collect(world, survey, 5, dropout, into=StreamedCollection), streamed.STATISTICS)
    whole = collect(world, survey, 5, dropout)
    wanted = estimate_all(whole, streamed.STATISTICS)
    assert list(found) == list(wanted)
    for name, one in found.items():
        other = wanted[name]
        np.testing.assert_allclose(one.value, other.value, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(one.variance, other.variance, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(one.interval(0.9), other.interval(0.9), rtol=1e-9, atol=1e-7)
        assert one.unbiased == other.unbiased
        assert [release.prices for release in one.releases] == [release.prices for release in other.releases]


@pytest.mark.parametrize("policy", POLICIES)
def test_classes_and_responses_are_those_of_a_whole_collection(policy: str) -> None:
    world = small(policy)
    survey = position_survey(world.public, 1)
    counted, whole = collect(world, survey, 5, 0.3, into=StreamedCollection), collect(world, survey, 5, 0.3)
    assert counted.class_sizes == world.public.class_sizes
    assert counted.response_rates() == pytest.approx(whole.response_rates())
    assert counted.rate_variance() == pytest.approx(whole.rate_variance())


def test_the_table_of_all_positions_is_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "TILE", 800)
    world = small("profiles:0.5")
    found = estimate(world, "position", 1, streamed.STATISTICS, seed=1)
    assert set(found) == set(streamed.STATISTICS)
    assert "class_bits" not in vars(world.public)
    assert sum(found.certificate.classes.values()) == positions.position_count(150)


def test_a_world_s_answers_end_up_near_the_truth() -> None:
    world = VisibilityAwareGraph(erdos_renyi(400, 8000, 2), open_policy("profiles:0.3"))
    found = estimate(world, "position", 40, "edges,degrees", seed=1)
    assert found["edges"].value == pytest.approx(8000, abs=1e-6)
    np.testing.assert_allclose(found["degrees"].value, world.graph.degrees, atol=1e-6)


def sent(world: VisibilityAwareGraph, survey: PositionSurvey) -> list[PositionReport]:
    return list(reports(world, survey, 1))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> tuple[VisibilityAwareGraph, PositionSurvey, list[PositionReport]]:
    """Some runs of two rounds each."""
    monkeypatch.setattr(worlds, "TILE", 4000)
    world = small()
    survey = position_survey(world.public, 1, 2)
    return world, survey, sent(world, survey)


Few = tuple[VisibilityAwareGraph, PositionSurvey, list[PositionReport]]


def test_the_same_report_again_changes_nothing(few: Few) -> None:
    world, survey, all_of_them = few
    once, twice = StreamedCollection(survey, world.public), StreamedCollection(survey, world.public)
    for report in all_of_them:
        once.absorb(report)
        twice.absorb(report)
        twice.absorb(report)
    assert estimate_all(once, ["edges"])["edges"].value == estimate_all(twice, ["edges"])["edges"].value
    assert once.releases == twice.releases


def test_nothing_is_estimated_before_everybody_was_heard(few: Few) -> None:
    world, survey, all_of_them = few
    collection = StreamedCollection(survey, world.public)
    for report in all_of_them[:-1]:
        collection.absorb(report)
    with pytest.raises(BadInput, match="have arrived"):
        estimate_all(collection, ["edges"])


def full(size: int) -> bytes:
    return b"\xff" * size


def test_what_breaks_the_protocol_is_refused(few: Few) -> None:
    world, survey, (first, second, third, *_) = few
    collection = StreamedCollection(survey, world.public)
    everybody = replace(first, answered=full(500), ones=bytes(500))
    bad = {
        "another survey": [replace(first, survey="0" * 64)],
        "another round": [replace(first, round=3)],
        "in the order of positions": [second],
        "round 1 from position 0 is next": [third],
        "round 2 from position 0 is next": [first, third],
        "did not answer 1 in round 1": [first, replace(second, answered=full(500), ones=full(500))],
        "public positions": [everybody, replace(everybody, round=2)],
        "beyond the last": [replace(first, start=10**6)],
    }
    for hint, wrong in bad.items():
        collection = StreamedCollection(survey, world.public)
        for report in wrong[:-1]:
            collection.absorb(report)
        with pytest.raises(ProtocolViolation, match=hint):
            collection.absorb(wrong[-1])
    with pytest.raises(ProtocolViolation, match="another roster"):
        StreamedCollection(survey, small(nodes=20).public)


def test_stars_need_a_second_look_at_every_answer() -> None:
    world = small("nothing", 20)
    collection = collect(world, position_survey(world.public, 1), 1, into=StreamedCollection)
    with pytest.raises(BadStatistic, match="stars:2 needs every answer at once"):
        estimate_all(collection, ["edges", "stars:2"])


def test_a_class_that_nobody_answered_for_is_said_so() -> None:
    world = small("nothing", 20)
    survey = position_survey(world.public, 1)
    collection = StreamedCollection(survey, world.public)
    collection.absorb(PositionReport(survey.identity, 1, 0, 190, bytes(24), bytes(24)))
    with pytest.raises(BadStatistic, match="No PRIVATE position has answered"):
        estimate_all(collection, ["edges"])
