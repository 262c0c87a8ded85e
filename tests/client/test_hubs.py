"""Public hubs: who counts what, and the client's manners.  [HUB.1-6]"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.hubs import HubClient, Territory
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import two_hop
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import secure_coins
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import hubs as questions
from visibility_aware_edge_ldp.public.surveys.hubs import HubPlan, HubSurvey, hub_plan, hub_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N, HUBS = 26, (3, 7, 11, 20)
GRAPH = erdos_renyi(N, 130, seed=8)
PUBLIC_HUBS = VisibilityPolicy.from_profiles(dict.fromkeys(HUBS, "public"), rule="any")
# Some other positions are public too, edges or not.
POLICIES = {"hubs": PUBLIC_HUBS, "hubs and a fifth": PUBLIC_HUBS | VisibilityPolicy("0.2")}


def world_of(name: str) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(GRAPH, POLICIES[name])


def first_common(plan: HubPlan, u: int, v: int) -> float:
    common = int(plan.marks[u] & plan.marks[v])
    return (common & -common).bit_length() - 1 if common else np.inf


def belongs(world: VisibilityAwareGraph, plan: HubPlan, triple: tuple[int, ...]) -> tuple[float, set[float]]:
    """The reporter of a triple by definition, and the reporters of its non-public sides."""
    sides = list(combinations(triple, 2))
    hidden = [s for s in sides if world.public.classes.of(*np.array([s]).T)[0] != Visibility.PUBLIC]
    firsts = {first_common(plan, *side) for side in hidden}
    return min(firsts, default=np.inf), firsts


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("keep", [1, 2, 3])
def test_counts_and_sensitivities_are_those_of_the_definition(policy: str, keep: int) -> None:
    world = world_of(policy)
    plan = hub_plan(world.public, HUBS, keep)
    joined = {frozenset(e) for e in GRAPH.edges.tolist()}
    triples = {t: belongs(world, plan, t) for t in combinations(range(N), 3)}
    found = [t for t in triples if all(frozenset(s) in joined for s in combinations(t, 2))]
    territories = [
        Territory.of(two_hop(N, GRAPH.edges, hub).edges, world.public, plan, h) for h, hub in enumerate(HUBS)
    ]
    survey = {kind: hub_survey(world.public, 1, kind, plan) for kind in ("shared", "plain")}
    for h, territory in enumerate(territories):
        everything = [t for t in found if triples[t][0] == h]
        inside = [t for t in everything if triples[t][1] == {h}]
        assert territory.count("all") == len(everything)
        assert territory.count("inside") == len(inside)
        assert territory.count("rest") == len(everything) - len(inside)
        for kind, number in (("shared", "all"), ("plain", "inside"), ("plain", "rest")):
            weights = survey[kind].weights(number)
            assert territory.sensitivity(number, weights) >= largest_change(
                world, plan, triples, joined, h, number, weights
            )
    covered = sum(t.count("all") for t in territories)
    missed = [t for t in found if triples[t][0] == np.inf and triples[t][1]]
    public = [t for t in found if not triples[t][1]]
    assert covered + len(missed) + len(public) == len(found)


def largest_change(world, plan, triples, joined, h, number, weights) -> int:
    """The largest weighted number of triangles that one non-public position closes, by definition."""
    changes: dict[tuple[int, int], int] = {}
    for triple, (owner, firsts) in triples.items():
        if owner != h or (number == "inside" and firsts != {h}) or (number == "rest" and firsts == {h}):
            continue
        for side in combinations(triple, 2):
            others = [s for s in combinations(triple, 2) if s != side]
            if all(frozenset(s) in joined for s in others):
                changes[side] = changes.get(side, 0) + 1
    group = plan.groups[1]
    hidden = {s for s in changes if world.public.classes.of(*np.array([s]).T)[0] != Visibility.PUBLIC}
    return max((changes[s] * int(weights[group[s[0]], group[s[1]]]) for s in hidden), default=0)


def test_sensitivity_is_exact_where_only_hubs_are_public() -> None:
    world = world_of("hubs")
    plan = hub_plan(world.public, HUBS, 2)
    joined = {frozenset(e) for e in GRAPH.edges.tolist()}
    triples = {t: belongs(world, plan, t) for t in combinations(range(N), 3)}
    survey = hub_survey(world.public, 1, "shared", plan)
    for h, hub in enumerate(HUBS):
        territory = Territory.of(two_hop(N, GRAPH.edges, hub).edges, world.public, plan, h)
        weights = survey.weights("all")
        assert territory.sensitivity("all", weights) == largest_change(world, plan, triples, joined, h, "all", weights)


@pytest.mark.parametrize("keep", [1, 2, 3, 4])
def test_no_position_reaches_more_reporters_than_the_plan_says(keep: int) -> None:
    world = world_of("hubs")
    plan = hub_plan(world.public, HUBS, keep)
    reached: dict[tuple[int, int], set[float]] = {}
    for triple in combinations(range(N), 3):
        owner, _ = belongs(world, plan, triple)
        for side in combinations(triple, 2):
            if not set(side) & set(HUBS):
                reached.setdefault(side, set()).add(owner)
    group = plan.groups[1]
    for (u, v), owners in reached.items():
        count = len(owners - {np.inf})
        assert count <= plan.reaches[group[u], group[v]]
        loose = first_common(plan, u, v) == np.inf
        assert loose == plan.loose[group[u], group[v]]
        assert plan.reaches[group[u], group[v]] <= plan.most_reached(loose)


def test_loose_edges_are_counted_once() -> None:
    world = world_of("hubs")
    plan = hub_plan(world.public, HUBS, 1)
    territories = [
        Territory.of(two_hop(N, GRAPH.edges, hub).edges, world.public, plan, h) for h, hub in enumerate(HUBS)
    ]
    loose = [e for e in GRAPH.edges.tolist() if not set(e) & set(HUBS) and first_common(plan, *e) == np.inf]
    seen = [e for e in loose if plan.marks[e].any()]
    assert sum(t.loose_edges for t in territories) == len(seen) > 0


def test_hubs_are_found_from_public_data_and_cover_as_many_as_they_can() -> None:
    view = world_of("hubs").public
    plan = hub_plan(view)
    assert set(plan.hubs) <= set(HUBS)
    assert plan.sizes[0] == max(np.bincount(view.edges.ravel(), minlength=N)[list(HUBS)]) - sum(
        h in HUBS for e in view.edges.tolist() if plan.hubs[0] in e for h in e if h != plan.hubs[0]
    )
    with pytest.raises(BadPolicy, match="PUBLIC"):
        hub_plan(VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing()).public)
    with pytest.raises(BadPolicy, match="friend list"):
        hub_plan(view, (3, 4))


def purse(epsilon: str = "1") -> Purse:
    return Purse({Visibility.PRIVATE: Fraction(epsilon), Visibility.FRIEND_VISIBLE: Fraction(epsilon)})


def hub(node: int = 3, limit: str = "1") -> HubClient:
    return HubClient(two_hop(N, GRAPH.edges, node), world_of("hubs").public, purse(limit))


def survey_of(kind: str = "shared", policy: str = "hubs") -> HubSurvey:
    view = world_of(policy).public
    return hub_survey(view, 1, kind, hub_plan(view, HUBS))


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


@pytest.mark.parametrize("kind", ["shared", "plain"])
def test_asked_again_it_repeats_itself_whatever_the_coins(kind: str) -> None:
    client, survey = hub(), survey_of(kind)
    first = client.answer(survey, 1, secure_coins())
    assert client.answer(survey, 1, no_coins) is first
    assert len(first.values) == len(survey.numbers)


@pytest.mark.parametrize("kind", ["shared", "plain"])
def test_the_noise_is_searched_for_once_and_is_the_best(kind: str) -> None:
    survey = survey_of(kind)
    known, searches = survey.noises, questions._best_noise.cache_info().misses
    for start in HUBS:
        hub(start).answer(survey, 1, secure_coins())
    assert questions._best_noise.cache_info().misses == searches
    for number, noise in known.items():
        loss, weight = survey.loss * questions.NUMBERS[kind][number], survey.largest_weight(number)
        spreads = {}
        for share in questions._SHARES:
            other = SmoothPower(loss, share)
            floors = questions._floors(other, weight, survey.plan.sizes)
            spreads[share] = other.standard_deviation(1) * float(np.linalg.norm(floors))
        assert noise == SmoothPower(loss, min(spreads, key=spreads.__getitem__))


def test_a_noise_that_the_asker_put_into_the_survey_is_not_taken() -> None:
    """The hub works it out from its own plan, whatever the survey has worked out before."""
    honest, forged = survey_of(), survey_of()
    weak = {number: SmoothPower(100 * noise.epsilon, noise.share) for number, noise in honest.noises.items()}
    forged.__dict__.update(identity=honest.identity, noises=weak)
    assert forged.noises != honest.noises
    assert hub().verify(forged, 1).noises == honest.noises


def test_over_the_cap_it_refuses_before_a_coin_is_drawn() -> None:
    with pytest.raises(Refused):
        hub(limit="0.9").answer(survey_of(), 1, no_coins)


def test_another_policy_another_node_or_other_territories_are_refused() -> None:
    with pytest.raises(ProtocolViolation, match="another"):
        hub().answer(survey_of(policy="hubs and a fifth"), 1, no_coins)
    with pytest.raises(ProtocolViolation, match="not ask"):
        hub(5).answer(survey_of(), 1, no_coins)
    honest = survey_of().plan
    forged = HubPlan(honest.hubs, honest.keep, honest.marks & 1, honest.hiding)
    with pytest.raises(ProtocolViolation, match="territories"):
        hub().answer(hub_survey(world_of("hubs").public, 1, "shared", forged), 1, no_coins)
    fewer = HubPlan(honest.hubs, honest.keep, honest.marks, honest.hiding & (np.arange(honest.hiding.size) % 2 == 0))
    with pytest.raises(ProtocolViolation, match="territories"):
        hub().answer(hub_survey(world_of("hubs").public, 1, "shared", fewer), 1, no_coins)
    with pytest.raises(BadInput, match="sharing"):
        hub_survey(world_of("hubs").public, 1, "secret")


def test_private_matters_do_not_print_themselves() -> None:
    territory = Territory.of(GRAPH.edges, world_of("hubs").public, survey_of().plan, 0)
    assert "own" not in repr(territory)
