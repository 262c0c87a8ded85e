"""Liars: an adversary that tries every lie never exceeds the published bound, and comes near it.  [LIARS.1-6]"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from support.row_worlds import RowWorld
from visibility_aware_edge_ldp.aggregator import poisoning, report_screening
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_degrees
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.groups import GroupCollection
from visibility_aware_edge_ldp.aggregator.nonresponse import positions as nonresponse_estimate
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import reported_rows
from visibility_aware_edge_ldp.aggregator.poisoning import (
    RowPoisoning,
    degree_bound,
    group_bound,
    poisoning_bound,
    rounded_up,
)
from visibility_aware_edge_ldp.aggregator.report_screening import (
    FALSE_ALARM,
    degree_bands,
    flagged_degrees,
    flagged_rows,
    ones_band,
)
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.surveys.degrees import degree_report, degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, group_survey
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

STATISTICS = ("edges", "stars:2", "stars:3", "triangles")
NOTHING, MIXED = VisibilityPolicy.nothing(), VisibilityPolicy("0.3", "0.3", "0.4")
# graph size, policy, epsilon, rounds, how many answered, how many of them lie
CASES = [
    (6, NOTHING, 1, 1, 5, 1),
    (7, NOTHING, 2, 1, 4, 1),
    (6, MIXED, 1, 1, 4, 1),
    (5, NOTHING, 1, 1, 3, 2),
    (5, MIXED, 2, 2, 3, 2),
]


@cache
def worst_lies(case: tuple[int, VisibilityPolicy, int, int, int, int]) -> tuple[dict[str, float], RowPoisoning]:
    """How far any liars move each statistic by any rows, with all others as they are; and what bounds it."""
    nodes, policy, epsilon, rounds, answered, liars = case
    world = RowWorld(erdos_renyi(nodes, nodes * (nodes - 1) // 4, seed=1), policy, epsilon, rounds)
    rng = np.random.default_rng(5)
    users = rng.choice(world.asked, min(answered, world.asked.size), replace=False)
    said, farthest = rng.integers(0, rounds + 1, world.bits.size), dict.fromkeys(STATISTICS, 0.0)
    for who in combinations(users.tolist(), liars):
        lied = np.intersect1d(np.flatnonzero(np.isin(world.holder, who)), world.hidden)
        values = []
        for lie in product((0, rounds), repeat=lied.size):
            outcomes = said.copy()
            outcomes[lied] = lie
            rows = reported_rows(world.collection(outcomes, users))
            values.append([nonresponse_estimate.parts_of(rows, name)[0].value for name in STATISTICS])
        farthest = {
            name: max(farthest[name], float(moved))
            for name, moved in zip(STATISTICS, np.ptp(values, axis=0), strict=True)
        }
    return farthest, RowPoisoning.of(world.collection(said, users))


@pytest.mark.parametrize("case", CASES, ids=["present", "absent", "mixed", "two liars", "two rounds, two liars"])
def test_no_lie_goes_beyond_the_bound(case: tuple[int, VisibilityPolicy, int, int, int, int]) -> None:
    farthest, lies = worst_lies(case)
    for name, moved in farthest.items():
        assert moved <= lies.bound(name, case[-1]), name
    # The bounds are not idle: that on edges is reached, and that on triangles nearly.
    assert lies.bound("edges", case[-1]) <= 1.001 * farthest["edges"]
    assert lies.bound("triangles", case[-1]) <= (2.5 if case[-1] == 1 else 5) * farthest["triangles"]


def test_a_twin_that_forgets_how_answers_are_weighed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With absent users each answer stands for several: a bound without that is exceeded."""
    farthest, lies = worst_lies(CASES[1])
    monkeypatch.setattr(poisoning.ReportedRows, "weights", lambda self, most: np.ones(most + 1))
    assert lies.bound("edges", 1) < farthest["edges"]
    assert lies.bound("triangles", 1) < farthest["triangles"]


def test_beyond_so_many_users_the_bound_is_larger_and_still_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    farthest, lies = worst_lies(CASES[3])
    near = lies.bound("triangles", 2)
    monkeypatch.setattr(poisoning, "MOST_USERS", 3)
    assert farthest["triangles"] <= near <= lies.bound("triangles", 2)


