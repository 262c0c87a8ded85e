"""A stream of reports tells what a collection in memory tells, and refuses what it cannot count as it comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.groups import GroupCollection
from visibility_aware_edge_ldp.aggregator.node_statistics.streamed_degrees import StreamedDegrees, StreamedGroups
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeReport, degree_report, degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, group_survey
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

GRAPH = powerlaw(300, 900, seed=1)
WORLD = VisibilityAwareGraph(GRAPH).grouped({name: "abc"[name % 3] for name in GRAPH.names})
EVERYBODY = np.ones(300, np.bool_)


def parts(report: Any, made: Any, sizes: tuple[int, ...]) -> Any:
    start = 0
    for size in sizes:
        users = slice(start, start + size)
        yield degree_report(report.survey, start, EVERYBODY[users], report.values[:, users], made)
        start += size


@pytest.mark.parametrize("epsilon", [0.2, 1, 6])
def test_degrees_as_in_memory(epsilon: float) -> None:
    names = ("edges", "stars:2", "stars:3", "tail:4", "tail:200", "degree_variance", "isolates", "concurrency")
    survey = degree_survey(WORLD.public, epsilon)
    whole = collect(WORLD, survey, 3, into=DegreeCollection)
    streamed = StreamedDegrees(survey, WORLD.public)
    report = degree_report(survey.identity, 0, EVERYBODY, whole.numbers)
    for part in parts(report, DegreeReport, (100, 1, 199)):
        streamed.absorb(part)
        streamed.absorb(part)  # the same again changes nothing
    assert streamed.releases == whole.releases
    found, expected = estimate(streamed, names), estimate(whole, names)
    for name in names:
        assert found[name].value == pytest.approx(expected[name].value, rel=1e-12, abs=1e-9)
        assert found[name].variance == pytest.approx(expected[name].variance, rel=1e-9, nan_ok=True)
        assert found[name].interval(0.95) == pytest.approx(expected[name].interval(0.95), rel=1e-9, abs=1e-6)


def test_groups_as_in_memory() -> None:
    names = ("mixing", "contacts", "assortativity", "coleman")
    survey = group_survey(WORLD.public, 2)
    whole = collect(WORLD, survey, 3, into=GroupCollection)
    streamed = StreamedGroups(survey, WORLD.public)
    report = degree_report(survey.identity, 0, EVERYBODY, whole.numbers, GroupReport)
    for part in parts(report, GroupReport, (30, 270)):
        streamed.absorb(part)
    found, expected = estimate(streamed, names), estimate(whole, names)
    for name in names:
        assert np.array_equal(found[name].value, expected[name].value)
        assert found[name].variance == pytest.approx(expected[name].variance, rel=1e-12)


def test_what_cannot_be_counted_as_it_comes_is_refused() -> None:
    survey = degree_survey(WORLD.public, 1)
    zeros, streamed = np.zeros((1, 300), np.int64), StreamedDegrees(survey, WORLD.public)
    with pytest.raises(BadStatistic, match="300 users have not answered yet"):
        estimate(streamed, "edges")
    with pytest.raises(ProtocolViolation, match="order of users"):
        streamed.absorb(degree_report(survey.identity, 7, EVERYBODY[7:], zeros[:, 7:]))
    with pytest.raises(ProtocolViolation, match="order of users"):
        streamed.absorb(degree_report(survey.identity, 0, np.ones(301, np.bool_), np.zeros((1, 301), np.int64)))
    with pytest.raises(ProtocolViolation, match="stays away"):
        streamed.absorb(degree_report(survey.identity, 0, np.arange(300) > 0, zeros))
    for wrong in (
        degree_report("0" * 64, 0, EVERYBODY, zeros),
        degree_report(survey.identity, 0, EVERYBODY, zeros[[0, 0]]),
    ):
        with pytest.raises(ProtocolViolation, match="another survey"):
            streamed.absorb(wrong)
    with pytest.raises(BadStatistic, match="takes reports that are kept"):
        streamed.estimator("degree_histogram")
    for world in (VisibilityAwareGraph(erdos_renyi(9, 9)), VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.5"))):
        with pytest.raises(ProtocolViolation):
            StreamedDegrees(survey, world.public)
