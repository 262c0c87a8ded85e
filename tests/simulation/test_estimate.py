"""``va.estimate``: every option, seeded and not, and what does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from visibility_aware_edge_ldp.errors import BadInput, TooLarge
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation import memory
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.worlds import cut
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(30, 90, 1), VisibilityPolicy("0.2", "0.3", "0.5"))
PLAIN = ["edges", "triangles"]


def values(answers: Any) -> list[float]:
    return [float(answer.value) for answer in answers.values()]


@pytest.mark.parametrize("trust", ["position", "curator"])
def test_seeds_repeat_and_secret_coins_do_not(trust: str) -> None:
    one, again, other = (estimate(WORLD, trust, 1, PLAIN, seed=seed) for seed in (1, 1, 2))
    assert values(one) == values(again) != values(other)
    assert one.certificate.simulated
    secret = [estimate(WORLD, trust, 1, PLAIN) for _ in range(4)]
    assert not secret[0].certificate.simulated
    assert len({tuple(values(run)) for run in secret}) > 1


@pytest.mark.parametrize("all_of_them", ["all", ["all"]])
def test_all_means_what_the_trust_model_answers(all_of_them: str | list[str]) -> None:
    central = ["edges", "max_degree", "triangles", "stars:2", "stars:3"]
    assert list(estimate(WORLD, "curator", 1, all_of_them, seed=1)) == central
    assert list(estimate(WORLD, "neighbourhood", 1, all_of_them, seed=1)) == ["triangles"]
    assert {*central, "degrees", "four_cycles"} < {*estimate(WORLD, "position", 1, all_of_them, seed=1)}


def test_the_graph_is_cut_into_all_its_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visibility_aware_edge_ldp.simulation.worlds.TILE", 64)
    views = list(cut(WORLD.graph))
    assert [view.start for view in views] == list(range(0, 435, 64))
    assert sum(view.bits.size for view in views) == 435
    assert sum(view.bits.sum() for view in views) == 90


def test_tiles_of_any_size_give_estimates_near_each_other() -> None:
    graph: Graph = WORLD.graph
    assert estimate(WORLD, epsilon=40, statistics=PLAIN, seed=1)["edges"].value == pytest.approx(graph.m, abs=1e-6)


@pytest.mark.parametrize(
    "bad",
    [
        {"trust": "users"},
        {"trust": "user", "rounds": 2},
        {"trust": "nobody"},
        {"estimator": "best"},
        {"dropout": 1},
        {"dropout": -0.1},
        {"rounds": 3},
        {"epsilon": float("nan")},
        {"delta": 1},
        {"trust": "curator", "rounds": 2},
        {"trust": "curator", "dropout": 0.1},
        {"trust": "curator", "statistics": ["four_cycles"]},
        {"estimator": "ipw_capped"},
        {"estimator": "ipw_capped", "rounds": 2, "statistics": ["transitivity"]},
    ],
)
def test_bad_options_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        estimate(WORLD, **{"seed": 1, **bad})


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 20_000)
    with pytest.raises(TooLarge, match="435 positions"):
        estimate(WORLD, epsilon=1, seed=1)
    assert estimate(WORLD, "curator", 1, PLAIN, seed=1)


def test_what_was_not_asked_for_is_said_so() -> None:
    answers = estimate(
        VisibilityAwareGraph(erdos_renyi(10, 20), VisibilityPolicy("0.5")), epsilon=1, statistics="edges", seed=1
    )
    with pytest.raises(KeyError, match="triangles was not asked for; these were: edges"):
        answers["triangles"]
    assert answers.get("triangles") is None


def test_engines_and_samples_are_asked_for_where_they_work() -> None:
    world = VisibilityAwareGraph(erdos_renyi(60, 200), VisibilityPolicy.nothing())
    plain = estimate(world, "user", 1, ["triangles"], seed=1)["triangles"]
    threaded = estimate(world, "user", 1, ["triangles"], engine="threads:2", seed=1)["triangles"]
    assert (threaded.value, threaded.standard_error) == (plain.value, plain.standard_error)
    whole = estimate(world, statistics=["triangles"], seed=1)["triangles"].value
    assert estimate(world, statistics=["triangles"], engine="threads:2", seed=1)["triangles"].value == whole
    sampled = estimate(world, statistics=["edges"], sample_positions="0.5", seed=1)
    assert sampled["edges"].standard_error > estimate(world, statistics=["edges"], seed=1)["edges"].standard_error
    assert "coin" in str(sampled.certificate)
    with pytest.raises(BadInput, match="engine works for"):
        estimate(world, "curator", engine="threads")
    for other in ({"work": 0.5}, {"engine": "threads"}, {"trust": "user"}):
        with pytest.raises(BadInput, match="sample of positions"):
            estimate(world, sample_positions="0.5", **other)


def test_scope_and_groups_are_words_of_estimate_too() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    ward = {"a": 1, "b": 1, "c": 2, "d": 2}
    world = VisibilityAwareGraph(edges, "profiles:0.5")
    inside = estimate(edges, policy="profiles:0.5", scope="lists", seed=1)
    assert values(inside) == values(estimate(world.inside("lists"), seed=1))
    assert inside["triangles"].scope == inside.certificate.scope != ""
    found = estimate(world, "user", statistics=["mixing", "edges"], groups=ward, seed=1)
    again = estimate(world.grouped(ward), "user", 1, "mixing,edges", seed=1)
    assert found["mixing"].value.tolist() == again["mixing"].value.tolist()  # type: ignore[union-attr]
    assert list(found["mixing"].to_frame())[:6] == ["from", "to", "edges", "standard_error", "low", "high"]
    assert found["mixing"].records()[1]["from"] == "1"
    assert list(found["edges"].records()[0]) == ["value", "standard_error", "low", "high", "uncut_low", "uncut_high"]


def test_tables_cut_intervals_where_the_truth_cannot_be_and_keep_the_uncut_ones() -> None:
    found = estimate([("a", "b"), ("b", "c")], "user", 1, "degrees", seed=3)
    rows = found["degrees"].records()
    assert min(row["uncut_low"] for row in rows) < 0 <= min(row["low"] for row in rows)
    assert [row["low"] for row in found.records()] == [row["low"] for row in rows]


def test_no_trust_model_is_refused_in_a_sentence() -> None:
    with pytest.raises(BadInput, match="None is not a trust model; use one of position"):
        estimate([("a", "b")], None)  # type: ignore[arg-type]