def test_more_liars_move_more_and_none_move_nothing() -> None:
    world = RowWorld(erdos_renyi(30, 120, seed=2), MIXED, 1)
    collection = world.collection(world.drawn(np.random.default_rng(1)), world.asked[::2])
    for statistic in STATISTICS:
        bounds = [poisoning_bound(collection, statistic, liars) for liars in (0, 1, 2, 5, 1000)]
        assert bounds[0] == 0
        assert sorted(bounds) == bounds
        assert bounds[1] > 0
    assert poisoning_bound(collection, "four_cycles", 1) == math.inf
    with pytest.raises(BadInput, match="not negative"):
        poisoning_bound(collection, "edges", -1)


@pytest.mark.parametrize(("bound", "shown"), [(0.0, 0.0), (123456.0, 123500.0), (0.0012341, 0.001235), (5.0, 5.001)])
def test_bounds_are_rounded_up(bound: float, shown: float) -> None:
    assert rounded_up(bound) == shown


def binomial_tail(n: int, chance: Fraction, most: int) -> Fraction:
    return sum((math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(most + 1)), Fraction(0))


@pytest.mark.parametrize("flip", [Fraction(1, 10), Fraction(27, 100), Fraction(9, 20)])
def test_honest_rows_are_hardly_ever_flagged_and_liars_are(flip: Fraction) -> None:
    """Exact tails: all zeros and all ones are the extreme friend lists."""
    sizes = np.array([0, 1, 5, 50, 200, 400])
    low, high = ones_band(sizes, float(flip), 1e-9)
    assert (low[:3] == 0).all()
    assert (high[:3] == sizes[:3]).all()
    for n, fewest, most in zip(sizes.tolist(), low.tolist(), high.tolist(), strict=True):
        assert most == n - fewest
        if fewest:
            assert binomial_tail(n, flip, fewest - 1) <= Fraction(1, 10**9)
            # Chernoff's bound is not far from the tail itself: a band one tenth wider of the mean would be idle.
            assert binomial_tail(n, flip, fewest + 1 + n // 20) > Fraction(1, 10**9)


def test_rows_of_all_ones_are_flagged_by_name_and_honest_rows_are_not() -> None:
    world = RowWorld(erdos_renyi(150, 1500, seed=2), VisibilityPolicy("0.1", "0.2", "0.7"), 1)
    outcomes = world.drawn(np.random.default_rng(1))
    assert flagged_rows(world.collection(outcomes, world.asked)) == []
    outcomes[world.holder == 7] = 1
    outcomes[world.holder == 9] = 0
    flagged = flagged_rows(world.collection(outcomes, world.asked))
    assert {flag.participant for flag in flagged} == {7, 9}
    assert {flag.what for flag in flagged} >= {"ones at PRIVATE positions"}
    assert all(not flag.low <= flag.value <= flag.high for flag in flagged)


def test_a_row_that_its_peers_contradict_is_flagged() -> None:
    """A liar that keeps within the band of ones still stands out beside what earlier users say of it."""
    world = RowWorld(erdos_renyi(400, 8000, seed=2), NOTHING, 4)
    outcomes, liar = world.drawn(np.random.default_rng(1)), 200
    mine = np.flatnonzero(world.holder == liar)
    outcomes[mine] = np.arange(mine.size) % 2
    flagged = flagged_rows(world.collection(outcomes, world.asked))
    assert [(flag.participant, flag.what) for flag in flagged] == [(liar, "friends, against peers")]


def chance_of_a_false_alarm(epsilon: int = 4, user: int = 400) -> float:
    """Of a user of 431 without friends, who has 30 positions of its own: that so many of them say 1 as are flagged."""
    world = RowWorld(erdos_renyi(431, 0, seed=1), NOTHING, epsilon)
    outcomes, mine = world.drawn(np.random.default_rng(1)), np.flatnonzero(world.holder == user)
    flip, size = 1 / (1 + math.exp(epsilon)), mine.size
    for ones in range(size + 1):
        outcomes[mine] = np.arange(size) < ones
        if any(
            (flag.participant, flag.what) == (user, "friends, against peers")
            for flag in flagged_rows(world.collection(outcomes, world.asked))
        ):
            return sum(math.comb(size, k) * flip**k * (1 - flip) ** (size - k) for k in range(ones, size + 1))
    return 0.0


def test_peers_contradict_an_honest_row_as_rarely_as_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < chance_of_a_false_alarm() < FALSE_ALARM
    monkeypatch.setattr(report_screening, "_reach", lambda variance, largest: 6.2 * np.sqrt(variance))
    assert chance_of_a_false_alarm() > 10 * FALSE_ALARM  # the twin with a normal tail


def test_degrees_beyond_their_band_are_flagged_and_within_it_bounded() -> None:
    world = RowWorld(erdos_renyi(40, 200, seed=2), NOTHING, 1)
    survey = degree_survey(world.view, 1)
    (kind,) = survey.classes
    low, high = degree_bands(survey)[survey.classes.index(kind)]
    noise = DiscreteLaplace(survey.list_price(kind).epsilon)
    assert 2 * (1 - Fraction(noise.cdf(-low))) <= FALSE_ALARM
    values = np.arange(40)[None] * 1
    assert flagged_degrees(survey, range(40), values) == []
    beyond = values.copy()
    beyond[0, 3], beyond[0, 8] = high + 1, low - 1
    assert [flag.participant for flag in flagged_degrees(survey, range(40), beyond)] == [3, 8]

    def told(value: int) -> DegreeCollection:
        found, said = DegreeCollection(survey, world.view), values.copy()
        said[0, 5] = value
        found.absorb(degree_report(survey.identity, 0, np.arange(40) < 30, said))
        return found

    for statistic in ("edges", "stars:2", "stars:3", "tail:5"):
        seen = [estimate_degrees(told(value), [statistic])[statistic].value for value in range(low, high + 1)]
        bound = degree_bound(told(0), statistic, 1)
        assert np.ptp(seen) <= bound <= 1.5 * np.ptp(seen) + 1
    assert degree_bound(told(0), "max_degree", 1) == math.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_width_of_a_large_spectrum_is_never_given_too_small(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """[LIARS.3] From powers, where eigenvalues take too long; and not much too large either."""
    draws = np.random.default_rng(seed)
    upper = np.triu(draws.normal(size=(300, 300)) * 10.0 ** (seed * 40 - 40), 1)
    matrix = upper + upper.T
    exact = poisoning.spectral_width(matrix)
    monkeypatch.setattr(poisoning, "FEW_USERS", 0)
    assert exact <= poisoning.spectral_width(matrix) <= 1.15 * exact
    assert poisoning.spectral_width(np.zeros((5, 5))) == 0


@pytest.mark.parametrize("statistic", ["mixing", "contacts", "group_degrees", "ergm_targets"])
@pytest.mark.parametrize("user", [1, 7])
def test_a_liar_moves_no_entry_of_groups_by_more_than_the_bound(statistic: str, user: int) -> None:
    """[LIARS.6]"""
    world = RowWorld(erdos_renyi(20, 60, seed=2), NOTHING, 1)
    groups = Groups("ward", ("a", "b", "c"), np.arange(20) % 3)
    survey = group_survey(world.view, 1, groups)
    bands = degree_bands(survey)
    assert [high + low for low, high in bands] == groups.sizes.tolist()

    def told(*said: int) -> GroupCollection:
        found, values = GroupCollection(survey, world.view), np.ones((3, 20), np.int64)
        values[:, user] = said
        found.absorb(degree_report(survey.identity, 0, np.arange(20) < 14, values, GroupReport))
        return found

    seen = [
        estimate_degrees(told(*said), [statistic])[statistic].value
        for said in product(*((low, high) for low, high in bands))
    ]
    moved, bound = float(np.ptp(np.array(seen), axis=0).max()), group_bound(told(0, 0, 0), statistic, 1)
    assert moved <= bound <= 2 * moved
    assert group_bound(told(0, 0, 0), statistic, 2) > bound
    assert group_bound(told(0, 0, 0), "assortativity", 1) == math.inf
    high = [band[1] for band in bands]
    assert flagged_degrees(survey, [3], np.array([high]).T) == []
    assert len(flagged_degrees(survey, [3], np.array([[high[0] + 1, *high[1:]]]).T)) == 1
