"""Estimates of people and places: against NetworkX's truth, in both trust models, with people away, and enumerated."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_collection
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.scope import named_scope
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.degrees import degree_report, degree_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.public.trust import ON_PLACES
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.options import plan_for
from visibility_aware_edge_ldp.simulation.simulate import collect, exact_purse, reports


def random_visits(people: int, places: int, share: float, seed: int) -> nx.Graph:
    return nx.bipartite.random_graph(people, places, share, seed)


def butterflies_by_networkx(graph: nx.Graph) -> int:
    """Over each two people: choices of two of the places that both visit, as NetworkX finds these."""
    people = [node for node, side in graph.nodes(data="bipartite") if side == 0]
    shared = (len(list(nx.common_neighbors(graph, *pair))) for pair in combinations(people, 2))
    return sum(each * (each - 1) // 2 for each in shared)


GRAPH = random_visits(24, 6, 0.35, 3)
VISITS = va.read_graph(GRAPH, bipartite=True)
WORLD = va.VisibilityAwareGraph(VISITS, "profiles:0.3,both")


@pytest.mark.parametrize("seed", range(6))
def test_the_true_values_are_those_of_networkx(seed: int) -> None:
    theirs = random_visits(5 + 7 * seed, 4 + seed, 0.4, seed)
    ours = va.read_graph(theirs, bipartite=True)
    assert exact(ours, "butterflies") == butterflies_by_networkx(theirs) == exact(ours, "four_cycles")
    assert butterflies_by_networkx(theirs) == sum(len(cycle) == 4 for cycle in nx.simple_cycles(theirs, 4))
    for name, side in (("people_degrees", 0), ("place_degrees", 1)):
        expected = [theirs.degree(node) for node, which in theirs.nodes(data="bipartite") if which == side]
        assert exact(ours, name).tolist() == expected


@pytest.mark.parametrize(
    "edges", [[(0, 0), (0, 1), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)], [(0, 0), (1, 1), (2, 0)]]
)
def test_over_all_answers_the_mean_is_the_truth_and_the_variance_is_the_variance(edges: list[tuple[int, int]]) -> None:
    people = 3 if any(person == 2 for person, _ in edges) else 2
    world = va.VisibilityAwareGraph(va.read_graph(edges, bipartite=True, nodes=(people, 2)))
    view, survey = world.public, position_survey(world.public, 1)
    u, v = endpoints(view.n, 0, view.positions)
    asked = (u < people) & (v >= people)
    bits = np.array([[a, b] in world.graph.edges.tolist() for a, b in zip(u.tolist(), v.tolist(), strict=True)])
    flip = float(survey.mechanism(Visibility.PRIVATE, 1).flip)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in ("butterflies", "edges", "place_degrees")}
    for said in product((False, True), repeat=int(asked.sum())):
        ones = np.zeros(view.positions, np.bool_)
        ones[asked] = said
        collection = PositionCollection(survey, view)
        collection.absorb(PositionReport(survey.identity, 1, 0, view.positions, pack(asked), pack(ones)))
        chance = float(np.prod(np.where(ones == bits, 1 - flip, flip)[asked]))
        for name, each in estimate_collection(collection, [*found]).items():
            value, variance = (float(np.ravel(part)[0]) for part in (each.value, each.variance))
            found[name].append((chance, value, variance))
    for name, rows in found.items():
        chances, values, variances = np.array(rows).T
        mean = float(chances @ values)
        assert chances.sum() == pytest.approx(1)
        assert mean == pytest.approx(float(np.ravel(exact(world.graph, name))[0]), abs=1e-9)
        # Where it comes out too small, the variance of butterflies is raised to that of four noisy sides.
        spread, told = float(chances @ (values - mean) ** 2), float(chances @ variances)
        assert told >= spread * (1 - 1e-6) if name == "butterflies" else told == pytest.approx(spread)


@pytest.mark.parametrize("trust", ["position", "user"])
@pytest.mark.parametrize("away", [0.0, 0.25])
def test_the_mean_of_estimates_is_the_truth(trust: str, away: float) -> None:
    runs = [va.estimate(WORLD, trust, 3, seed=seed, dropout=away) for seed in range(50)]
    for name in ON_PLACES:
        truth = float(np.mean(exact(VISITS, name)))
        assert abs(z_of([np.mean(run[name].value) for run in runs], truth)) < Z_LIMIT, name
    assert all(run[name].unbiased for run in runs for name in ("edges", "butterflies"))


@pytest.mark.long
@pytest.mark.parametrize("trust", ["position", "user"])
@pytest.mark.parametrize("away", [0.0, 0.2])
def test_intervals_hold_the_truth_as_often_as_they_say(trust: str, away: float) -> None:
    """In 400 runs 20 miss in the mean; 40 or more, or 4 or fewer, do with a chance below 1e-4. The seeds are fixed."""
    visits = va.read_graph(random_visits(60, 12, 0.3, 1), bipartite=True)
    truths = {name: np.asarray(exact(visits, name)) for name in ON_PLACES}
    held: dict[str, list[float]] = {name: [] for name in ON_PLACES}
    for seed in range(400):
        for name, each in va.estimate(visits, trust, 2, seed=seed, dropout=away).items():
            low, high = each.interval()
            held[name].append(float(np.mean((low <= truths[name]) & (truths[name] <= high))))
    for name in ON_PLACES:
        # Of somebody who is away nothing is known but that it is like the others.
        assert 0.9 <= np.mean(held[name]) <= 0.99, name


def test_what_is_asked_and_billed() -> None:
    position, user = (va.estimate(WORLD, trust, 1, seed=1) for trust in ("position", "user"))
    kept = va.estimate(WORLD, "user", 1, seed=1, dropout=0.2)
    assert position.bill == user.bill == kept.bill
    assert str(position.bill) == "PRIVATE: ε = 1, FRIEND_VISIBLE: ε = 2" or "ε = 1" in str(position.bill)
    assert any("everybody knows who is a person" in line for line in position.certificate.assumptions)
    # An edge is in one list alone, so that its person's reports are all that it loses by.
    assert all(float(each.epsilon) in (1, 2) for each in user.certificate.per_list.values())
    many = va.read_graph(random_visits(10, 80, 0.1, 1), bipartite=True)
    alone = va.estimate(many, "user", 1, ["edges", "people_degrees"], seed=1)
    assert np.allclose(alone["people_degrees"].variance, 2 / (4 * np.sinh(0.5) ** 2))  # all of ε for one list
    assert float(alone["edges"].variance) == pytest.approx(10 * 2 / (4 * np.sinh(0.5) ** 2))
    assert float(alone["edges"].value) == pytest.approx(float(np.sum(alone["people_degrees"].value)))
    assert list(alone["people_degrees"].labels or ()) == list(many.names)[:10]


def test_public_numbers_decide_whether_degrees_are_asked_for() -> None:
    few, many = (plan_for(ON_PLACES, 1, 100 + places, people=100) for places in (34, 35))
    assert (few.by_degrees, few.row_epsilon, few.from_answers) == ((), 1, ("edges", "people_degrees", *ON_PLACES[2:]))
    assert (many.by_degrees, float(many.degree_epsilon), float(many.row_epsilon)) == (ON_PLACES[:2], 0.25, 0.75)
    assert plan_for(ON_PLACES, 1, 120, absent=True, people=100).by_degrees == ON_PLACES[:2]
    assert not few.summed
    assert not plan_for(["butterflies"], 1, 10**6, people=10).summed
    assert plan_for(["edges"], 1, 120, people=100).degree_epsilon == 1


def test_places_answer_nothing_and_their_answers_are_refused() -> None:
    view = WORLD.public
    survey = degree_survey(view, 1)
    held = FriendLists(23, np.array([0, 1, 2]), np.array([25, 1], np.int32))  # the last person, and the first place
    report = DegreeClient(held, view, exact_purse(survey)).answer(survey, 1, keyed_random_bytes(b"k" * 32))
    assert report.answered.tolist() == [True, False]
    assert not report.values[:, 1].any()
    collection = collect(WORLD, survey, seed=1)
    assert collection.took_part.tolist() == [True] * 24 + [False] * 6
    numbers = np.zeros((len(survey.classes), 1), np.int64)
    with pytest.raises(ProtocolViolation, match="of places, which hold no list"):
        collection.absorb(degree_report(survey.identity, 24, np.ones(1, np.bool_), numbers))
    for name in ("place_degrees", "stars:2", "max_degree", "degrees"):
        with pytest.raises(BadStatistic, match="is not told of people and places"):
            estimate_collection(collection, [name])
    friends = va.VisibilityAwareGraph(va.read_graph(nx.path_graph(4))).public
    paid = Purse(dict.fromkeys(Visibility, 9))
    with pytest.raises(ProtocolViolation, match="another roster or another policy"):
        DegreeClient(held, view, paid).answer(degree_survey(friends, 1), 1, keyed_random_bytes(b"k" * 32))


def test_nothing_is_sent_about_two_of_one_side_inside_a_scope_or_in_a_sample_of_the_rest() -> None:
    inside = WORLD.inside(named_scope(VISITS.names, [(0, 25), (0, 1), (1, 26), (24, 25)]))
    for world in (WORLD, inside, va.VisibilityAwareGraph(VISITS, inside.policy.outside)):
        for report in reports(world, position_survey(world.public, 1), seed=1):
            answered = np.unpackbits(np.frombuffer(report.answered, np.uint8), count=report.count, bitorder="little")
            u, v = endpoints(VISITS.n, report.start, report.count)
            assert ((u < 24) != (v < 24))[answered > 0].all()
            assert answered.any()
    rest = va.estimate(inside, "position", 2, ["edges"], rest="sample:1/2", seed=1)
    assert rest.rest


def test_further_ways_to_ask() -> None:
    for options in ({"rounds": 2}, {"sample_positions": "1/2"}, {"statistics": "all"}, {"statistics": "summary"}):
        found = va.estimate(VISITS, "position", 2, seed=1, **options)
        assert {"edges", "butterflies"} <= {*found}
    assert {*va.estimate(VISITS, "user", 2, "all", seed=1)} == {*ON_PLACES, "four_cycles"}
    answers = va.estimate(VISITS, "user", 2, seed=1, truth=True)
    assert answers.truths["butterflies"] == butterflies_by_networkx(GRAPH)
    rows = va.evaluate(VISITS, "user", [2], 2, ["butterflies"], seed=1).records()
    assert [row["statistic"] for row in rows] == ["butterflies"]
