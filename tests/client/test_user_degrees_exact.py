"""The whole protocol of degrees, every noise in a window walked: no transcript tells more than promised.  [DEGREE.2]

The real client answers with scripted words. For each integer k in the window the script has a word that the exact
sampler turns into k, and carries the probability of k; ``test_exact_sampling.py`` proves that of the sampler. What lies
outside the window has a known mass, and no more than that may be seen in one of two neighbouring worlds only.

Users are separate clients with separate coins, so a transcript's probability is a product over users, and the loss of
an edge is the sum of what the reports of all users lose.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_degrees import ListHolders, class_counts
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.public.degree_report import DegreeReport, decode, encode
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Pattern = tuple[Visibility, ...]
Friends = tuple[int, ...]
World = tuple[int, ...]
Law = dict[tuple[int, ...], float]
Speak = Callable[["Stage", int, Friends], Law]


class Script:
    """Coins that were written down beforehand; asking for more is an error."""

    def __init__(self, words: list[int]) -> None:
        self.left = b"".join(word.to_bytes(8, "big") for word in words)

    def __call__(self, count: int) -> bytes:
        assert count <= len(self.left), "more coins were drawn than were written down"
        drawn, self.left = self.left[:count], self.left[count:]
        return drawn


@cache
def word_for(mechanism: DiscreteLaplace, k: int) -> int:
    """The middle of the words that mean k."""
    return int((mechanism.cdf(k - 1) + mechanism.cdf(k)) / 2 * Decimal(2**64))


@dataclass
class Stage:
    """A pattern of classes on n users, a survey of it, and how far the noise is walked."""

    pattern: Pattern
    n: int
    epsilon: str
    window: int

    def __post_init__(self) -> None:
        self.positions = list(combinations(range(self.n), 2))
        at = {kind: [p for p, c in zip(self.positions, self.pattern, strict=True) if c is kind] for kind in Visibility}
        policy = VisibilityPolicy.from_positions(at[PUBLIC], at[FRIEND_VISIBLE])
        # Every public position holds an edge, which a client must leave out of what it counts.
        self.view = PublicView(range(self.n), policy, np.array(at[PUBLIC], np.int32).reshape(-1, 2))
        self.survey = degree_survey(self.view, self.epsilon)

    def worlds(self) -> Iterator[World]:
        yield from product(*((1,) if kind is PUBLIC else (0, 1) for kind in self.pattern))

    def friends(self, world: World, user: int) -> Friends:
        edges = [p for p, bit in zip(self.positions, world, strict=True) if bit]
        return tuple(sorted({*sum((e for e in edges if user in e), ())} - {user}))

    def outside(self) -> float:
        """The chance that a noise is at the window's end or beyond."""
        reach = (self.survey.mechanism(kind) for kind in self.survey.classes)
        return sum(2 * float(mechanism.cdf(-self.window)) for mechanism in reach)


def purse(stage: Stage) -> Purse:
    return Purse(dict.fromkeys(NON_PUBLIC, 2 * stage.survey.epsilon))


def real_client(stage: Stage, user: int, friends: Friends) -> Law:
    """What the real client says, through the wire format; the survey's own mechanisms are behind it."""
    noises = [stage.survey.mechanism(kind) for kind in stage.survey.classes]
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))

    def answer(coins: Script) -> DegreeReport:
        return decode(encode(ListHolders(held, stage.view, purse(stage)).degrees(stage.survey, coins)))

    return walk(noises, stage.window, answer)


def walk(noises: list[DiscreteLaplace], window: int, answer: Callable[[Script], DegreeReport]) -> Law:
    law: Law = defaultdict(float)
    for drawn in product(range(-window, window + 1), repeat=len(noises)):
        coins = Script([word_for(noise, k) for noise, k in zip(noises, drawn, strict=True)])
        report = answer(coins)
        assert not coins.left
        chance = math.prod(noise.probability(k) for noise, k in zip(noises, drawn, strict=True))
        law[report.start, report.count, *report.who_answered.tolist(), *report.values.ravel().tolist()] += chance
    return dict(law)


