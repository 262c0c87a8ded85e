"""The trusted centre: what it answers, what it refuses, and what its answers tell.  [CURATOR.1-4]"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.curator import (
    LARGEST_ANSWER,
    CuratorQuery,
    curator_survey,
    decode_answer,
    encode_answer,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility
from visibility_aware_edge_ldp.simulation.curator import Centre, ask_within
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

RUNS = 1_000_000
NOTHING = VisibilityPolicy.nothing()


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


def curator(world: VisibilityAwareGraph, cap: int = 10) -> Curator:
    purse = Purse({kind: world.policy.multiplier(kind) * cap for kind in NON_PUBLIC}, Fraction("1e-4"))
    return Curator(WholeGraph(world.graph.n, world.graph.edges), world.public, purse)


def world_of(policy: VisibilityPolicy = NOTHING) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(erdos_renyi(12, 30, 1), policy)


def test_an_answer_is_stored_and_repeated() -> None:
    world = world_of()
    survey, centre = curator_survey(world.public, 1), curator(world)
    first = [centre.answer(survey, i, secure_coins()) for i in range(6)]
    assert [centre.answer(survey, i, no_coins) for i in range(6)] == first


def test_over_the_cap_it_refuses_before_a_coin_is_drawn() -> None:
    world = world_of()
    survey, centre = curator_survey(world.public, 2), curator(world, cap=3)
    centre.answer(survey, 0, secure_coins())
    with pytest.raises(Refused):
        centre.answer(survey, 1, no_coins)


def half_public() -> tuple[WholeGraph, PublicView]:
    world = world_of(VisibilityPolicy("0.5"))
    return WholeGraph(world.graph.n, world.graph.edges), world.public


@pytest.mark.parametrize("lost", [0, -1])
def test_a_graph_and_a_public_view_that_disagree_are_refused(lost: int) -> None:
    graph, public = half_public()
    Curator(graph, public, Purse({}))
    poorer = PublicView(public.names, public.policy, np.delete(public.edges, lost, axis=0))
    without = graph.edges[(graph.edges != public.edges[lost]).any(axis=1)]
    moved = np.concatenate([np.delete(public.edges, lost, axis=0), empty_public_position(graph, public)])
    for held, told in (
        (graph, poorer),  # the graph has an edge that everybody takes for absent
        (WholeGraph(graph.n, without), public),  # everybody knows of an edge that is not there
        (graph, PublicView(public.names, public.policy, moved)),  # as many edges, one of them elsewhere
        (graph, PublicView(range(13), public.policy, public.edges)),  # one user more
    ):
        with pytest.raises(ProtocolViolation, match="give both of one world"):
            Curator(held, told, Purse({}))


def empty_public_position(graph: WholeGraph, public: PublicView) -> np.ndarray:
    u, v = np.triu_indices(graph.n, 1)
    there = set(map(tuple, graph.edges.tolist()))
    shown = public.classes.of(u, v) == Visibility.PUBLIC
    return np.array([e for e in zip(u[shown].tolist(), v[shown].tolist(), strict=True) if e not in there][:1], np.int32)


def test_graphs_that_differ_in_private_edges_only_are_taken() -> None:
    graph, public = half_public()
    hidden = public.classes.of(graph.edges[:, 0], graph.edges[:, 1]) != Visibility.PUBLIC
    Curator(WholeGraph(graph.n, graph.edges[~hidden]), public, Purse({}))
    assert hidden.any()


def test_a_centre_that_does_not_compare_tells_what_nobody_knew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the policy calls everything public there is no noise, whether or not everybody was told the edges."""
    world = world_of(VisibilityPolicy(1))
    untold = PublicView(world.graph.names, world.policy, world.public.edges[:0])
    survey, limit = curator_survey(untold, 1, statistics=["edges"]), dict.fromkeys(NON_PUBLIC, Fraction(10))
    whole = WholeGraph(world.graph.n, world.graph.edges)
    with pytest.raises(ProtocolViolation, match="give both of one world"):
        Curator(whole, untold, Purse(limit))
    monkeypatch.setattr("visibility_aware_edge_ldp.client.curator._agree", lambda view, public: True)
    assert Curator(whole, untold, Purse(limit)).answer(survey, 0, secure_coins()).value == world.graph.m


