"""``estimate`` on an ego survey with weights: those who were drawn answer with their own lists, and nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from support import ego_surveys
from visibility_aware_edge_ldp.errors import BadGraph, BadInput, BadPolicy, BadStatistic
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.simulation.simulate import reports
from visibility_aware_edge_ldp.truth.graph import Graph, Respondents
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GROUPS = {f"p{n}": "a" if n < 3 else "b" for n in range(1, 7)}


@pytest.fixture
def survey(tmp_path: Path) -> Any:
    roster = ego_surveys.people(tmp_path)
    return va.read_ego_survey(ego_surveys.egor(tmp_path / "survey"), roster=roster, weights="weight")


def test_estimates_of_a_weighted_survey(survey: Any) -> None:
    answers = va.estimate(survey, "user", 50, ["edges", "mean_degree", "mixing"], groups=GROUPS, seed=1)
    # Ana named 2, Li 1, Sam 1, with weights 1.5, 2 and 4 of 6 people.
    assert answers["edges"].value == pytest.approx(6 / 7.5 * (1.5 * 2 + 2 + 4) / 2)
    assert answers["mean_degree"].value == pytest.approx(2 * answers["edges"].value / 6)
    assert not answers["edges"].unbiased
    assert answers["mixing"].labels == [("a", "a"), ("a", "b"), ("b", "b")]
    told = str(answers.certificate)
    assert "3 of 6 people of the roster were drawn and answered" in told
    assert "neither hangs on an edge or an answer" in told
    assert va.estimate(survey, "user", seed=1).keys() == {"edges", "mean_degree"}


def test_only_those_who_were_drawn_answer_and_only_with_what_they_named(survey: Any) -> None:
    world = va.VisibilityAwareGraph(survey)
    asked = degree_survey(world.public, 100)
    (report,) = reports(world, asked, 1)
    assert report.answered.tolist() == [True, True, True, False, False, False]
    # Li is named by Sam, too: that is Sam's word, not Li's.
    assert report.values.tolist() == [[2, 1, 1, 0, 0, 0]]


def test_a_sample_of_a_known_graph_is_right_in_the_mean() -> None:
    graph = powerlaw(400, 2000, seed=3)
    starts, friends = graph.neighbours
    rng, found = np.random.default_rng(5), []
    chances = np.minimum(0.1 + graph.degrees / 40, 0.9)
    for seed in range(40):
        weights = np.where(rng.random(graph.n) < chances, 1 / chances, 0.0)
        own = np.repeat(weights > 0, np.diff(starts))
        offsets = np.concatenate([[0], np.cumsum(np.where(weights > 0, graph.degrees, 0))])
        sample = Respondents(offsets, friends[own].astype(np.int32), weights, scaled=False)
        drawn = Graph(graph.names, graph.edges, sample=sample)
        found.append(va.estimate(drawn, "user", 1, ["edges"], seed=seed)["edges"])
    errors = [(each.value - graph.m) / each.standard_error for each in found]
    assert abs(np.mean(errors)) < 3.5 / np.sqrt(len(errors))
    assert 0.6 < np.std(errors) < 1.5
    assert all(each.unbiased for each in found)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"trust": "position"}, BadStatistic, "use --trust user"),
        ({"statistics": ["triangles"]}, BadStatistic, "triangles is not told by a sample"),
        ({"statistics": ["mixing"]}, BadStatistic, "about public groups"),
        ({"dropout": 0.5}, BadInput, "leave out dropout"),
        ({"hide": "degree", "statistics": ["edges"]}, BadInput, "leave out dropout and hide"),
        ({"policy": "profiles:0.5"}, BadPolicy, "nothing public"),
        ({"truth": True}, BadInput, "true values"),
    ],
)
def test_what_a_sample_does_not_tell_is_refused(
    options: dict[str, Any], error: type[Exception], said: str, survey: Any
) -> None:
    with pytest.raises(error, match=said):
        va.estimate(survey, **{"trust": "user", "seed": 1, **options})


def test_sets_mean_what_is_told_and_a_part_of_the_roster_has_no_weights(survey: Any) -> None:
    told = va.estimate(survey, "user", statistics="summary", seed=1).keys()
    assert {"edges", "mean_degree", "density", "degree_variance"} <= told
    assert "degree_centralization" not in told
    with pytest.raises(BadGraph, match="weights are about the whole roster"):
        survey.graph.highest_degree(3)
