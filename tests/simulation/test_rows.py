"""USER triangles: unbiased, with an interval that covers, whoever stays away.  [TRIANGLE.3-4]"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from support.alarm import Z_LIMIT, z_of
from support.row_worlds import collect_triangles
from visibility_aware_edge_ldp.aggregator.rows import RowCollection, triangles
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, triangle_survey
from visibility_aware_edge_ldp.public.transcript import response_rate
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation import rows
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

RUNS = 800


def communities(n: int, groups: int, within: float, across: float, seed: int) -> Graph:
    """Users in groups, friends more often within a group than across."""
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, n)
    u, v = np.triu_indices(n, 1)
    kept = random.random(u.size) < np.where(group[u] == group[v], within, across)
    return Graph(range(n), np.stack([u[kept], v[kept]], axis=1).astype(np.int32))


def renumbered(graph: Graph, seed: int) -> Graph:
    """The same graph, numbered without regard to friendship: what [TRIANGLE.4] assumes where users stay away."""
    ends = np.sort(np.random.default_rng(seed).permutation(graph.n)[graph.edges], axis=1)
    return Graph(range(graph.n), ends[np.lexsort((ends[:, 1], ends[:, 0]))].astype(np.int32))


GRAPHS = {"groups": communities(100, 4, 0.6, 0.06, seed=1), "power law": renumbered(powerlaw(100, 900, seed=3), 1)}
POLICIES = {
    "nothing public": VisibilityPolicy.nothing(),
    "three classes": VisibilityPolicy("0.2", "0.3", "0.5"),
    "profiles": VisibilityPolicy.public_profiles("0.3", "both"),
    "public friend lists": VisibilityPolicy.public_profiles("0.3", "any"),
}
SETTINGS = [
    ("groups", "nothing public"),
    ("groups", "three classes"),
    ("groups", "profiles"),
    ("power law", "nothing public"),
    ("power law", "public friend lists"),
]


@dataclass(frozen=True)
class Stage:
    """A world, a survey of it, and the truth."""

    graph: str
    policy: str

    @cached_property
    def world(self) -> VisibilityAwareGraph:
        return VisibilityAwareGraph(GRAPHS[self.graph], POLICIES[self.policy])

    @cached_property
    def survey(self) -> RowSurvey:
        survey = triangle_survey(self.world.public, 4)
        survey.reach_noise.sample_many(500, keyed_coins(seeded_key(0)))  # makes its table, for all runs
        return survey

    @cached_property
    def truth(self) -> float:
        return float(exact(self.world.graph, "triangles"))


def check(runs: list[RowCollection], truth: float) -> None:
    found = [triangles(run) for run in runs]
    values, errors = (np.array([getattr(one, name) for one in found]) for name in ("value", "standard_error"))
    assert abs(z_of(values, truth)) < Z_LIMIT
    # What allows for a large absent user says so, and without that it would hold no more than it says.
    plain = [replace(one, limits=None) if one.holds_if else one for one in found]
    held, alone = (np.mean([low <= truth <= high for low, high in (one.interval(0.95) for one in each)])
                   for each in (found, plain))  # fmt: skip
    assert 0.93 <= alone <= 0.97
    assert held >= alone
    assert np.mean(errors**2) == pytest.approx(values.var(), rel=0.3)
    # The check can fail: intervals of half the length do not cover.
    assert np.mean(np.abs(values - truth) < 0.98 * errors) < 0.93


@pytest.mark.long
@pytest.mark.parametrize("dropout", [0.0, 0.3], ids=["everybody", "30 % stay away"])
@pytest.mark.parametrize(("graph", "policy"), SETTINGS, ids=[" ".join(setting) for setting in SETTINGS])
def test_unbiased_and_covering(graph: str, policy: str, dropout: float) -> None:
    stage = Stage(graph, policy)
    runs = [collect_triangles(stage.world, stage.survey, f"{policy} {i}", dropout) for i in range(RUNS)]
    check(runs, stage.truth)
    if dropout and policy == "nothing public":
        # A twin that forgets that the holder of the far side may have stayed away, too, is low by as much.
        forgetful = [triangles(run).value * response_rate(*run.counts[:2]) for run in runs]
        assert abs(z_of(forgetful, stage.truth)) > 2 * Z_LIMIT


def two_dropouts(stage: Stage, seed: int) -> RowCollection:
    """A quarter stays away at once, and a quarter of the others between the rounds."""
    survey, world = stage.survey, stage.world
    coins = keyed_coins(seeded_key("two dropouts", seed))
    first_here, then_here = np.frombuffer(coins(2 * world.graph.n), np.uint8).reshape(2, -1) >= 64
    (lists,) = cut_lists(world.graph)
    price = {kind: survey.multipliers.of(kind) * survey.epsilon for kind in NON_PUBLIC}
    users, collection = TwoRoundClient(lists, world.public, Purse(price)), RowCollection(survey, world.public)
    collection.absorb_answers(users.answer(survey, 1, coins, first_here))
    first = FirstRound(survey, world.public, collection.close_first_round())
    collection.absorb(users.total(survey, first, coins, then_here))
    return collection


@pytest.mark.long
def test_unbiased_and_covering_when_more_stay_away_between_the_rounds() -> None:
    stage = Stage("groups", "three classes")
    runs = [two_dropouts(stage, seed) for seed in range(RUNS)]
    asked, first, second = np.mean([run.counts for run in runs], axis=0)
    assert first / asked == pytest.approx(0.75, abs=0.02)
    assert second / first == pytest.approx(0.75, abs=0.02)
    check(runs, stage.truth)


def test_users_answer_for_themselves_whatever_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty-five users at a time have the same law as all at once, here by mean and spread."""
    stage = Stage("groups", "nothing public")
    spreads = []
    for users_at_once in (25, 1024):
        monkeypatch.setattr(rows, "USERS_AT_ONCE", users_at_once)
        values = [triangles(collect_triangles(stage.world, stage.survey, f"runs {i}")).value for i in range(200)]
        assert abs(z_of(values, stage.truth)) < Z_LIMIT
        spreads.append(np.std(values))
    assert spreads[0] == pytest.approx(spreads[1], rel=0.25)


def test_facebook_at_epsilon_one(data_folder: Any) -> None:
    """All 4,039 nodes, nothing public, one epsilon per edge for both rounds."""
    graph = read_graph(data_folder / "facebook_combined.txt.gz")
    world = VisibilityAwareGraph(graph, VisibilityPolicy.nothing())
    survey, truth = triangle_survey(world.public, 1), 1_612_010
    found = [triangles(collect_triangles(world, survey, seed)) for seed in range(5)]
    errors = np.array([abs(one.value - truth) for one in found])
    assert (errors < 5 * np.array([one.standard_error for one in found])).all()
    assert errors.mean() / truth < 0.025
    assert max(one.standard_error for one in found) / truth < 0.04
