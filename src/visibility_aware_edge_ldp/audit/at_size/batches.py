"""Where code takes other branches for many users: the same numbers, one by one, by plain kernels, and by the law.

Beyond 2^19 positions coins are drawn in parts, beyond 1 MiB a keystream is, beyond 500 draws a table serves, beyond
512 users rows are worked through in blocks and panels, and large arrays go to compiled kernels.  [LARGE.5]
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations

import numpy as np

from visibility_aware_edge_ldp.audit.at_size import bits, lists, rows, rows_worlds
from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import WORDS, no_noise, words_then
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss, exact
from visibility_aware_edge_ldp.client.hubs import Territory
from visibility_aware_edge_ldp.client.neighbourhood import owned_triangles
from visibility_aware_edge_ldp.client.star_frontier import star_frontier
from visibility_aware_edge_ldp.client.triangle_frontier import triangle_frontier
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, sample_each
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.hubs import hub_plan
from visibility_aware_edge_ldp.public.surveys.neighbourhood import CLIPPED, WEIGHTED, OwnerPlan
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

DIFFERENCES = "differences"
KERNELS = ("plain", "compiled")
_KERNEL = "VA_EDGE_LDP_KERNEL"
MIXED, NOTHING = VisibilityPolicy("0.1", "0.4", "0.5"), VisibilityPolicy.nothing()
Compared = Iterator[tuple[np.ndarray, np.ndarray]]
"""Pairs of arrays that must be the same."""
# At so many distances sensitivities are compared, and where every position is gone through.
_MANY, _FEW = 40, 12


@contextmanager
def running(name: str) -> Iterator[None]:
    """Let these kernels run at every call; compiled ones only where there are any."""
    before = os.environ.get(_KERNEL)
    os.environ[_KERNEL] = name
    backend.name.cache_clear()
    try:
        yield
    finally:
        del os.environ[_KERNEL]
        if before is not None:
            os.environ[_KERNEL] = before
        backend.name.cache_clear()


def in_both(work: Callable[[], Sequence[np.ndarray]]) -> Compared:
    """What plain kernels give beside what compiled ones give."""
    found = []
    for name in KERNELS:
        with running(name):
            found.append(work())
    yield from zip(*found, strict=True)


def flips_in_parts() -> Compared:
    """More answers than are drawn at once, by both kernels, beside what their words say."""
    mechanism = RandomizedResponse(Fraction(1))
    for count in ((1 << 19) - 3, (1 << 19) + 8, (1 << 20) + 13):
        wanted, ties = (large.coin_bits(count, each) for each in ("flips", "ties"))
        for name in KERNELS:
            with running(name):
                coins = large.Stream(large.flip_octets(large.threshold_of(Fraction(1)), wanted, ties))
                yield mechanism.flips(count, coins), wanted
                coins.refuse_rest()


def keystream_in_parts() -> Compared:
    """More bytes than are enciphered at once, beside the same in small draws."""
    whole, parts = (keyed_random_bytes(bytes(range(32))) for _ in range(2))
    for count in ((1 << 20) - 1, (1 << 20) + 1, (3 << 20) + 17):
        small = b"".join(parts(min(4093, count - at)) for at in range(0, count, 4093))
        yield np.frombuffer(whole(count), np.uint8), np.frombuffer(small, np.uint8)


def noises_one_by_one() -> Compared:
    """Draws from tables and by doubles, beside the same words placed by digits: the farthest words, and others."""
    ends = [end + 1 - (1 << k) if end else (1 << k) - 1 for k in range(64) for end in (0, WORDS - 1)]
    words = [*ends, *np.frombuffer(large.random_bytes_of("words")(8 * 472), ">u8").tolist()]

    def digits(laws: Sequence[DiscreteLaplace | large.Scaled]) -> np.ndarray:
        pairs = zip(laws, words[: len(laws)], strict=True)
        return np.array([each.law.place(word, no_noise) for each, word in pairs])

    def coins(count: int) -> RandomBytes:
        return words_then(words[:count], no_noise)

    for epsilon in (Fraction(1), Fraction(1, 50)):
        noise = DiscreteLaplace(epsilon)
        yield noise.sample_many(len(words), coins(len(words))), digits([noise] * len(words))
    scales = np.unique(np.geomspace(1, 1e7, 250).astype(np.int64))
    one = Fraction(1)
    for order in (scales, scales[::-1]):
        laws = [DiscreteLaplace(one, int(scale)) for scale in order]
        yield sample_each(one, order, coins(order.size)), digits(laws)
        power = SmoothPower(one)
        each = [large.Scaled(power, int(scale)) for scale in order]
        yield power.sample_each(order.astype(np.float64), coins(order.size)), digits(each)


def rows_in_blocks() -> Compared:
    """Second numbers of more users than a block holds: all at once by both kernels, and some users alone."""
    for statistic, n, policy in (
        ("triangles", 1040, MIXED),
        ("triangles", 600, NOTHING),
        ("four_cycles", 530, NOTHING),
    ):
        setting = rows.Setting(n, statistic, policy)
        nearly = rows_worlds.everybody(setting, True)
        nearly[-1] = False
        for ones in (rows_worlds.some(setting, 0.5, n), rows_worlds.everybody(setting, True), nearly)[
            : 3 if n == 600 else 1
        ]:
            friends = rows_worlds.crowd(setting, 0.05, n)

            def all_at_once(
                setting: rows.Setting = setting, ones: large.Bits = ones, friends: large.Bits = friends
            ) -> list[np.ndarray]:
                setting.survey.total_noise.bounds.clear()
                first = setting.first(ones)
                sent = rows.sender(setting, friends, first, 0, setting.n)(no_noise)
                return [sent, np.array(setting.survey.total_noise.bounds, np.float64)]

            yield from in_both(all_at_once)
            sent, bounds = all_at_once()
            for user in (0, 1, 127, 128, 511, 512, n - 2):
                setting.survey.total_noise.bounds.clear()
                own = rows.sender(setting, friends, setting.first(ones), user, 1)(no_noise)
                bound = np.array(setting.survey.total_noise.bounds, np.float64)
                yield np.array([*own, *bound]), np.array([sent[user], sent[n + user], bounds[user]])


def triangles_by_both_kernels() -> Compared:
    """Owned triangles and territories of many users, by plain and by compiled kernels."""
    coins = large.Dice(5)
    n = 1030
    upper = np.triu(coins.shares(n, n) < 0.05, 1)
    upper[0, 1:] = True
    edges = np.argwhere(upper).astype(np.int32)
    view = PublicView(range(n), NOTHING, np.zeros((0, 2), np.int32))
    for guard in (WEIGHTED, CLIPPED):
        plan = OwnerPlan(guard, coins.whole(2, 80, n), np.ones(n, np.bool_))
        yield from in_both(lambda plan=plan: [owned_triangles(edges, view, plan)])  # type: ignore[misc]
    hub = VisibilityPolicy.from_profiles({0: "public"}, rule="any")
    public = PublicView(range(n), hub, edges[edges[:, 0] == 0])
    plan_of_hub = hub_plan(public, (0,))

    def counted() -> list[np.ndarray]:
        territory = Territory.of(edges, public, plan_of_hub, 0)
        return [np.array([territory.count("all")]), territory.changes("all")]

    yield from in_both(counted)


def frontiers_in_full() -> Compared:
    """What decides a centre's sensitivity, found with all positions looked at and with few."""
    coins = large.Dice(6)
    for n, share, policy in ((60, 0.2, NOTHING), (70, 0.2, MIXED), (90, 0.1, MIXED.guarded("3", "1"))):
        edges = np.argwhere(np.triu(coins.shares(n, n) < share, 1)).astype(np.int32)
        view = PublicView(range(n), policy, np.zeros((0, 2), np.int32))
        w = view.policy.multipliers.steps
        pruned, full = (triangle_frontier(n, edges, view.classes, w, 39, prune=each) for each in (True, False))
        yield best_of(pruned.points, w), best_of(full.points, w)