def loss_between(one: Law, other: Law, outside: float) -> float:
    """The largest log-ratio; infinite where one world has more that the other cannot say than lies outside."""
    for law, twin in ((one, other), (other, one)):
        if sum(chance for said, chance in law.items() if said not in twin) > outside * (1 + 1e-9):
            return math.inf
    return max(abs(math.log(one[said] / other[said])) for said in one.keys() & other.keys())


def largest_losses(stage: Stage, speak: Speak = real_client) -> dict[Visibility, float]:
    """The largest loss over all neighbouring worlds, by the class of the position that differs."""
    laws: dict[tuple[int, Friends], Law] = {}

    def law(user: int, friends: Friends) -> Law:
        if (user, friends) not in laws:
            laws[user, friends] = speak(stage, user, friends)
        return laws[user, friends]

    losses: dict[Visibility, float] = {}
    outside = stage.outside()
    for world in stage.worlds():
        for place, kind in enumerate(stage.pattern):
            if kind is PUBLIC or world[place]:
                continue
            other = (*world[:place], 1, *world[place + 1 :])
            lists = [(user, stage.friends(world, user), stage.friends(other, user)) for user in range(stage.n)]
            moved = [(user, before, after) for user, before, after in lists if before != after]
            assert [user for user, _, _ in moved] == list(stage.positions[place])
            each = [loss_between(law(user, before), law(user, after), outside) for user, before, after in moved]
            losses[kind] = max(losses.get(kind, 0.0), sum(each))
    return losses


def check(stage: Stage, speak: Speak = real_client) -> None:
    losses = largest_losses(stage, speak)
    assert losses.keys() == set(stage.pattern) - {PUBLIC}
    for kind, loss in losses.items():
        claim = float(stage.survey.price(kind).epsilon)
        assert claim == {PRIVATE: 1, FRIEND_VISIBLE: 2}[kind] * float(stage.survey.epsilon)
        assert loss <= claim * (1 + 1e-12)
        assert loss >= claim * 0.999, "the promise is not spent: the answers could be more accurate"


def up_to_renaming(n: int) -> list[Pattern]:
    """Class patterns of n users, one of each set that differ by the names of the users only."""
    positions = list(combinations(range(n), 2))
    chosen: dict[Pattern, Pattern] = {}
    for pattern in product(Visibility, repeat=len(positions)):
        at = dict(zip(positions, pattern, strict=True))
        names = permutations(range(n))
        smallest = min(tuple(at[min(p[u], p[v]), max(p[u], p[v])] for u, v in positions) for p in names)
        chosen.setdefault(smallest, pattern)
    return list(chosen.values())


def test_three_users_every_graph_every_pattern() -> None:
    patterns = list(product(Visibility, repeat=3))
    assert len(patterns) == 27
    for pattern in patterns:
        stage = Stage(pattern, 3, "4", 3)
        assert stage.outside() < 0.005
        check(stage)


def test_four_users_every_graph_and_every_pattern_up_to_names() -> None:
    """A user's law is kept for its row of classes and its list; three users, above, do without that shortcut."""
    patterns, laws = up_to_renaming(4), {}
    assert len(patterns) == 66

    def speak(stage: Stage, user: int, friends: Friends) -> Law:
        row = [kind for place, kind in zip(stage.positions, stage.pattern, strict=True) if user in place]
        key = (user, stage.survey.classes, *row, friends)
        if key not in laws:
            laws[key] = real_client(stage, user, friends)
        return laws[key]

    for pattern in patterns:
        check(Stage(pattern, 4, "6", 1), speak)


def test_a_small_epsilon_with_a_wide_window() -> None:
    stage = Stage((PRIVATE,) * 3, 3, "1", 40)
    assert stage.outside() < 1e-8
    check(stage)