@pytest.mark.parametrize("far", [1, -1])
def test_an_answer_beyond_what_is_sent_is_cut_off(far: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of()
    monkeypatch.setattr(Curator, "_noise", lambda self, query, coins: far * 2**300)
    report = curator(world).answer(curator_survey(world.public, 1), 2, secure_coins())
    assert report.value == far * LARGEST_ANSWER
    assert decode_answer(encode_answer(report)) == report


def test_a_survey_about_another_policy_is_refused() -> None:
    other = curator_survey(world_of(VisibilityPolicy(0.5)).public, 1)
    with pytest.raises(ProtocolViolation):
        curator(world_of()).answer(other, 0, no_coins)


def test_a_question_that_costs_more_than_the_policy_allows_is_refused() -> None:
    """The policy's digest is right and only the multipliers lie."""
    world = world_of(VisibilityPolicy(0.2, 0.3))
    survey = curator_survey(world.public, 1)
    more = Multipliers(Fraction(3), Fraction(1))
    lying = replace(survey, queries=tuple(replace(query, multipliers=more) for query in survey.queries))
    with pytest.raises(ProtocolViolation, match="this centre's policy allows FRIEND_VISIBLE 2ε, PRIVATE ε"):
        curator(world).answer(lying, 0, no_coins)


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_the_noise_follows_the_weakest_guard(steps: int) -> None:
    """Where only friend-visible bits can change, a change counts ``steps`` times: the bound is that much smaller."""
    world = world_of(VisibilityPolicy(0, 1, 0).guarded(steps))
    query = curator_survey(world.public, 1, 0, ["triangles"]).queries[0]
    alone = world_of(VisibilityPolicy.nothing())
    local = curator(alone).evidence(curator_survey(alone.public, 1, 0, ["triangles"]).queries[0]).local_sensitivity
    assert curator(world).evidence(query).local_sensitivity == local / steps
    assert query.price(Visibility.FRIEND_VISIBLE).epsilon == steps


def test_everything_public_is_answered_exactly() -> None:
    world = world_of(VisibilityPolicy(1))
    survey, centre = curator_survey(world.public, 1), curator(world)
    for index, query in enumerate(survey.queries):
        assert centre.answer(survey, index, secure_coins()).value == exact(world.graph, query.statistic)


def test_prices_per_class() -> None:
    world = world_of()
    pure, mixed = curator_survey(world.public, 1), curator_survey(world.public, 1, "1e-6")
    for query in pure.queries:
        assert query.price(Visibility.PRIVATE) == query.price(Visibility.PRIVATE)
        assert (query.price(Visibility.PRIVATE).epsilon, query.price(Visibility.FRIEND_VISIBLE).epsilon) == (1, 2)
        assert query.price(Visibility.FRIEND_VISIBLE).delta == 0
    deltas = [float(query.price(Visibility.PRIVATE).delta) for query in mixed.queries]
    assert deltas == [0, 0, 1e-6, 1e-6, 1e-6, 1e-6]
    assert all(query.price(Visibility.FRIEND_VISIBLE).delta > Fraction("1e-6") for query in mixed.queries[2:])


def test_only_friend_visible_positions_get_the_rate_that_was_promised_them() -> None:
    world = world_of(VisibilityPolicy(0, 1, 0))
    query = curator_survey(world.public, 1).queries[0]
    noise = query.constant_noise(world.public)
    assert noise is not None
    assert noise.epsilon == 2


@pytest.mark.parametrize(
    ("statistic", "delta", "noise", "error"),
    [
        ("four_cycles", "0", "student_t", BadStatistic),
        ("triangles", "0", "laplace", BadPrivacyParameter),
        ("triangles", "0", "gaussian", BadPrivacyParameter),
    ],
)
def test_impossible_questions(statistic: str, delta: str, noise: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        CuratorQuery(statistic, Fraction(1), Fraction(delta), noise)


def test_what_is_not_for_release_is_said_and_not_printed() -> None:
    world = world_of()
    centre = curator(world)
    edges, _, triangles, *_ = curator_survey(world.public, 1).queries
    assert centre.evidence(edges).releasable
    evidence = centre.evidence(triangles)
    assert not evidence.releasable
    assert "smooth_sensitivity" not in repr(evidence)


# -- a statistical audit: what 10^6 answers from each of two neighbouring worlds tell -----------------------------


def sampled(world: VisibilityAwareGraph, query: CuratorQuery, factor: float = 1.0) -> np.ndarray:
    """Answers of the real noise law for this world; ``factor`` shrinks the noise for a twin that must be caught."""
    law = curator(world).law(query)
    assert law is not None
    drawn = law.sample_many(RUNS, keyed_coins(seeded_key("audit", world.graph.m, query.statistic)))
    return exact(world.graph, query.statistic) + np.round(drawn * factor).astype(np.int64)


def epsilon_lower_bound(one: np.ndarray, other: np.ndarray, delta: float) -> float:
    """The largest ε that the samples rule out, over tail events, at 99.9 % (Bonferroni over the events)."""
    values = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0.0005, 0.9995, 60)).astype(np.int64))
    best = 0.0
    confidence = 1 - 0.001 / (4 * len(values))
    for a, b in ((one, other), (other, one)):
        for value in values:
            for event in (lambda x, v=value: x <= v, lambda x, v=value: x >= v):
                low = wilson(event(a).mean(), confidence)[0]
                high = wilson(event(b).mean(), confidence)[1]
                if low > delta and high > 0:
                    best = max(best, math.log((low - delta) / high))
    return best


