"""Reports that go straight into a file: the same tiles as from memory, however the reports are cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.tiled import TiledCollection
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect, collect_tiles
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

POLICIES = {"private": VisibilityPolicy.nothing(), "profiles": VisibilityPolicy.public_profiles("0.4", rule="both")}


def world_of(policy: VisibilityPolicy, n: int = 700, m: int = 3000) -> VisibilityAwareGraph:
    """A graph whose roster is in the order of kinds."""
    graph = powerlaw(n, m, seed=1)
    kinds = VisibilityAwareGraph(graph, policy).public.classes.by_kinds
    assert kinds is not None
    order = np.argsort(kinds.kinds, kind="stable")
    ends = np.sort(np.argsort(order)[graph.edges], axis=1)
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))].astype(np.int32)
    return VisibilityAwareGraph(Graph([graph.names[i] for i in order], ends), policy)


WORLDS = {name: world_of(policy) for name, policy in POLICIES.items()}
SURVEYS = {name: position_survey(world.public, 1) for name, world in WORLDS.items()}
COLLECTED = {name: collect(WORLDS[name], SURVEYS[name], seed=5) for name in WORLDS}


def reports(name: str, cuts: list[int]) -> list[PositionReport]:
    """The answers of a collection, cut into reports."""
    collection, total = COLLECTED[name], WORLDS[name].public.positions
    answered, ones = (unpack(part.tobytes(), total) for part in (collection.complete, collection.transcript.ones))
    bounds = [0, *sorted(cut % total for cut in cuts), total]
    return [
        PositionReport(SURVEYS[name].identity, 1, a, b - a, pack(answered[a:b]), pack(ones[a:b]))
        for a, b in pairwise(bounds)
    ]


def in_a_file(name: str, sent: list[PositionReport], path: Path) -> TiledCollection:
    with TiledCollection(SURVEYS[name], WORLDS[name].public, path) as collection:
        for report in sent:
            collection.absorb(report)
    return collection


def same_as_in_memory(name: str, found: TiledCollection) -> None:
    expected = COLLECTED[name].group_scores()
    assert expected is not None
    for k in range(expected.places.sides):
        assert np.array_equal(found.tiles.column(0, k + 1, k), expected.tiles.column(0, k + 1, k))
    assert np.array_equal(found.tiles.degrees, expected.degrees)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 1 << 20), max_size=6))
def test_the_same_tiles_however_reports_are_cut(name: str, tmp_path: Path, cuts: list[int]) -> None:
    found = in_a_file(name, reports(name, cuts), tmp_path / "a.tiles")
    same_as_in_memory(name, found)
    assert found.releases == in_a_file(name, reports(name, []), tmp_path / "a.tiles").releases
    assert [each.prices for each in found.releases] == [each.prices for each in COLLECTED[name].releases]


@pytest.mark.parametrize("name", POLICIES)
def test_simulated_clients_send_the_same_answers(name: str, tmp_path: Path) -> None:
    same_as_in_memory(name, collect_tiles(WORLDS[name], SURVEYS[name], tmp_path / "a.tiles", seed=5))


def test_one_report_a_position(tmp_path: Path) -> None:
    world = world_of(POLICIES["private"], 12, 20)
    survey = position_survey(world.public, 1)
    single = [PositionReport(survey.identity, 1, i, 1, b"\1", bytes([i % 3 == 0])) for i in range(66)]
    with TiledCollection(survey, world.public, tmp_path / "a.tiles") as found:
        for report in single:
            found.absorb(report)
            found.absorb(report)  # the same again changes nothing
    whole = PositionCollection(survey, world.public)
    for report in single:
        whole.absorb(report)
    expected = whole.group_scores()
    assert expected is not None
    assert np.array_equal(found.tiles.column(0, 1, 0), expected.tiles.column(0, 1, 0))


def changed(report: PositionReport, **parts: object) -> PositionReport:
    return PositionReport(**({key: getattr(report, key) for key in report.__dataclass_fields__} | parts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("private", {"survey": "0" * 64}, "another survey"),
        ("private", {"round": 2}, "another round"),
        ("private", {"start": 8}, "position 0 is next, not 8"),
        ("private", {"start": WORLDS["private"].public.positions}, "beyond the last"),
        ("private", {"answered": b"\x7f" + b"\xff" * 99, "ones": bytes(100)}, "All positions must answer"),
        ("profiles", {}, "no public one may"),
    ],
    ids=["survey", "round", "order", "range", "absent", "public"],
)
def test_a_bad_report_is_refused_and_no_file_is_left(
    name: str, change: dict[str, object], words: str, tmp_path: Path
) -> None:
    whole = reports(name, [])[0]
    if name == "profiles":  # all of them at once, so that public ones are among them
        change = {"answered": pack(np.ones(whole.count, np.bool_)), "ones": bytes(len(whole.ones))}
    report = changed(whole if name == "profiles" else reports(name, [800])[0], **change)
    with (
        pytest.raises(ProtocolViolation, match=words),
        TiledCollection(SURVEYS[name], WORLDS[name].public, tmp_path / "a.tiles") as collection,
    ):
        collection.absorb(report)
    assert list(tmp_path.iterdir()) == []


def test_a_second_answer_is_refused(tmp_path: Path) -> None:
    first, second = reports("private", [800])
    other = changed(first, ones=bytes(100))
    with TiledCollection(SURVEYS["private"], WORLDS["private"].public, tmp_path / "a.tiles") as collection:
        collection.absorb(first)
        with pytest.raises(ProtocolViolation, match="position 800 is next, not 0"):
            collection.absorb(other)
        collection.absorb(second)
    same_as_in_memory("private", collection)


def test_who_is_missing_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(BadInput, match="800 of 244,650 positions have answered"),
        TiledCollection(SURVEYS["private"], WORLDS["private"].public, tmp_path / "a.tiles") as collection,
    ):
        collection.absorb(reports("private", [800])[0])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("survey", ["two rounds", "by hash", "another policy"])
def test_what_cannot_go_into_a_file_is_refused(survey: str, tmp_path: Path) -> None:
    graph = powerlaw(20, 40, seed=1)
    world = VisibilityAwareGraph(
        graph, VisibilityPolicy("0.2", "0.3", "0.5") if survey == "by hash" else POLICIES["private"]
    )
    asked: PositionSurvey = position_survey(world.public, 1, 2 if survey == "two rounds" else 1)
    if survey == "another policy":
        asked = position_survey(VisibilityAwareGraph(graph, POLICIES["profiles"]).public, 1)
    with pytest.raises((BadInput, ProtocolViolation), match=r"one round|another roster or another policy"):
        TiledCollection(asked, world.public, tmp_path / "a.tiles")
