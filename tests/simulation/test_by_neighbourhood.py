"""NEIGHBOURHOOD as it is asked for: who reports, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.neighbourhoods import collect_owned_triangles
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(60, 300, seed=5)
HUBS = VisibilityPolicy.from_profiles(dict.fromkeys(GRAPH.names[:4], "public"), rule="any")


def test_hubs_report_where_there_are_some_and_users_elsewhere() -> None:
    with_hubs = estimate(VisibilityAwareGraph(GRAPH, HUBS), "neighbourhood", 1, seed=1)
    assert any("left out" in note for note in with_hubs.certificate.notes)
    without = estimate(VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing()), "neighbourhood", 1, seed=1)
    assert "left out" not in str(without.certificate)
    for answers in (with_hubs, without):
        assert answers.bill["PRIVATE"].epsilon == 1
        assert answers.bill["PRIVATE"].delta == 0
        assert "two steps" in str(answers.certificate)


def test_believed_bounds_put_their_delta_on_the_bill() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    answers = estimate(world, "neighbourhood", 1, delta="1e-6", seed=1)
    assert answers.bill["PRIVATE"].delta == Fraction("1e-6")
    assert answers["triangles"].unbiased


def test_a_cap_says_what_it_may_lose() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    answers = estimate(world, "neighbourhood", 1, reporters="cap:3", seed=1)
    assert not answers["triangles"].unbiased
    assert any("lost to bounds" in note for note in answers.certificate.notes)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"statistics": ["edges"]}, BadStatistic),
        ({"reporters": "everybody"}, BadInput),
        ({"reporters": "cap:1"}, BadInput),
        ({"reporters": "hubs"}, BadPolicy),
        ({"rounds": 2}, BadInput),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], error: type[Exception]) -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    with pytest.raises(error):
        estimate(world, "neighbourhood", 1, **options)  # type: ignore[arg-type]


def test_reporters_are_of_the_neighbourhood_model() -> None:
    with pytest.raises(BadInput, match="neighbourhood"):
        estimate(VisibilityAwareGraph(GRAPH, HUBS), "user", 1, reporters="hubs")


@pytest.mark.parametrize("options", [{"reporters": "cap:5"}, {"reporters": "users"}])
def test_those_who_stay_away_stay_away_in_both_rounds(options: dict[str, str]) -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    found = collect_owned_triangles(world, 1, cap=5 if "cap" in options["reporters"] else None, seed=1, dropout=0.5)
    assert not (found.collection.answered & ~found.degrees.took_part).any()
    assert 10 < found.collection.answered.sum() < 50


def test_believed_bounds_say_whom_they_believe() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    assert "as they were reported" in str(estimate(world, "neighbourhood", 1, delta="1e-6", seed=1).certificate)
    assert "as they were reported" not in str(estimate(world, "neighbourhood", 1, seed=1).certificate)
