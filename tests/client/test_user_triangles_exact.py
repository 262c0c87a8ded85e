"""The whole protocol of USER triangles, every transcript walked: no edge loses more than promised.  [TRIANGLE.1-2]

The real clients answer, hear the transcript and sum; only their two second noises are taken out, and put back as the
exact laws that the samplers follow (``test_power_noise.py`` and ``test_exact_sampling.py`` prove that of them). A
transcript is *every* pattern of answers of every set of users who answered, whoever wrote it. Given the transcript, the
two numbers of a user are independent, so the worst loss over all their values is the sum of the worst losses of both.

Laws are walked over a window. Beyond it both densities are powers of |y| plus a constant, so their ratio runs
monotonically from the window's end to its limit at infinity, which is taken in too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.client import user_triangles
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import keyed_coins, seeded_key
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.row_report import decode_rows, encode_rows
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Pattern = tuple[Visibility, ...]
Friends = tuple[int, ...]
World = tuple[int, ...]
Numbers = tuple[int, int, float]
"""What a user's second report is made of: its reach in steps, its sum in units, and the bound of the sum's noise."""
Second = Callable[["Stage", int, Friends, FirstRound], Numbers]
WINDOW = 600
# With much for the sum and a scale that may move fast, small graphs come close to using up the promise.
SPENDING = {"first": "2", "reach": "1", "total": "9/2", "share": "1/3", "fineness": 5}
USUAL = {"first": "58/100", "reach": "1/40", "total": "79/200", "share": "1/10", "fineness": 0}


class SilentPower(SmoothPower):
    """Power noise that is taken out: it notes the bounds and adds nothing."""

    def sample_each(self, bounds: np.ndarray, coins: object) -> np.ndarray:
        self.__dict__["bounds"] = bounds
        return np.zeros(bounds.size, np.int64)


class SilentLaplace(DiscreteLaplace):
    def sample_many(self, count: int, coins: object) -> np.ndarray:
        return np.zeros(count, np.int64)


@dataclass
class Stage:
    """A pattern of classes on n users, which public positions hold an edge, and a survey of it."""

    pattern: Pattern
    n: int
    plan: dict[str, object]
    public_bit: int = 1
    guard: tuple[str, str] = ("2", "1")
    dropout: bool = False

    def __post_init__(self) -> None:
        self.positions = list(combinations(range(self.n), 2))
        at = {kind: [p for p, c in zip(self.positions, self.pattern, strict=True) if c is kind] for kind in Visibility}
        policy = VisibilityPolicy.from_positions(at[PUBLIC], at[FRIEND_VISIBLE]).guarded(*self.guard)
        edges = np.array(at[PUBLIC] if self.public_bit else [], np.int32).reshape(-1, 2)
        self.view = PublicView(range(self.n), policy, edges)
        first, reach, total, share = (Fraction(str(self.plan[name])) for name in ("first", "reach", "total", "share"))
        answers = PositionSurvey(self.view.roster_digest, self.n, policy.digest, first, multipliers=policy.multipliers)
        statistic = str(self.plan.get("statistic", "triangles"))
        self.survey = TriangleSurvey(answers, reach, total, share, int(str(self.plan["fineness"])), statistic)

    @cached_property
    def silent(self) -> TriangleSurvey:
        """The same survey without its second noises."""
        survey = replace(self.survey)
        survey.__dict__["total_noise"] = SilentPower(self.survey.total_noise.epsilon, self.survey.share)
        survey.__dict__["reach_noise"] = SilentLaplace(self.survey.reach_noise.epsilon)
        return survey

    def lists(self, user: int) -> Iterator[Friends]:
        """Every list that the user may have, friends after it alone: the public ones are what they are."""
        mine = [(x, kind) for (u, x), kind in zip(self.positions, self.pattern, strict=True) if u == user]
        for bits in product(*((self.public_bit,) if kind is PUBLIC else (0, 1) for _, kind in mine)):
            yield tuple(x for (x, _), bit in zip(mine, bits, strict=True) if bit)

    def transcripts(self, user: int) -> Iterator[tuple[World, FirstRound]]:
        """Every transcript that has this user's answers, with the answers of all the others, or of any of them."""
        asked = np.flatnonzero(holders(self.view))
        for others in product((False, True) if self.dropout else (True,), repeat=len(asked) - 1):
            heard = {user, *(int(u) for u, here in zip(asked[asked != user], others, strict=True) if here)}
            answers = [
                (0, 1) if kind is not PUBLIC and u in heard else (None,)
                for (u, _), kind in zip(self.positions, self.pattern, strict=True)
            ]
            for bits in product(*answers):
                yield bits, self.first_round(bits)

    @cache  # noqa: B019 - a stage lives as long as its test
    def first_round(self, bits: tuple[int | None, ...]) -> FirstRound:
        answered, ones = (np.packbits([test(bit) for bit in bits], bitorder="little") for test in (is_bit, is_one))
        return FirstRound(self.silent, self.view, Transcript(self.survey.first.identity, answered, ones))

    def __hash__(self) -> int:
        return id(self)


