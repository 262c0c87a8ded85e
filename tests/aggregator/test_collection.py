"""What all collections share: the same report twice, other surveys, second answers, names of releases, estimates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visibility_aware_edge_ldp.aggregator.collection import Collection, estimate
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import STATISTICS, Statistic, register
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect, reports
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(30, 90, 1), VisibilityPolicy.nothing())
OTHER = VisibilityAwareGraph(erdos_renyi(31, 90, 1), VisibilityPolicy.nothing())


def test_the_same_report_again_changes_nothing_and_another_answer_is_refused() -> None:
    survey = position_survey(WORLD.public, 1)
    (report,) = reports(WORLD, survey, seed=1)
    (other,) = reports(WORLD, survey, seed=2)
    collection = PositionCollection(survey, WORLD.public)
    collection.absorb(report)
    before = collection.releases
    collection.absorb(replace(report))
    assert collection.releases == before
    with pytest.raises(ProtocolViolation, match="second, different answer"):
        collection.absorb(other)
    assert collection.releases == before


@pytest.mark.parametrize("kind", [PositionCollection, DegreeCollection])
def test_a_survey_of_other_people_is_refused(kind: type[Collection]) -> None:
    asked = position_survey if kind is PositionCollection else degree_survey
    with pytest.raises(ProtocolViolation, match="another roster or another policy"):
        kind(asked(OTHER.public, 1), WORLD.public)


def test_what_reports_do_not_answer_is_refused_before_anything_is_worked_out() -> None:
    collection = collect(WORLD, degree_survey(WORLD.public, 1), 1)
    with pytest.raises(BadStatistic, match="takes more than degrees"):
        estimate(collection, ["edges", "triangles"])


def test_a_registered_statistic_brings_its_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = collect(WORLD, degree_survey(WORLD.public, 1), 1)
    monkeypatch.setattr("visibility_aware_edge_ldp.public.statistic.STATISTICS", dict(STATISTICS))

    def mean(given: object, asked: Statistic) -> Estimate:
        return Estimate(asked.name, 6.0, 1.0)

    register(Statistic("mean_degree", "mean degree", "…", lambda graph: 6.0, estimators={"degrees": mean}))
    found = estimate(collection, ["mean_degree"])["mean_degree"]
    assert found.value == 6.0
    assert found.releases == collection.releases
