"""The whole protocol of degrees, every noise in a window walked: no transcript tells more than promised.  [DEGREE.2]

The walk itself is the audit's (``audit/protocols/degrees.py``): the real client answers with scripted words
whose chances were measured on the real sampler, and what lies outside the window is accounted for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law, ScriptedCoins, noise_coin
from visibility_aware_edge_ldp.audit.engine.findings import recast
from visibility_aware_edge_ldp.audit.engine.small_worlds import (
    Friends,
    Gaps,
    Speak,
    by_row,
    friends,
    gaps_by_list,
    patterns,
    patterns_up_to_names,
)
from visibility_aware_edge_ldp.audit.protocols.degrees import (
    FullPrice,
    ScaledByOwnDegree,
    Stage,
    noises_by_degree,
    report_law,
)
from visibility_aware_edge_ldp.client.degrees import DegreeClient, class_counts
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def outside(stage: Stage) -> float:
    """The chance that a noise is at the window's end or beyond."""
    reach = (stage.survey.mechanism(kind) for kind in stage.survey.classes)
    return sum(2 * float(mechanism.cdf(-stage.window)) for mechanism in reach)


def gaps_of(stage: Stage, speak: Speak[Stage] = report_law) -> Gaps:
    return gaps_by_list(stage, speak)


def check(stage: Stage, speak: Speak[Stage] = report_law) -> None:
    gaps = gaps_of(stage, speak)
    assert gaps.keys() == set(stage.pattern) - {PUBLIC}
    for kind, gap in gaps.items():
        claim = float(stage.survey.price(kind).epsilon)
        assert claim == {PRIVATE: 1, FRIEND_VISIBLE: 2}[kind] * float(stage.survey.epsilon)
        assert stage.closed
        assert gap.delta <= 4 * outside(stage)
        assert gap.epsilon <= claim * (1 + 1e-12)
        assert gap.epsilon >= claim * 0.999, "the promise is not spent: the answers could be more accurate"


def test_three_users_every_graph_every_pattern() -> None:
    assert len(patterns(3)) == 27
    for pattern in patterns(3):
        stage = Stage(pattern, 3, "4", 3)
        assert outside(stage) < 0.005
        check(stage)


@pytest.mark.long
def test_four_users_every_graph_and_every_pattern_up_to_names() -> None:
    """A user's law is kept for its row of classes and its list; three users, above, do without that shortcut."""
    speak = by_row(report_law)
    assert len(patterns_up_to_names(4)) == 66
    for pattern in patterns_up_to_names(4):
        check(Stage(pattern, 4, "6", 1), speak)


def test_a_small_epsilon_with_a_wide_window() -> None:
    stage = Stage((PRIVATE,) * 3, 3, "1", 40)
    assert outside(stage) < 1e-8
    check(stage)


def test_one_call_for_all_says_what_separate_users_say() -> None:
    stage, window = Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, "2", 1), 1
    lists = [friends((1, 1, 0), 3, user) for user in range(3)]
    offsets = np.concatenate([[0], np.cumsum([len(held) for held in lists])])
    together = FriendLists(0, offsets, np.array(sum(lists, ()), np.int32))
    counts = class_counts(together, stage.view, stage.survey.classes)
    due = [[noise_coin(stage.survey.mechanism(kind), window)] * 3 for kind in stage.survey.classes]
    for drawn in product(range(2 * window + 1), repeat=6):
        coins = ScriptedCoins(drawn)
        coins.offer(due)
        holders = DegreeClient(together, stage.view, Purse(dict.fromkeys(NON_PUBLIC, 2 * stage.survey.epsilon)))
        values = holders.answer(stage.survey, 1, coins).values
        assert (values - counts).ravel().tolist() == [number - window for number in drawn]
    apart = [
        class_counts(FriendLists(u, np.array([0, len(f)]), np.array(f, np.int32)), stage.view, stage.survey.classes)
        for u, f in enumerate(lists)
    ]
    assert (np.concatenate(apart, axis=1) == counts).all()


def test_the_twin_in_which_both_ends_spend_all_of_epsilon_is_caught() -> None:
    stage = Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, "2", 3, question=partial(recast, FullPrice))
    gaps = gaps_of(stage)
    assert gaps[PRIVATE].epsilon == pytest.approx(2 * 2)
    assert gaps[FRIEND_VISIBLE].epsilon == pytest.approx(2 * 4)
    assert gaps[PRIVATE].epsilon > stage.survey.price(PRIVATE).epsilon


def test_the_twin_that_scales_noise_by_its_own_degree_is_caught() -> None:
    """As in the source document: the scale itself tells the degree."""
    stage = Stage((PRIVATE,) * 3, 3, "1", 40, client=ScaledByOwnDegree, noises=noises_by_degree)
    assert gaps_of(stage)[PRIVATE].epsilon > 10 * float(stage.survey.epsilon)


def test_the_twin_in_which_a_public_user_answers_exactly_is_caught() -> None:
    """User 0 has a public profile, and so answers without noise about friends whose positions are not public."""

    def speak(stage: Stage, user: int, held: Friends) -> Law:
        return {bytes([len(held)]): Fraction(1)} if user == 0 else report_law(stage, user, held)

    gaps = gaps_of(Stage((FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE), 3, "4", 3), speak)
    assert gaps[FRIEND_VISIBLE].epsilon == math.inf
    assert gaps[PRIVATE].epsilon <= 4 * (1 + 1e-12)


def test_the_twin_that_answers_again_with_new_coins_is_caught() -> None:
    def speak(stage: Stage, user: int, held: Friends) -> Law:
        once = report_law(stage, user, held)
        return {a + b: once[a] * once[b] for a, b in product(once, repeat=2)}

    stage = Stage((PRIVATE,) * 3, 3, "4", 3)
    assert gaps_of(stage, speak)[PRIVATE].epsilon >= 2 * float(stage.survey.epsilon) * 0.999


def test_another_multiplier_is_another_claim_and_kept() -> None:
    stage = Stage((PRIVATE, FRIEND_VISIBLE, FRIEND_VISIBLE), 3, "2", 3, ("3", "1/2"))
    gaps = gaps_of(stage)
    assert {kind: gap.epsilon for kind, gap in gaps.items()} == {
        PRIVATE: pytest.approx(1),
        FRIEND_VISIBLE: pytest.approx(6),
    }
    assert stage.survey.price(FRIEND_VISIBLE).epsilon == Fraction(6)


def test_those_who_do_not_take_part_lose_nothing() -> None:
    stage = Stage((PRIVATE,) * 3, 3, "4", 2)
    assert gaps_of(replace(stage, nonresponse=frozenset({0, 1, 2})))[PRIVATE].epsilon == 0
    assert gaps_of(replace(stage, nonresponse=frozenset({0})))[PRIVATE].epsilon == pytest.approx(4)