def wilson(share: float, confidence: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf(confidence)
    middle = (share + z * z / (2 * RUNS)) / (1 + z * z / RUNS)
    reach = z / (1 + z * z / RUNS) * math.sqrt(share * (1 - share) / RUNS + z * z / (4 * RUNS * RUNS))
    return middle - reach, middle + reach


def neighbours() -> tuple[VisibilityAwareGraph, VisibilityAwareGraph]:
    """Six nodes; the pair {0, 1} has four common neighbours, and the edge between them comes and goes."""
    edges = [(0, k) for k in range(2, 6)] + [(1, k) for k in range(2, 6)]
    return tuple(VisibilityAwareGraph(found, NOTHING) for found in (edges, [*edges, (0, 1)]))


@pytest.mark.parametrize(
    ("statistic", "delta"), [("edges", "0"), ("triangles", "0"), ("triangles", "1e-6"), ("stars:2", "0")]
)
def test_audit_does_not_exceed_the_claim(statistic: str, delta: str) -> None:
    worlds = neighbours()
    query = curator_survey(worlds[0].public, 1, delta, [statistic]).queries[0]
    claimed = float(query.price(Visibility.PRIVATE).epsilon)
    honest = epsilon_lower_bound(*(sampled(world, query) for world in worlds), float(delta))
    assert 0.1 < honest <= claimed


@pytest.mark.parametrize("statistic", ["edges", "triangles"])
def test_half_the_noise_is_caught(statistic: str) -> None:
    worlds = neighbours()
    query = curator_survey(worlds[0].public, 1, 0, [statistic]).queries[0]
    assert epsilon_lower_bound(*(sampled(world, query, 0.5) for world in worlds), 0.0) > 1.0


def test_a_public_view_of_the_audit_s_graphs_is_the_same() -> None:
    one, other = (PublicView(world.graph.names, world.policy, world.public.edges) for world in neighbours())
    assert one.roster_digest == other.roster_digest
    assert len(one.edges) == len(other.edges) == 0


def test_deltas_are_capped_too() -> None:
    world = world_of()
    centre = curator(world)
    with pytest.raises(Refused, match="δ"):
        centre.answer(curator_survey(world.public, "0.1", "0.01", ["triangles"]), 0, no_coins)
    centre.answer(curator_survey(world.public, "0.1", "1e-6", ["triangles"]), 0, secure_coins())


@pytest.mark.parametrize("index", [-1, 6])
def test_there_are_no_questions_before_the_first_or_after_the_last(index: int) -> None:
    world = world_of()
    with pytest.raises(ProtocolViolation, match="questions 0 to 5"):
        curator(world).answer(curator_survey(world.public, 1), index, no_coins)


def test_what_one_centre_worked_out_another_of_the_same_world_need_not() -> None:
    world = VisibilityAwareGraph(erdos_renyi(40, 200), VisibilityPolicy("0.3"))
    first = Centre(world)
    one, _ = ask_within(first, 4, 0, ["triangles", "stars:2"], seed=1)
    same, _ = ask_within(Centre(world, worked_out=first.worked_out), 4, 0, ["triangles", "stars:2"], seed=1)
    assert [one[name].estimate.value for name in one] == [same[name].estimate.value for name in same]
    assert [one[name].evidence for name in one] == [same[name].evidence for name in same]
    assert set(first.worked_out.profiles) == {"triangles", "stars:2"}


@pytest.mark.parametrize(
    "other",
    [
        VisibilityAwareGraph(erdos_renyi(40, 201), VisibilityPolicy("0.3")),
        VisibilityAwareGraph(erdos_renyi(40, 200), VisibilityPolicy("0.4")),
    ],
    ids=["graph", "policy"],
)
def test_what_was_worked_out_of_another_world_is_refused(other: VisibilityAwareGraph) -> None:
    world = VisibilityAwareGraph(erdos_renyi(40, 200), VisibilityPolicy("0.3"))
    with pytest.raises(ProtocolViolation, match="another graph or another policy"):
        Centre(other, worked_out=Centre(world).worked_out)
