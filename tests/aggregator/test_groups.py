"""A collection of counts by group: refusals, no bias, intervals that hold, weights by group, notes.  [MIXING.1-6]"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.alarm import Z_LIMIT
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.groups import GroupCollection, small_cells
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import GROUPED, exact
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect, reports
from visibility_aware_edge_ldp.truth.datasets import FOLDER_VARIABLE
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 120
GROUPS = Groups("number", ("a", "b", "c"), np.arange(N) % 7 // 3)
WORLD = VisibilityAwareGraph(erdos_renyi(N, 900, 2), VisibilityPolicy("0.2", "0.3", "0.5")).grouped(GROUPS)
SURVEY = group_survey(WORLD.public, 2)
TRUTH = {name: np.atleast_1d(exact(WORLD.graph, name)) for name in GROUPED}


def test_it_refuses_what_breaks_the_protocol_and_names_what_was_paid() -> None:
    collection = GroupCollection(SURVEY, WORLD.public)
    with pytest.raises(BadStatistic, match="Nobody has answered"):
        estimate(collection, ["mixing"])
    (sent,) = reports(WORLD, SURVEY, 1)
    for wrong in (replace(sent, survey="00" * 32), replace(sent, values=sent.values[:3])):
        with pytest.raises(ProtocolViolation, match="another survey"):
            collection.absorb(wrong)
    collection.absorb(sent)
    collection.absorb(sent)
    with pytest.raises(ProtocolViolation, match="second, different"):
        collection.absorb(replace(sent, values=sent.values + 1))
    with pytest.raises(ProtocolViolation, match="another roster"):
        GroupCollection(replace(SURVEY, roster="00" * 32), WORLD.public)
    found = estimate(collection, list(GROUPED))
    assert Bill(release for each in found.values() for release in each.releases)["PRIVATE"].epsilon == 2
    with pytest.raises(BadStatistic, match="friends counted by group"):
        estimate(collection, ["edges"])


def test_numbers_from_a_liar_do_not_overflow() -> None:
    collection = GroupCollection(SURVEY, WORLD.public)
    (sent,) = reports(WORLD, SURVEY, 1)
    lies = sent.values.copy()
    lies[:, 0] = 1 << 62
    collection.absorb(replace(sent, values=lies))
    assert np.isfinite(estimate(collection, ["mixing"])["mixing"].value).all()


def test_labels_tell_which_entry_is_which() -> None:
    found = estimate(collect(WORLD, SURVEY, 1), list(GROUPED))
    assert list(found["mixing"].labels or ()) == GROUPS.pairs
    assert list(found["contacts"].labels or ())[:4] == [("a", "a"), ("a", "b"), ("a", "c"), ("b", "a")]
    assert list(found["coleman"].labels or ()) == ["a", "b", "c"]
    assert found["mixing"].as_dict()["labels"][1] == ["a", "b"]
    assert np.ndim(found["assortativity"].value) == 0
    assert found["mixing"].unbiased
    assert not found["assortativity"].unbiased


@pytest.mark.parametrize("away", [0.0, 0.3])
def test_no_bias_and_intervals_that_hold(away: float) -> None:
    refuse_wrong_estimates(away, ["mixing"], 10)


@pytest.mark.long
@pytest.mark.parametrize("away", [0.0, 0.3])
def test_no_bias_and_intervals_that_hold_of_all_statistics(away: float) -> None:
    refuse_wrong_estimates(away, list(GROUPED), 60)


def refuse_wrong_estimates(away: float, names: list[str], count: int) -> None:
    runs = [estimate(collect(WORLD, SURVEY, f"run {seed}", away), names) for seed in range(count)]
    for name, true in ((name, TRUTH[name]) for name in names):
        values = np.array([np.atleast_1d(run[name].value) for run in runs])
        ends = [[np.atleast_1d(end) for end in run[name].interval()] for run in runs]
        held = np.mean([(low <= true) & (true <= high) for low, high in ends])
        assert 0.88 <= held <= 0.995, f"{name}: {held}"
        errors = np.abs(values.mean(axis=0) - true) / (values.std(axis=0, ddof=1) / np.sqrt(len(runs)))
        assert errors.max() < Z_LIMIT, name
        told = np.sqrt(np.mean([np.atleast_1d(run[name].variance) for run in runs], axis=0))
        assert np.mean(told / values.std(axis=0, ddof=1)) == pytest.approx(1, abs=0.35), name


def test_a_group_that_answers_less_is_not_counted_for_less() -> None:
    """Everybody in the first group, half of the others: a weight for all alike would bias every cell."""
    present = (GROUPS.members == 0) | (np.arange(N) % 2 == 0)
    found = []
    for seed in range(8):
        collection = GroupCollection(SURVEY, WORLD.public)
        (sent,) = reports(WORLD, SURVEY, f"run {seed}")
        collection.absorb(replace(sent, answered=present, values=np.where(present, sent.values, 0)))
        found.append(estimate(collection, ["mixing"])["mixing"].value)
    assert collection.response_by_group()["number a"] == 1
    assert collection.response_by_group()["number b"] == pytest.approx(0.5, abs=0.1)
    total = np.mean([np.sum(each) for each in found])
    assert total == pytest.approx(900, rel=0.1)  # a weight for all alike would say 1.2 times as many


def test_everything_public_is_exact() -> None:
    world = VisibilityAwareGraph(WORLD.whole, VisibilityPolicy(1))
    found = estimate(collect(world, group_survey(world.public, 1), 1), list(GROUPED))
    for name, true in TRUTH.items():
        assert np.allclose(found[name].value, true)
        assert np.allclose(found[name].standard_error, 0)


def test_small_cells_are_said() -> None:
    groups = Groups("number", ("a", "b"), (np.arange(N) < 5).astype(np.int64))
    world = WORLD.grouped(groups)
    collection = collect(world, group_survey(world.public, "0.1"), 1)
    few, hidden = small_cells(collection, estimate(collection, ["mixing"])["mixing"])
    assert few.startswith("Fewer than 10 members answered in b")
    assert "cells are below twice their standard error" in hidden


def test_an_index_of_nothing_is_anything() -> None:
    world = VisibilityAwareGraph(read_graph([(i, i + 1) for i in range(0, 20, 2)])).grouped(
        Groups("number", ("a", "b"), np.arange(20) % 2)
    )
    found = estimate(collect(world, group_survey(world.public, "0.1"), 1), ["ei_index"])["ei_index"]
    assert found.interval() == (-1.0, 1.0)
    assert np.isnan(found.variance)


@pytest.mark.long
@pytest.mark.parametrize(
    ("survey_of", "away", "most"),
    [(group_survey, 0.0, 0.01), (group_survey, 0.3, 0.03), (position_survey, 0.0, 0.06), (position_survey, 0.3, 0.075)],
)
def test_amherst_by_year(survey_of: Callable[..., Any], away: float, most: float) -> None:
    """Mean error of cells with 2,000 edges or more, and coverage of all cells, at ε = 1; of users and of positions."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or not (Path(folder) / "fb100-Amherst41.nodes.csv.gz").is_file():
        pytest.skip(f"{FOLDER_VARIABLE} names no folder with Amherst")
    table = Path(folder) / "fb100-Amherst41.nodes.csv.gz"
    world = VisibilityAwareGraph(read_graph(Path(folder) / "fb100-Amherst41.edges.txt.gz"))
    world = world.grouped("year,least=100,missing=0", table)
    survey, true = survey_of(world.public, 1), exact(world.graph, "mixing")
    runs = [estimate(collect(world, survey, seed, away), ["mixing"])["mixing"] for seed in range(80)]
    large = true >= 2000
    assert np.mean([np.abs(run.value - true)[large] / true[large] for run in runs]) <= most
    covered = np.mean([(run.interval()[0] <= true) & (true <= run.interval()[1]) for run in runs])
    assert 0.93 <= covered <= 0.97