def is_bit(bit: int | None) -> bool:
    return bit is not None


def is_one(bit: int | None) -> bool:
    return bit == 1


def client(stage: Stage, user: int, friends: Friends) -> RowHolders:
    purse = Purse({kind: stage.survey.multipliers.of(kind) * stage.survey.epsilon for kind in NON_PUBLIC})
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    return RowHolders(held, stage.view, purse)


def real_client(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """Both rounds of the real client, through the wire format; what it sends is what its noise is added to."""
    users, coins = client(stage, user, friends), keyed_coins(seeded_key(1))
    users.answer(stage.silent, coins)
    report = decode_rows(encode_rows(users.total(stage.silent, first, coins)))
    assert report.answered.tolist() == [True]
    return int(report.reaches[0]), int(report.totals[0]), noted_bound(stage)


def noted_bound(stage: Stage) -> float:
    return float(stage.silent.total_noise.__dict__["bounds"][0])


@cache
def log_masses(noise: SmoothPower, bound: float) -> np.ndarray:
    """The logarithms of the exact probabilities of 0, ±1, … ±WINDOW; the law's own, not the sampler's."""
    law = noise.law(Decimal(bound))
    cumulative = [law.cdf(-k, 40) for k in range(WINDOW + 2)]
    return np.log([float(a - b) for a, b in pairwise(cumulative)])


def losses_of_sums(noise: SmoothPower, one: Numbers, other: Numbers) -> tuple[float, float]:
    """The largest log-ratio of the two laws of the noisy sum, and of the other to the one."""
    (_, centre, bound), (_, centre_too, bound_too) = one, other
    if bound == 0 or bound_too == 0:
        worst = 0.0 if (centre, bound) == (centre_too, bound_too) else math.inf
        return worst, worst
    shift = centre_too - centre
    assert abs(shift) + max(bound, bound_too) / float(noise.epsilon) < WINDOW // 2, "the window ends inside a core"
    outputs = np.arange(-WINDOW // 2, WINDOW // 2 + 1)
    ratios = log_masses(noise, bound)[np.abs(outputs)] - log_masses(noise, bound_too)[np.abs(outputs - shift)]
    at_infinity = float(noise.alpha) * math.log(bound / bound_too)
    return max(float(ratios.max()), at_infinity), max(float(-ratios.min()), -at_infinity)


def losses_of_reaches(noise: DiscreteLaplace, one: Numbers, other: Numbers) -> tuple[float, float]:
    """The same for the noisy reach; beyond both numbers the ratio is constant."""
    outputs = range(min(one[0], other[0]) - 1, max(one[0], other[0]) + 2)
    ratios = [math.log(noise.probability(y - one[0]) / noise.probability(y - other[0])) for y in outputs]
    return max(ratios), -min(ratios)


def largest_losses(stage: Stage, second: Second = real_client) -> dict[Visibility, float]:
    """The largest loss over all transcripts, all lists and all neighbours of them, by the class of what differs."""
    worst: dict[Visibility, float] = {}
    for user in np.flatnonzero(holders(stage.view)).tolist():
        for answers, first in stage.transcripts(user):
            numbers = {friends: second(stage, user, friends, first) for friends in stage.lists(user)}
            for (u, x), kind, said in zip(stage.positions, stage.pattern, answers, strict=True):
                if u != user or kind is PUBLIC:
                    continue
                flip = stage.survey.first.mechanism(kind, 1).flip
                told = math.log((1 - flip) / flip) * (1 if said else -1)
                for friends in numbers:
                    if x not in friends:
                        one, other = numbers[tuple(sorted((*friends, x)))], numbers[friends]
                        sums = losses_of_sums(stage.survey.total_noise, one, other)
                        reaches = losses_of_reaches(stage.survey.reach_noise, one, other)
                        loss = max(told + sums[0] + reaches[0], -told + sums[1] + reaches[1])
                        worst[kind] = max(worst.get(kind, 0.0), loss)
    return worst


def claim(stage: Stage, kind: Visibility) -> float:
    return float(stage.survey.multipliers.of(kind) * stage.survey.epsilon)


def check(stage: Stage) -> dict[Visibility, float]:
    """The losses as parts of the claim, none above 1."""
    losses = largest_losses(stage)
    assert losses.keys() == set(stage.pattern) - {PUBLIC}
    parts = {kind: loss / claim(stage, kind) for kind, loss in losses.items()}
    assert all(part <= 1 + 1e-12 for part in parts.values())
    return parts


@pytest.mark.parametrize("plan", [SPENDING, USUAL], ids=["spending", "usual"])
def test_three_users_every_graph_every_pattern(plan: dict[str, object]) -> None:
    """With whoever answered in round 1, and with public positions that hold edges and that do not."""
    patterns = list(product(Visibility, repeat=3))
    assert len(patterns) == 27
    found = [check(Stage(pattern, 3, plan, bit, dropout=True)) for pattern in patterns for bit in (0, 1)]
    for kind in NON_PUBLIC:
        assert max(parts.get(kind, 0.0) for parts in found) > 0.5


MIXED = (PRIVATE, FRIEND_VISIBLE, PRIVATE, FRIEND_VISIBLE, PRIVATE, PRIVATE)
FOUR = {
    "all private": (PRIVATE,) * 6,
    "two classes": MIXED,
    "three classes": (PUBLIC, PRIVATE, FRIEND_VISIBLE, PRIVATE, PUBLIC, PRIVATE),
    "a public row": (PUBLIC, PUBLIC, PUBLIC, PRIVATE, PRIVATE, FRIEND_VISIBLE),
    "public among private friends": (PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PUBLIC, PUBLIC),
}


@pytest.mark.parametrize("name", FOUR)
def test_four_users_every_graph(name: str) -> None:
    parts = check(Stage(FOUR[name], 4, SPENDING))
    assert parts[PRIVATE] > 0.7


def test_four_users_of_whom_any_may_stay_away() -> None:
    parts = check(Stage(FOUR["all private"], 4, USUAL, dropout=True))
    assert parts[PRIVATE] > 0.95, "the promise is not spent: the sums could be more accurate"


@pytest.mark.parametrize(
    "pattern",
    [(PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PUBLIC, PUBLIC), (PRIVATE, PRIVATE, PRIVATE, PUBLIC, PUBLIC, PRIVATE)],
    ids=["one row", "two rows"],
)
def test_the_same_client_sums_over_4_cycles(pattern: Pattern) -> None:
    """Its sum depends on its own first answers too, which are part of the transcript."""
    parts = check(Stage(pattern, 4, {**SPENDING, "fineness": 3, "statistic": "four_cycles"}))
    assert parts[PRIVATE] > 0.5


@pytest.mark.parametrize("guard", [("3", "1"), ("5/2", "1/2"), ("1", "1")], ids=" and ".join)
def test_policies_that_guard_otherwise(guard: tuple[str, str]) -> None:
    parts = check(Stage(MIXED, 4, SPENDING, guard=guard))
    assert parts[PRIVATE] > 0.7
    assert parts[FRIEND_VISIBLE] > 0.4


def caught(stage: Stage, second: Second, kind: Visibility = PRIVATE) -> float:
    """By how much the twin's loss exceeds the claim, which the real client keeps on the same stage."""
    check(stage)
    return largest_losses(stage, second)[kind] - claim(stage, kind)


THREE = (PRIVATE,) * 3


def test_the_twin_that_scales_by_its_own_sensitivity_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest pull of its own list, without smoothing: an empty list shows by the lack of noise."""
    stage = Stage(THREE, 3, SPENDING)
    check(stage)
    monkeypatch.setattr(user_triangles, "smooth_bound", lambda reach, largest, beta: reach)
    assert largest_losses(stage)[PRIVATE] > claim(stage, PRIVATE) + 1


def test_the_twin_that_scales_by_its_own_degree_is_caught() -> None:
    """As in the source document: enough noise for its own sum, and a scale that tells how long the list is."""

    def second(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
        reach, total, _ = real_client(stage, user, friends, first)
        return reach, total, first.largest * 2.0**stage.survey.fineness * max(1, len(friends)) + 2

    assert caught(Stage(THREE, 3, {**SPENDING, "share": "1/12"}), second) > 1


def test_the_twin_in_which_a_public_user_answers_exactly_is_caught() -> None:
    """User 0 has a public profile and adds no noise, but part of its row is not public."""

    def second(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
        reach, total, bound = real_client(stage, user, friends, first)
        return (reach, total, 0.0) if user == 0 else (reach, total, bound)

    stage = Stage((FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE), 3, SPENDING)
    assert caught(stage, second, FRIEND_VISIBLE) == math.inf
    assert largest_losses(stage, second)[PRIVATE] <= claim(stage, PRIVATE)


def test_the_twin_whose_reach_forgets_friend_visible_positions_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage((FRIEND_VISIBLE,) * 6, 4, {**SPENDING, "reach": "1/20", "total": "4"})
    check(stage)
    honest = user_triangles._weights
    monkeypatch.setattr(user_triangles, "_weights", lambda *given: honest(*given[:-1], 0.0))
    assert largest_losses(stage)[FRIEND_VISIBLE] > claim(stage, FRIEND_VISIBLE) + 0.1


def test_the_twin_in_which_both_ends_answer_at_full_price_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every user answers for, and sums over, its whole list: each edge is in two reports of each round."""
    stage = Stage(THREE, 3, SPENDING)
    check(stage)
    monkeypatch.setattr(user_triangles, "_weights", lambda public, start, count, ratio: np.ones((count, public.n)))

    def whole_list(user: int, friends: Friends, first: FirstRound) -> Numbers:
        users = client(stage, user, ())
        users._offsets, users._members = np.array([0, len(friends)]), np.array(friends, np.int32)
        measured = users._measure(stage.silent, first)
        coins = keyed_coins(seeded_key(1))
        report = user_triangles._noised(stage.silent, first, user, np.array([True]), *measured, coins)
        return int(report.reaches[0]), int(report.totals[0]), noted_bound(stage)

    def one_end(user: int, friends: Friends, extra: int, first: FirstRound) -> float:
        one, other = (whole_list(user, some, first) for some in (tuple(sorted((*friends, extra))), friends))
        sums = losses_of_sums(stage.survey.total_noise, one, other)
        reaches = losses_of_reaches(stage.survey.reach_noise, one, other)
        return told + max(sums[0] + reaches[0], sums[1] + reaches[1])

    flip = stage.survey.first.mechanism(PRIVATE, 1).flip
    told = math.log((1 - flip) / flip)
    worst = max(one_end(0, (2,), 1, first) + one_end(1, (2,), 0, first) for _, first in stage.transcripts(0))
    assert worst > 1.2 * claim(stage, PRIVATE)
