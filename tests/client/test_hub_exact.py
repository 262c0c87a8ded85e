"""The whole protocol (b) on small worlds: no transcript of all hubs tells more than was promised.  [HUB.2, HUB.5]

Counts and scales come from the real code for every private graph. A report's law is the mechanism's own, compared
output by output within a wide window; beyond it the ratio runs to a known limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.hub import Territory
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.public.hub_plan import hub_plan
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

World = frozenset[tuple[int, int]]
Answer = tuple[int, int]  # a count and the bound of its noise
# A large epsilon makes the floors small, so that small graphs reach the moving part of the scale.
EPSILON = 4

# Public edges of public nodes 0, 1, …; everybody else is private.
SETTINGS = {
    "one hub of four": (1, 5, [(0, v) for v in (1, 2, 3, 4)], (0,)),
    "two hubs sharing two": (2, 6, [(0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (1, 5)], (0, 1)),
    "two hubs apart": (2, 6, [(0, 2), (0, 3), (1, 4), (1, 5)], (0, 1)),
    "many public friends": (5, 8, [(h, v) for h in range(5) for v in (5, 6, 7)], (0,)),
    "three hubs": (3, 7, [(0, 3), (0, 4), (1, 4), (1, 5), (2, 5), (2, 6), (2, 3)], (0, 1, 2)),
}


def setting(name: str) -> tuple[PublicView, tuple[int, ...], list[tuple[int, int]]]:
    publics, n, edges, hubs = SETTINGS[name]
    policy = VisibilityPolicy.from_profiles(dict.fromkeys(range(publics), "public"), rule="any")
    private = list(combinations(range(publics, n), 2))
    return PublicView(range(n), policy, np.array(sorted(edges), np.int32)), hubs, private


def worlds(private: list[tuple[int, int]]) -> list[World]:
    return [
        frozenset(p for p, bit in zip(private, bits, strict=True) if bit)
        for bits in product((0, 1), repeat=len(private))
    ]


Speaker = Callable[[HubSurvey, Territory, str, int], Answer]


def honest(survey: HubSurvey, territory: Territory, number: str, place: int) -> Answer:
    """What the client noises, and the bound it noises it with."""
    bound = max(int(survey.floors(number)[place]), territory.sensitivity(number, survey.weights(number)))
    return territory.count(number), bound


def answers(survey: HubSurvey, view: PublicView, world: World, speak: Speaker) -> list[tuple[str, Answer]]:
    edges = np.array(sorted({*map(tuple, view.edges.tolist()), *world}), np.int32)
    territories = [Territory.of(edges, view, survey.plan, h) for h in range(len(survey.plan.hubs))]
    spoken = [(n, speak(survey, t, n, h)) for h, t in enumerate(territories) for n in survey.numbers]
    return [*spoken, *(("loose", (t.loose_edges, 1)) for t in territories)]


@cache
def log_law(noise: SmoothPower, bound: int, reach: int = 400) -> np.ndarray:
    """The logarithm of the probability of each output from −reach to reach around a count of 0."""
    law = noise.law(bound)
    below = [law.cdf(k, 40) for k in range(-reach - 1, 1)]
    left = np.array([float((high - low).ln()) for low, high in pairwise(below)])
    return np.concatenate([left, left[-2::-1]])


@cache
def report_loss(noise: SmoothPower, one: Answer, other: Answer) -> float:
    """The largest log-ratio of one number's report between two worlds."""
    if one == other:
        return 0.0
    if not (one[1] and other[1]):
        return math.inf
    first, second = log_law(noise, one[1]), log_law(noise, other[1])
    shift, size = other[0] - one[0], len(first)
    window = slice(abs(shift), size - abs(shift))
    moved = np.roll(second, shift)[window]
    # Far away the powers of both laws agree and only their scales are left.
    limit = float(noise.alpha) * abs(math.log(one[1] / other[1]))
    return max(float(np.abs(first[window] - moved).max()), limit)