def stars_one_by_one() -> Compared:
    """What decides a centre's sensitivity to stars, beside every position, every kind of change and every split."""
    coins = large.Dice(7)
    for n, share, policy, k in (
        (9, 0.3, NOTHING, 2),
        (12, 0.4, MIXED, 3),
        (14, 0.2, MIXED.guarded("3", "1"), 2),
        (13, 0.6, MIXED.guarded("1", "1"), 3),
        (40, 0.1, MIXED, 2),
    ):
        friends = np.triu(coins.shares(n, n) < share, 1)
        edges = np.argwhere(friends).astype(np.int32)
        view = PublicView(range(n), policy, np.zeros((0, 2), np.int32))
        w, classes = view.policy.multipliers.steps, np.triu(np.asarray(view.classes.rows(0, n), np.int64), 1)
        found = star_frontier(n, edges, view.classes, k, w, _FEW - 1)
        yield best_of(found.points, w, _FEW), _plain_stars(friends | friends.T, classes + classes.T, k, w)


def _plain_stars(friends: large.Bits, classes: large.Ints, k: int, w: int) -> np.ndarray:
    """In parts of 1/w, at each distance: every position, its two ends grown by every pair of budgets.  [SENS.7]"""
    n, costs, best = len(friends), {Visibility.PRIVATE: 1, Visibility.FRIEND_VISIBLE: w}, np.zeros(_FEW)
    for u, v in combinations(range(n), 2):
        kind = Visibility(int(classes[u, v]))
        if kind is Visibility.PUBLIC:
            continue
        ends = []
        for one, other in ((u, v), (v, u)):
            free = [z for z in range(n) if z not in (one, other) and not friends[one, z]]
            prices = sorted(costs[Visibility(int(classes[one, z]))] for z in free if classes[one, z])
            degree = int(friends[one].sum()) - int(friends[one, other])
            bought = [sum(np.cumsum(prices) <= budget) for budget in range(_FEW)]
            ends.append([math.comb(degree + more, k - 1) for more in bought])
        for budget in range(_FEW):
            most = max(ends[0][part] + ends[1][budget - part] for part in range(budget + 1))
            best[budget] = max(best[budget], most * (w // costs[kind]))
    return best


def best_of(points: Sequence[object], w: int, distances: int = _MANY) -> np.ndarray:
    """The largest change in parts of 1/w, at each distance."""
    values = [np.asarray(point.changes(np.arange(distances)), np.float64) * (w // point.divisor) for point in points]  # type: ignore[attr-defined]
    return np.asarray(np.max(values, axis=0))


def audit_pairs(name: str, pairs: Callable[[], Compared], about: str) -> Finding:
    """How many numbers differ; none may."""
    differ = compared = 0
    for one, other in pairs():
        same = one.shape == other.shape
        differ += int((one != other).sum()) if same else max(one.size, other.size)
        compared += one.size
    return _finding(name, differ, compared, about)


def _finding(name: str, differ: int, compared: int, about: str) -> Finding:
    return Finding(name, "exact", (Loss(DIFFERENCES, 0.0, float(differ)),), compared, about)


def audit_answers(name: str, about: str) -> Finding:
    """More positions than are drawn at once, both rounds, by both kernels: every answer beside its word."""
    compared = 0
    for n, shares in ((1100, ("1/2", "1/2")), (1500, ("1",))):
        setting = bits.Setting(n, MIXED.guarded("3", "1"), shares=shares)
        for kernel in KERNELS:
            with running(kernel):
                bits.refuse_other_answers(
                    setting, bits.position_client, large.coin_bits(setting.view.positions, n), "some"
                )
            compared += setting.view.positions
    return _finding(name, 0, compared, about)


def audit_degrees(name: str, about: str) -> Finding:
    """Degrees of more users than a table needs, at the closest words."""
    setting = lists.Setting(520, MIXED)
    lists.heard_degrees(setting, setting.friends, large.CLOSEST)
    return _finding(name, 0, 2 * setting.n, about)


_PAIRS: dict[str, tuple[Callable[[], Compared], str]] = {
    "randomized response": (flips_in_parts, "2^19 and 2^20 answers in one call, both kernels, beside their words"),
    "keystream": (keystream_in_parts, "draws of 1 and 3 MiB beside small ones"),
    "integer noise": (noises_one_by_one, "600 draws from tables and by doubles, beside digits"),
    "user rows": (rows_in_blocks, "530 to 1,040 users in one call, alone, and by both kernels"),
    NEIGHBOURHOOD.name: (triangles_by_both_kernels, "owned triangles and a territory of 1,030 users, by both kernels"),
    CURATOR.name: (frontiers_in_full, "what decides sensitivity, with all positions looked at and with few"),
    f"{CURATOR.name} stars": (stars_one_by_one, "what decides it for stars, beside every position and split"),
}
AUDITS: tuple[Audit, ...] = (
    *(exact(f"{name}, many at once", audit_pairs, pairs, about) for name, (pairs, about) in _PAIRS.items()),
    exact("position, many at once", audit_answers, "604,450 and 1,124,250 positions, both kernels, beside their words"),
    exact("user degrees, many at once", audit_degrees, "520 users in one call, at the closest words"),
)
