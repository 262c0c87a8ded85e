"""The holders of friend lists: refuse, pay, count, randomize once, repeat.  [DEGREE.0-3]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.degrees import DegreeClient, class_counts, randomize
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import LARGEST, degree_survey, encode
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 40
WORLD = VisibilityAwareGraph(erdos_renyi(N, 200, 5), VisibilityPolicy("0.3", "0.3", "0.4"))
VIEW = WORLD.public
LISTS = next(iter(cut_lists(WORLD.graph)))


def holders(cap: str = "1", lists: FriendLists = LISTS, view: PublicView = VIEW) -> DegreeClient:
    """Purses that hold what a survey at ``cap`` costs each list."""
    return DegreeClient(lists, view, Purse({k: DEFAULT_MULTIPLIERS.of(k) * Fraction(cap) / 2 for k in NON_PUBLIC}))


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


def test_asked_again_they_repeat_themselves_whatever_the_coins() -> None:
    survey, client = degree_survey(VIEW, 1), holders()
    first = client.answer(survey, 1, secure_coins())
    assert client.answer(survey, 1, no_coins) is first


def test_over_the_cap_they_refuse_before_a_coin_is_drawn() -> None:
    client = holders("1")
    client.answer(degree_survey(VIEW, "0.75"), 1, secure_coins())
    with pytest.raises(Refused, match=r"0\.25 is left"):
        client.answer(degree_survey(VIEW, "0.5"), 1, no_coins)
    client.answer(degree_survey(VIEW, "0.25"), 1, secure_coins())
    with pytest.raises(Refused):
        client.answer(degree_survey(VIEW, "0.01"), 1, no_coins)


def test_a_holder_pays_half_of_what_an_edge_loses() -> None:
    survey = degree_survey(VIEW, 1)
    with pytest.raises(Refused):
        holders("0.99").answer(survey, 1, no_coins)
    holders("1").answer(survey, 1, secure_coins())
    for kind in NON_PUBLIC:
        assert 2 * survey.list_price(kind).epsilon == survey.price(kind).epsilon == DEFAULT_MULTIPLIERS.of(kind)


def test_only_classes_that_can_be_there_are_asked_and_paid() -> None:
    view = PublicView(range(N), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    client = DegreeClient(LISTS, view, Purse({Visibility.PRIVATE: Fraction(1, 2)}))
    report = client.answer(degree_survey(view, 1), 1, secure_coins())
    assert report.values.shape == (1, N)


def test_a_survey_about_something_else_is_refused() -> None:
    good = degree_survey(VIEW, 1)
    other_policy = PublicView(range(N), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    bad = {
        "another roster": replace(good, roster="0" * 64),
        "another policy": degree_survey(other_policy, 1),
        "would cost": replace(good, multipliers=VIEW.policy.guarded(friend_visible=5).multipliers),
        "other classes": replace(good, classes=(Visibility.PRIVATE,)),
    }
    for words, survey in bad.items():
        with pytest.raises(ProtocolViolation, match=words):
            holders("9").answer(survey, 1, no_coins)


@pytest.mark.parametrize(
    ("start", "offsets", "friends"),
    [
        (0, [0, 2], [1, 1]),
        (0, [0, 2], [2, 1]),
        (0, [0, 1], [0]),
        (3, [0, 1, 2], [4, 4]),
        (0, [0, 1], [N]),
        (0, [0, 1], [-1]),
        (0, [0, 2], [1]),
        (0, [1, 1], [1]),
        (N, [0, 0], []),
        (-1, [0, 0], []),
        (0, [0, 2, 1, 2], [1, 2]),
    ],
)
def test_a_list_that_counts_somebody_twice_or_its_own_holder_is_refused(
    start: int, offsets: list[int], friends: list[int]
) -> None:
    with pytest.raises(BadInput):
        holders(lists=FriendLists(start, np.array(offsets), np.array(friends, np.int32)))


@pytest.mark.parametrize(
    ("start", "offsets", "friends"),
    [(0, [0], []), (5, [0, 0, 0], []), (0, [0, 1, 2], [7, 3]), (2, [0, 0, 2, 2, 3, 3], [0, 9, 1]), (N, [0], [])],
)
def test_lists_that_begin_anew_are_welcome(start: int, offsets: list[int], friends: list[int]) -> None:
    lists = FriendLists(start, np.array(offsets), np.array(friends, np.int32))
    report = holders(lists=lists).answer(degree_survey(VIEW, 1), 1, secure_coins())
    assert (report.start, report.count) == (start, len(offsets) - 1)


@pytest.mark.parametrize(
    "policy",
    [
        VisibilityPolicy("0.3", "0.3", "0.4"),
        VisibilityPolicy.nothing(),
        VisibilityPolicy.public_profiles("0.3", "both"),
        VisibilityPolicy(1),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [7, 1000])
def test_friends_are_counted_by_class(policy: VisibilityPolicy, size: int) -> None:
    world = VisibilityAwareGraph(WORLD.graph, policy)
    survey = degree_survey(world.public, 1)
    counts = [class_counts(view, world.public, survey.classes) for view in cut_lists(world.graph, size)]
    expected = np.zeros((len(survey.classes), N), int)
    for u, v in world.graph.edges:
        kind = world.visibility(int(u), int(v))
        if kind is not Visibility.PUBLIC:
            expected[survey.classes.index(kind), [u, v]] += 1
    assert (np.concatenate(counts, axis=1) == expected).all()


def test_those_who_are_absent_say_nothing() -> None:
    present = np.arange(N) % 3 > 0
    report = holders().answer(degree_survey(VIEW, 1), 1, secure_coins(), present)
    assert (report.answered == present).all()
    assert not report.values[:, ~present].any()


def test_noise_is_the_same_whatever_the_list() -> None:
    """With the same coins, what is added to a list's length does not depend on the list."""
    survey = degree_survey(VIEW, 1)
    empty = FriendLists(0, np.zeros(N + 1, np.int64), np.empty(0, np.int32))
    said = [holders(lists=x).answer(survey, 1, keyed_coins(seeded_key(3))).values for x in (LISTS, empty)]
    assert (said[0] - said[1] == class_counts(LISTS, VIEW, survey.classes)).all()
    assert said[1].any()


def test_length_does_not_depend_on_the_lists() -> None:
    survey = degree_survey(VIEW, 1)
    empty = FriendLists(0, np.zeros(N + 1, np.int64), np.empty(0, np.int32))
    assert len({len(encode(holders(lists=x).answer(survey, 1, secure_coins()))) for x in (LISTS, empty)}) == 1


class Fixed:
    """A mechanism whose noise is given."""

    def __init__(self, *noise: int) -> None:
        self.noise = np.array(noise, dtype=np.int64)

    def sample_many(self, count: int, coins: Any) -> np.ndarray:
        assert count == self.noise.size
        return self.noise


@pytest.mark.parametrize("degree", [0, 1, 2**32 - 1])
def test_sums_beyond_the_largest_number_look_the_same_for_every_degree(degree: int) -> None:
    """[DEGREE.1]: the sampler cuts off at the ends of 64 bits, and what is sent must not tell where."""
    ends = 2**63 - 1
    found = randomize(np.full(4, degree), Fixed(ends, -ends, LARGEST, -LARGEST - 2**32), no_coins)  # type: ignore[arg-type]
    assert found.tolist() == [LARGEST, -LARGEST, LARGEST, -LARGEST]


def test_private_lists_do_not_print_themselves() -> None:
    assert repr(LISTS) == "FriendLists(start=0)"
    assert LISTS.count == N