def test_one_call_for_all_says_what_separate_users_say() -> None:
    stage, window = Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, "2", 1), (-1, 0, 1)
    world = (1, 1, 0)
    lists = [stage.friends(world, user) for user in range(3)]
    offsets = np.concatenate([[0], np.cumsum([len(friends) for friends in lists])])
    together = FriendLists(0, offsets, np.array(sum(lists, ()), np.int32))
    noises = [stage.survey.mechanism(kind) for kind in stage.survey.classes]
    for drawn in product(window, repeat=6):
        words = [word_for(noises[i // 3], k) for i, k in enumerate(drawn)]
        values = ListHolders(together, stage.view, purse(stage)).degrees(stage.survey, Script(words)).values
        counts = class_counts(together, stage.view, stage.survey.classes)
        assert (values - counts).ravel().tolist() == list(drawn)
    apart = [
        class_counts(FriendLists(u, np.array([0, len(f)]), np.array(f, np.int32)), stage.view, stage.survey.classes)
        for u, f in enumerate(lists)
    ]
    assert (np.concatenate(apart, axis=1) == class_counts(together, stage.view, stage.survey.classes)).all()


def test_the_twin_in_which_both_ends_spend_all_of_epsilon_is_caught() -> None:
    class FullPrice(DegreeSurvey):
        def mechanism(self, kind: Visibility) -> DiscreteLaplace:
            return DiscreteLaplace(self.multipliers.of(kind) * self.epsilon)

    stage = Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, "2", 3)
    fields = {name: getattr(stage.survey, name) for name in stage.survey.__dataclass_fields__}
    stage.survey = FullPrice(**fields)
    losses = largest_losses(stage)
    assert losses[PRIVATE] == pytest.approx(2 * 2)
    assert losses[FRIEND_VISIBLE] == pytest.approx(2 * 4)
    assert losses[PRIVATE] > stage.survey.price(PRIVATE).epsilon


def test_the_twin_that_scales_noise_by_its_own_degree_is_caught() -> None:
    """As in the source document: the scale itself tells the degree."""

    def speak(stage: Stage, user: int, friends: Friends) -> Law:
        price = stage.survey.list_price(PRIVATE).epsilon
        noise = DiscreteLaplace(price, max(1, len(friends)))
        reach = range(-200, 201)
        return {(user, len(friends) + k): noise.probability(k) for k in reach}

    stage = Stage((PRIVATE,) * 3, 3, "1", 40)
    assert largest_losses(stage, speak)[PRIVATE] > 10 * float(stage.survey.epsilon)


def test_the_twin_in_which_a_public_user_answers_exactly_is_caught() -> None:
    """User 0 has a public profile, and so answers without noise about friends whose positions are not public."""

    def speak(stage: Stage, user: int, friends: Friends) -> Law:
        return {(0, 1, True, len(friends)): 1.0} if user == 0 else real_client(stage, user, friends)

    stage = Stage((FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE), 3, "4", 3)
    losses = largest_losses(stage, speak)
    assert losses[FRIEND_VISIBLE] == math.inf
    assert losses[PRIVATE] <= 4 * (1 + 1e-12)


def test_the_twin_that_answers_again_with_new_coins_is_caught() -> None:
    def speak(stage: Stage, user: int, friends: Friends) -> Law:
        once = real_client(stage, user, friends)
        return {(*a, *b): once[a] * once[b] for a, b in product(once, repeat=2)}

    stage = Stage((PRIVATE,) * 3, 3, "4", 3)
    assert largest_losses(stage, speak)[PRIVATE] >= 2 * float(stage.survey.epsilon) * 0.999


def test_another_multiplier_is_another_claim_and_kept() -> None:
    stage = Stage((PRIVATE, FRIEND_VISIBLE, FRIEND_VISIBLE), 3, "2", 3)
    policy = stage.view.policy.guarded(friend_visible="3", private="1/2")
    stage.view = PublicView(range(3), policy, stage.view.edges)
    stage.survey = degree_survey(stage.view, "2")
    losses = largest_losses(stage)
    assert losses == {PRIVATE: pytest.approx(1), FRIEND_VISIBLE: pytest.approx(6)}
    assert stage.survey.price(FRIEND_VISIBLE).epsilon == Fraction(6)
