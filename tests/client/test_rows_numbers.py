"""USER triangles: the two numbers of a row, and surveys that are made to get more out of them.  [TRIANGLE.2]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from support.row_worlds import collect_triangles
from visibility_aware_edge_ldp.aggregator.rows import RowCollection, triangles
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.power_noise import cut_sum, smooth_bound
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, row_surveys, triangle_survey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 21
WORLD = VisibilityAwareGraph(erdos_renyi(N, 90, seed=4), VisibilityPolicy("0.2", "0.3", "0.5"))
VIEW = WORLD.public
SURVEY = triangle_survey(VIEW, 2)


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


def purse(survey: RowSurvey = SURVEY) -> Purse:
    return Purse({kind: survey.multipliers.of(kind) * survey.epsilon for kind in NON_PUBLIC})


def everybody(users_at_once: int = N) -> list[TwoRoundClient]:
    return [TwoRoundClient(held, VIEW, purse()) for held in cut_lists(WORLD.graph, users_at_once)]


def first_answers(users: TwoRoundClient) -> FirstRound:
    """The first round of all users in one, as everybody hears it."""
    collection = RowCollection(SURVEY, VIEW)
    collection.absorb_answers(users.answer(SURVEY, 1, keyed_coins(seeded_key(1))))
    return FirstRound(SURVEY, VIEW, collection.close_first_round())


def complete_world(n: int = 12) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(erdos_renyi(n, n * (n - 1) // 2), VisibilityPolicy.nothing())


def hostile(world: VisibilityAwareGraph, **parts: object) -> RowSurvey:
    return replace(triangle_survey(world.public, 2), **parts)


def test_numbers_that_doubles_cannot_hold_are_refused_before_anything_is_paid() -> None:
    """A first epsilon of 10⁻¹² costs nothing and makes scores of 10¹²; their sums would not fit in 64 bits."""
    world = complete_world()
    survey = hostile(world, first=replace(triangle_survey(world.public, 2).first, epsilon=Fraction(1, 10**12)))
    (held,) = cut_lists(world.graph)
    money = purse(survey)
    users = TwoRoundClient(held, world.public, money)
    collection = RowCollection(survey, world.public)
    collection.absorb_answers(users.answer(survey, 1, secure_coins()))
    first = FirstRound(survey, world.public, collection.close_first_round())
    for _ in range(2):
        with pytest.raises(ProtocolViolation, match="too large to be summed exactly"):
            users.total(survey, first, no_coins)
    money.pay({kind: survey.second_price(kind) for kind in NON_PUBLIC})


@pytest.mark.parametrize("part", ["reach", "total"])
def test_noise_beyond_64_bits_does_not_show_what_it_was_added_to(part: str) -> None:
    """A tiny epsilon costs nothing and must tell nothing: a noise that is cut off and then added to would."""
    world, tiny = complete_world(), {"reach": Fraction(1, 10**25), "total": Fraction(1, 10**7)}
    extra = {"share": Fraction(2, 5), "fineness": 20} if part == "total" else {}
    collection = collect_triangles(world, hostile(world, **{part: tiny[part]}, **extra), seed=5)
    told = collection.reaches if part == "reach" else collection.totals
    assert (np.abs(told[collection.answered]) <= 1 << 61).all()
    if part == "reach":
        assert set(np.abs(told[collection.answered]).tolist()) == {1 << 61}


def test_what_is_cut_off_is_the_exact_sum() -> None:
    """[TRIANGLE.2]: the draw arrives cut off at the ends of 64 bits, and the report is as if it had not."""
    draws = [sign * (1 << bits) + step for bits in range(55, 66) for sign in (-1, 1) for step in (-7, 0, 7)]
    arrived = np.array([max(-(2**63) + 1, min(draw, 2**63 - 1)) for draw in draws])
    for value in (0, 1, -1, 2**46, -(2**46)):
        expected = [max(-(2**61), min(value + draw, 2**61)) for draw in draws]
        assert cut_sum(np.full(arrived.size, value), arrived).tolist() == expected


def test_without_any_score_there_is_nothing_to_tell() -> None:
    """Everything public and no edge: nobody is asked, and nothing is divided by a largest score of 0."""
    world = VisibilityAwareGraph(erdos_renyi(6, 0), VisibilityPolicy("1"))
    collection = collect_triangles(world, triangle_survey(world.public, 1), seed=1)
    assert not collection.answered.any()
    found = triangles(collection)
    assert (found.value, found.variance) == (0, 0)


@pytest.mark.parametrize("largest", [0.7, 2.5])
@pytest.mark.parametrize("beta", [0.05, 0.8])
def test_the_smooth_bound_is_smooth_and_a_bound(largest: float, beta: float) -> None:
    """[TRIANGLE.2] on a grid, against a search over t."""
    reach = np.linspace(0, 4 * largest / beta, 2001)
    bound = smooth_bound(reach, largest, beta)
    steps = np.linspace(0, 6 / beta, 4001)
    searched = (np.exp(-beta * steps)[None] * (reach[::50, None] + steps * largest)).max(axis=1)
    assert bound[::50] == pytest.approx(searched, rel=1e-5)
    assert (bound >= reach).all()
    moved = np.abs(np.log(smooth_bound(reach + largest, largest, beta) / bound))
    assert moved.max() <= beta * (1 + 1e-12)
    assert moved.max() > 0.999 * beta


def own_numbers(users: TwoRoundClient, first: FirstRound) -> tuple[np.ndarray, np.ndarray]:
    return users._measure(SURVEY, first)


def test_reach_and_sum_are_those_of_the_definition() -> None:
    """Against loops over the positions, friend-visible ones divided by their multiplier, public ones left out."""
    (users,) = everybody()
    first = first_answers(users)
    reaches, sums = own_numbers(users, first)
    score = first.scores.rows(slice(0, N)).astype(float)
    bits = np.zeros((N, N), bool)
    bits[WORLD.graph.edges[:, 0], WORLD.graph.edges[:, 1]] = True
    worth = {Visibility.PRIVATE: 1.0, Visibility.FRIEND_VISIBLE: 2.0}
    for user in range(N):
        mine = np.flatnonzero(bits[user])
        assert sums[user] == pytest.approx(sum(score[j, k] for j, k in combinations(mine, 2)), abs=1e-5)
        pulls = {x: abs(score[mine, x].sum()) for x in range(user + 1, N)}
        kinds = {x: Visibility(int(VIEW.classes.of([user], [x])[0])) for x in pulls}
        expected = max((pulls[x] / worth[kinds[x]] for x in pulls if kinds[x] in worth), default=0.0)
        assert reaches[user] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("users_at_once", [1, 2, 7, N])
def test_runs_of_any_size_measure_the_same(users_at_once: int) -> None:
    (whole,) = everybody()
    first = first_answers(whole)
    parts = [own_numbers(users, first) for users in everybody(users_at_once=users_at_once)]
    reaches, sums = (np.concatenate(numbers) for numbers in zip(*parts, strict=True))
    assert (reaches == own_numbers(whole, first)[0]).all()
    assert (sums == own_numbers(whole, first)[1]).all()


@pytest.mark.parametrize("statistic", ["triangles", "four_cycles"])
def test_a_user_measures_the_same_alone_and_among_many(statistic: str) -> None:
    """More users than a block of rows has, with classes that differ from user to user."""
    world = VisibilityAwareGraph(erdos_renyi(200, 2000, seed=5), VisibilityPolicy("0.2", "0.3", "0.5"))
    survey = row_surveys(world.public, Fraction(2), (statistic,))[statistic]
    (view,) = cut_lists(world.graph, 200)
    users, collection = TwoRoundClient(view, world.public, purse(survey)), RowCollection(survey, world.public)
    collection.absorb_answers(users.answer(survey, 1, keyed_coins(seeded_key(1))))
    first = FirstRound(survey, world.public, collection.close_first_round())
    together = users._measure(survey, first)
    each = [
        TwoRoundClient(held, world.public, purse(survey))._measure(survey, first) for held in cut_lists(world.graph, 37)
    ]
    for whole, parts in zip(together, zip(*each, strict=True), strict=True):
        assert (whole == np.concatenate(parts)).all()
