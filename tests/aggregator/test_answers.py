"""Answers as a mapping, a table and JSON; numbers as people read them."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.aggregator.answers import noise_hides, number
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(20, 60, 1), VisibilityPolicy.nothing())


def test_answers_are_a_mapping_that_names_what_was_asked() -> None:
    answers = estimate(WORLD, "user", 1, ["edges", "degrees"], seed=1)
    assert list(answers) == ["edges", "degrees"]
    assert len(answers) == 2
    with pytest.raises(KeyError, match="triangles was not asked for; these were: edges, degrees"):
        answers["triangles"]
    assert [row[0] for row in answers.rows()] == ["edges", "degrees"]
    assert answers.rows()[1][1] == "20 values"
    assert repr(answers).startswith("<Answers: edges, degrees;")


def test_what_is_not_for_release_is_marked() -> None:
    marks = estimate(WORLD, "curator", 1, ["edges", "triangles"], seed=1).as_dict()
    kept = marks["certificate"]["errors_not_for_release"]
    for name, each in marks["estimates"].items():
        assert each["errors_are_for_release"] == (name not in kept)


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (12345.6, "12,346"), (12.34, "12.3"), (0.012345, "0.01235")])
def test_numbers_as_people_read_them(value: float, text: str) -> None:
    assert number(value) == text


def test_noise_hides_what_is_below_two_standard_errors() -> None:
    assert noise_hides(1.9, 1.0)
    assert not noise_hides(2.1, 1.0)
    assert not noise_hides(1.0, None)
