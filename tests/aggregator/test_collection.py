"""What all collections share: the same report twice, other surveys, second answers, names of releases, estimates."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.collection import (
    COLLECTIONS,
    Collection,
    aligned,
    digest_of,
    estimate,
    public_graph,
    public_positions,
    public_triangles,
)
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import STATISTICS, Statistic, exact, register
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

    register(Statistic("mean_friends", "mean degree", "…", lambda graph: 6.0, estimators={"degrees": mean}))
    found = estimate(collection, ["mean_friends"])["mean_friends"]
    assert found.value == 6.0
    assert found.releases == collection.releases


def test_a_collection_says_what_names_its_releases() -> None:
    class Silent(Collection):
        def add(self, report: object) -> None:
            """Keep nothing."""

    with pytest.raises(TypeError, match="digest"):
        Silent(degree_survey(WORLD.public, 1), WORLD.public)


def test_what_is_public_is_counted_exactly() -> None:
    graph = WORLD.graph
    everything = VisibilityAwareGraph(graph, VisibilityPolicy(1)).public
    assert np.array_equal(public_graph(everything).degrees, graph.degrees)
    assert public_triangles(everything) == exact(graph, "triangles")
    assert (public_positions(everything) == graph.n - 1).all()
    assert not public_graph(WORLD.public).degrees.any()
    assert public_triangles(WORLD.public) == 0
    assert not public_positions(WORLD.public).any()


def test_a_digest_is_that_of_all_parts_in_their_order() -> None:
    assert digest_of(b"one", b"two") == hashlib.sha256(b"onetwo").hexdigest() != digest_of(b"two", b"one")


@pytest.mark.parametrize("start", range(9))
def test_packed_bits_are_moved_to_their_place(start: int) -> None:
    bits = np.array([1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1], np.bool_)
    place, octets = aligned(start, bits.size, np.packbits(bits, bitorder="little").tobytes())
    flat = np.zeros(3, np.uint8)
    flat[place] |= octets
    assert np.flatnonzero(np.unpackbits(flat, bitorder="little")).tolist() == (start + np.flatnonzero(bits)).tolist()


def test_every_protocol_finds_its_collection_by_name() -> None:
    assert COLLECTIONS["position"] is PositionCollection
    assert COLLECTIONS["degrees"] is DegreeCollection