def largest_loss(survey: HubSurvey, view: PublicView, private: list[tuple[int, int]], speak: Speaker = honest) -> float:
    spoken = {world: answers(survey, view, world, speak) for world in worlds(private)}
    worst = 0.0
    for world, said in spoken.items():
        for position in private:
            if position in world:
                continue
            loss = 0.0
            for (number, one), (_, other) in zip(said, spoken[world | {position}], strict=True):
                if number == "loose":
                    rate = float(survey.loose_noise.rate) if survey.loose_noise else 0.0
                    assert rate or one == other or not survey.plan.loose_positions
                    loss += rate * abs(one[0] - other[0])
                else:
                    loss += report_loss(survey.noises[number], one, other)
            worst = max(worst, loss)
    return worst


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", ["shared", "plain"])
def test_every_private_graph_keeps_the_promise(name: str, kind: str) -> None:
    view, hubs, private = setting(name)
    survey = hub_survey(view, EPSILON, kind, hub_plan(view, hubs, 3))
    loss = largest_loss(survey, view, private)
    assert 0.1 * EPSILON < loss <= EPSILON * (1 + 1e-9)


def test_the_scale_moves_in_one_of_these_worlds() -> None:
    """Otherwise the test above would say nothing about noise that follows private data."""
    view, hubs, private = setting("many public friends")
    survey = hub_survey(view, EPSILON, "shared", hub_plan(view, hubs, 3))
    bounds = {answers(survey, view, world, honest)[0][1][1] for world in worlds(private)}
    assert len(bounds) > 1


def test_friend_visible_positions_lose_no_more_than_private_ones() -> None:
    """Three classes: hubs' positions are public, two others friend-visible; all losses stay at the strictest."""
    publics, n, edges, hubs = SETTINGS["two hubs sharing two"]
    open_ones = VisibilityPolicy.from_positions([], [(2, 3), (4, 5)])
    policy = VisibilityPolicy.from_profiles(dict.fromkeys(range(publics), "public"), rule="any") | open_ones
    view = PublicView(range(n), policy, np.array(sorted(edges), np.int32))
    survey = hub_survey(view, EPSILON, "shared", hub_plan(view, hubs, 3))
    assert survey.price[Visibility.FRIEND_VISIBLE] == survey.price[Visibility.PRIVATE]
    assert largest_loss(survey, view, list(combinations(range(publics, n), 2))) <= EPSILON * (1 + 1e-9)


def test_a_hub_that_answers_exactly_is_caught() -> None:
    """Document 004: public nodes do not add noise."""
    view, hubs, private = setting("one hub of four")
    survey = hub_survey(view, EPSILON, "shared", hub_plan(view, hubs))
    exact = largest_loss(survey, view, private, lambda s, t, number, place: (t.count(number), 0))
    assert exact == math.inf


def test_noise_at_the_own_sensitivity_without_a_floor_is_caught() -> None:
    """c = 1 and c = 2 without smoothing: the scale doubles with one edge."""
    view, hubs, private = setting("one hub of four")
    survey = hub_survey(view, EPSILON, "shared", hub_plan(view, hubs))
    small = hub_survey(view, 1, "shared", survey.plan)

    def bare(s: HubSurvey, territory: Territory, number: str, place: int) -> Answer:
        return territory.count(number), max(1, territory.sensitivity(number, s.weights(number)))

    assert largest_loss(small, view, private, bare) > 1.2


def test_all_reporters_at_full_epsilon_is_caught() -> None:
    """Positions that two territories share pay twice where weights are left out."""
    view, hubs, private = setting("two hubs sharing two")
    survey = hub_survey(view, EPSILON, "shared", hub_plan(view, hubs, 3))

    def unweighted(s: HubSurvey, territory: Territory, number: str, place: int) -> Answer:
        ones = np.ones_like(s.weights(number))
        return territory.count(number), max(1, territory.sensitivity(number, ones))

    assert largest_loss(survey, view, private, unweighted) > 1.05 * EPSILON
