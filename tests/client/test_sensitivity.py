"""Smooth sensitivity against its definition, its smoothness on random neighbours, and twins that must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import numpy.typing as npt
import pytest

from support.slow_star_frontier import slow_star_frontier
from visibility_aware_edge_ldp.audit.protocols.curator import existing_edges_only
from visibility_aware_edge_ldp.client.sensitivity import (
    Profile,
    Ramp,
    constant_sensitivity,
    star_profile,
    triangle_profile,
)
from visibility_aware_edge_ldp.client.star_frontier import StarEnd, StarPoint, star_frontier
from visibility_aware_edge_ldp.client.triangle_frontier import triangle_frontier
from visibility_aware_edge_ldp.compute import backend, ranked_graph
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic
from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import SameClass
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
BETAS = tuple(map(Decimal, ("0.01", "0.1", "0.5", "2")))
FAR = 1000
Counts = npt.NDArray[np.int64]
Make = Callable[..., Profile]


# --- the definition, on all graphs of n nodes at once: graph g has position p when bit p of g is 1 ---


def positions(n: int) -> list[tuple[int, int]]:
    return list(combinations(range(n), 2))


@cache
def triangles(n: int) -> Counts:
    place = {pair: p for p, pair in enumerate(positions(n))}
    graphs = np.arange(1 << len(place))
    count = np.zeros(len(graphs), dtype=np.int64)
    for u, v, x in combinations(range(n), 3):
        count += (graphs >> place[u, v]) & (graphs >> place[v, x]) & (graphs >> place[u, x]) & 1
    return count


@cache
def stars(n: int, k: int) -> Counts:
    graphs = np.arange(1 << comb(n, 2))
    degrees = np.zeros((n, len(graphs)), dtype=np.int64)
    for p, pair in enumerate(positions(n)):
        degrees[list(pair)] += (graphs >> p) & 1
    return np.array([comb(d, k) for d in range(n)])[degrees].sum(axis=0)


def costs_of(pattern: tuple[int, ...], w: int) -> list[int]:
    return [{PUBLIC: 0, FRIEND_VISIBLE: w, PRIVATE: 1}[Visibility(kind)] for kind in pattern]


def by_definition(count: Counts, pattern: tuple[int, ...], w: int, graph: int, furthest: int) -> list[Fraction]:
    """LS_0 … LS_furthest: for every graph its largest change, then the largest within each distance."""
    graphs = np.arange(len(count))
    change, distance = np.zeros(len(count), dtype=np.int64), np.zeros(len(count), dtype=np.int64)
    for p, cost in enumerate(costs_of(pattern, w)):
        if cost:
            change = np.maximum(change, np.abs(count[graphs | 1 << p] - count[graphs & ~(1 << p)]) * (w // cost))
        distance += ((graphs ^ graph) >> p & 1) * (cost or FAR)
    return [Fraction(int(change[distance <= t].max()), w) for t in range(furthest + 1)]


def policy_of(n: int, pattern: tuple[int, ...]) -> BoundPolicy:
    table = np.zeros((n, n), dtype=np.uint8)
    for (u, v), kind in zip(positions(n), pattern, strict=True):
        table[u, v] = table[v, u] = kind
    return BoundPolicy(n, lambda u, v: table[u, v])


def edges_of(n: int, graph: int) -> npt.NDArray[np.int32]:
    chosen = [pair for p, pair in enumerate(positions(n)) if graph >> p & 1]
    return np.array(chosen, dtype=np.int32).reshape(-1, 2)


def statistics(n: int) -> list[tuple[Counts, Make]]:
    return [(triangles(n), triangle_profile), *((stars(n, k), partial_stars(k)) for k in (2, 3, 4))]


def partial_stars(k: int) -> Make:
    return lambda n, edges, classes, w=2, horizon=256: star_profile(n, edges, classes, k, w, horizon)


def weighted(values: list[Fraction], beta: Decimal) -> Decimal:
    with localcontext(prec=70):
        terms = ((-beta * t).exp() * v.numerator / v.denominator for t, v in enumerate(values))
        return max(terms)


def just_above(exact: Decimal, value: Decimal) -> bool:
    """Rounded up, and the first forty digits agree; seventy are carried, so the last few may be off."""
    with localcontext(prec=70):
        return exact * (1 - Decimal("1e-65")) <= value <= exact * (1 + Decimal("1e-40"))


def check_agreement(count: Counts, make: Make, n: int, pattern: tuple[int, ...], w: int, graph: int) -> None:
    furthest = 2 * w * n
    expected = by_definition(count, pattern, w, graph, furthest)
    profile = make(n, edges_of(n, graph), policy_of(n, pattern), w)
    assert [profile.local(t) for t in range(furthest + 1)] == expected, (n, pattern, w, graph)
    for beta in BETAS[:3:2]:
        assert just_above(weighted(expected, beta), profile.smooth(beta))
        assert profile.is_exact(beta)


def patterns(n: int, count: int, seed: int) -> Iterator[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shares = rng.dirichlet([1, 1, 1])
        yield tuple(rng.choice(3, comb(n, 2), p=shares).tolist())


@pytest.mark.parametrize("w", [1, 2, 3])
def test_every_graph_of_two_and_three_nodes_under_every_policy(w: int) -> None:
    for n in (2, 3):
        for pattern, graph in product(product(range(3), repeat=comb(n, 2)), range(1 << comb(n, 2))):
            count, make = statistics(n)[(graph + sum(pattern)) % 2]
            check_agreement(count, make, n, pattern, w, graph)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["triangles", "2-stars", "3-stars"])
@pytest.mark.parametrize("w", [1, 2, 3])
def test_every_graph_of_four_nodes(w: int, which: int) -> None:
    for pattern in patterns(4, 4, seed=which):
        for graph in range(64):
            check_agreement(*statistics(4)[which], 4, pattern, w, graph)


@pytest.mark.parametrize("which", [0, 1, 2, 3], ids=["triangles", "2-stars", "3-stars", "4-stars"])
def test_graphs_of_five_nodes(which: int) -> None:
    rng = np.random.default_rng(5)
    for pattern in patterns(5, 30, seed=10 + which):
        for graph in rng.integers(0, 1024, 6).tolist():
            check_agreement(*statistics(5)[which], 5, pattern, 1 + graph % 4, graph)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_every_graph_of_five_nodes_under_a_sampled_policy(seed: int) -> None:
    """All 1,024 graphs, triangles, one random pattern a case."""
    (pattern,) = patterns(5, 1, seed=40 + seed)
    count, make = statistics(5)[0]
    for graph in range(1024):
        check_agreement(count, make, 5, pattern, 1 + seed, graph)


def test_the_formula_of_nissim_raskhodnikova_and_smith_is_the_case_of_nothing_public() -> None:
    rng, n = np.random.default_rng(0), 30
    classes = VisibilityPolicy.nothing().bind(range(n))
    for share in (0.05, 0.2, 0.5):
        matrix = np.triu(rng.random((n, n)) < share, 1)
        edges = np.argwhere(matrix).astype(np.int32)
        whole = (matrix | matrix.T).astype(np.int64)
        common, sums = whole @ whole, whole.sum(0)[:, None] + whole.sum(0) - 2 * whole
        profile = triangle_profile(n, edges, classes)
        for t in range(80):
            b = sums - 2 * common
            most = np.minimum(common + (t + np.minimum(t, b)) // 2, n - 2)[np.triu_indices(n, 1)].max()
            assert profile.local(t) == most


# --- smoothness: U_t(x) <= U_{t + cost}(x') for every t is stronger than any one beta ---


def faces(rng: np.random.Generator, pairs_wanted: int) -> Iterator[tuple[int, int, list[int], BoundPolicy, int, int]]:
    """Random graphs with all that a few changeable positions can make of them: many neighbours for few graphs."""
    seen = 0
    while seen < pairs_wanted:
        n, w = int(rng.integers(4, 13)), int(rng.integers(1, 5))
        pattern = tuple(rng.choice(3, comb(n, 2), p=rng.dirichlet([0.5, 1, 1])).tolist())
        free = [p for p, kind in enumerate(pattern) if kind != PUBLIC]
        if len(free) < 6:
            continue
        chosen = rng.choice(free, 6, replace=False).tolist()
        base = sum(1 << p for p in range(len(pattern)) if rng.random() < rng.choice([0.15, 0.4, 0.8]))
        seen += 6 * 2**5
        yield n, w, chosen, policy_of(n, pattern), base, int(rng.choice([0, 1, 3, 8, 256]))


def check_face(make: Make, n: int, w: int, chosen: list[int], policy: BoundPolicy, base: int, horizon: int) -> int:
    """How many neighbouring pairs were found to be smooth, in both directions."""
    local: dict[int, list[Fraction]] = {}
    smooth: dict[int, list[Decimal]] = {}
    for bits in product((0, 1), repeat=len(chosen)):
        graph = base
        for p, bit in zip(chosen, bits, strict=True):
            graph = graph & ~(1 << p) | bit << p
        profile = make(n, edges_of(n, graph), policy, w, horizon)
        local[graph] = [profile.local(t) for t in range(horizon % 64 + 2 * w + 4)]
        smooth[graph] = [profile.smooth(beta) for beta in BETAS]
    for graph, p in product(local, chosen):
        cost, other = w if policy.of(*positions(n)[p]) == FRIEND_VISIBLE else 1, graph ^ 1 << p
        assert all(mine <= theirs for mine, theirs in zip(local[graph], local[other][cost:], strict=False))
        with localcontext(prec=60):
            for beta, mine, theirs in zip(BETAS, smooth[graph], smooth[other], strict=True):
                assert mine <= (beta * cost).exp() * theirs * (1 + Decimal("1e-40"))
    return len(local) * len(chosen) // 2


@pytest.mark.long
@pytest.mark.parametrize("which", [0, 2, 3], ids=["triangles", "3-stars", "4-stars"])
def test_profiles_are_smooth_on_ten_thousand_random_neighbours(which: int) -> None:
    wanted = {0: 7000, 2: 1500, 3: 1500}[which]
    checked = 0
    for n, w, chosen, policy, base, horizon in faces(np.random.default_rng(which), wanted):
        checked += check_face(statistics(4)[which][1], n, w, chosen, policy, base, horizon)
    assert checked >= wanted


@pytest.mark.parametrize("which", [0, 1, 2, 3], ids=["triangles", "2-stars", "3-stars", "4-stars"])
def test_a_short_horizon_only_raises_the_value(which: int) -> None:
    rng = np.random.default_rng(which)
    for n, w, _, policy, base, horizon in faces(rng, 192 * 8):
        make, edges = statistics(4)[which][1], edges_of(n, base)
        short, long = make(n, edges, policy, w, min(horizon, 3)), make(n, edges, policy, w)
        for t in range(4 * n):
            assert long.local(t) <= short.local(t)
        for beta in BETAS:
            assert long.smooth(beta) <= short.smooth(beta)
            assert long.is_exact(beta)
            if short.is_exact(beta):
                assert short.smooth(beta) == long.smooth(beta)


# --- twins that must fail ---


def test_the_maximum_over_existing_edges_is_neither_valid_nor_smooth() -> None:
    n = 12
    hubs = np.array([(u, v) for u in (0, 1) for v in range(2, n)], dtype=np.int32)
    joined = np.vstack(([(0, 1)], hubs)).astype(np.int32)
    change = n - 2  # adding {0, 1} makes a triangle with each other node
    assert existing_edges_only(n, hubs) == 0 < change
    assert existing_edges_only(n, joined) == change
    # With the growth that the documents allow at distance t, min(LS + t, n − 2), smoothness fails too.
    beta = Decimal("0.1")
    before, after = (
        max((-beta * t).exp() * min(existing_edges_only(n, e) + t, n - 2) for t in range(n)) for e in (hubs, joined)
    )
    assert after > beta.exp() * before
    classes = VisibilityPolicy.nothing().bind(range(n))
    ours = [triangle_profile(n, e, classes).smooth(beta) for e in (hubs, joined)]
    assert ours[0] == ours[1] == change


def test_growing_one_of_two_full_degrees_is_not_smooth() -> None:
    """max_t e^{−βt}(C(d₁+t, k−1) + C(d₂, k−1)) with full degrees: an edge between the two hubs moves both."""
    n, k, beta = 10, 3, Decimal("0.3")
    leaves = [(0, 2), (0, 3), (0, 4), (1, 5), (1, 6), (1, 7)]
    apart, joined = (np.array(sorted(rows), dtype=np.int32) for rows in (leaves, [(0, 1), *leaves]))

    def one_grows(edges: npt.NDArray[np.int32]) -> Decimal:
        second, first = sorted(np.bincount(edges.ravel(), minlength=n).tolist())[-2:]
        return max((-beta * t).exp() * (comb(first + t, k - 1) + comb(second, k - 1)) for t in range(40))

    assert one_grows(joined) > Decimal("1.2") * beta.exp() * one_grows(apart)
    classes = VisibilityPolicy.nothing().bind(range(n))
    ours = [star_profile(n, edges, classes, k).smooth(beta) for edges in (apart, joined)]
    assert max(ours) <= beta.exp() * min(ours)


# --- pruning, kernels and policies ---


def random_graph(rng: np.random.Generator, n: int) -> npt.NDArray[np.int32]:
    weight = rng.pareto(1.5, n) + 0.2
    chance = np.minimum(1, np.outer(weight, weight) * rng.uniform(0.02, 0.15))
    return np.argwhere(np.triu(rng.random((n, n)) < chance, 1)).astype(np.int32)


def every_kind_of_policy(rng: np.random.Generator, n: int) -> dict[str, VisibilityPolicy]:
    half = {i: "public" for i in range(n) if rng.random() < 0.5}
    some = [tuple(row) for row in rng.integers(0, n, (60, 2)).tolist() if row[0] != row[1]]
    rooms = {i: {"room": int(rng.integers(0, 4))} for i in range(n)}
    rules = [{"same": "room", "class": "friend_visible"}, {"both": "room", "value": 1, "class": "public"}]
    return {
        "nothing public": VisibilityPolicy.nothing(),
        "all friend-visible": VisibilityPolicy.from_positions(otherwise="friend_visible"),
        "hash": VisibilityPolicy(0.15, 0.35, 0.5),
        "profiles, both": VisibilityPolicy.from_profiles(half),
        "profiles, any": VisibilityPolicy.from_profiles(half, "any"),
        "few private positions": VisibilityPolicy.from_positions(friend_visible=some, otherwise="public"),
        "few public positions": VisibilityPolicy.from_positions(public=some),
        "attributes": VisibilityPolicy.from_attributes(rooms, rules),
        "two rules": VisibilityPolicy(0.2, 0.2) | VisibilityPolicy.from_profiles(half),
    }


@pytest.mark.long
@pytest.mark.parametrize("w", [2, 3, 4, 7])
def test_the_best_split_of_a_budget_is_among_the_few_that_are_tried(w: int) -> None:
    """Against every split, for ends that grow at cost 1 and then at cost w.  [SENS.8]"""
    rng, budgets, missed = np.random.default_rng(w), np.arange(70), 0
    for _ in range(300):
        ends = [StarEnd(*rng.integers(0, (9, 25, 12)).tolist(), w) for _ in range(2)]
        point = StarPoint(int(rng.integers(2, 5)), *ends, 1)
        found, every = point.changes(budgets), [max(changes_of(point, t, range(t + 1))) for t in range(70)]
        assert found.tolist() == every
        turns = ({*point.first.steps, *(t - step for step in point.second.steps)} for t in range(70))
        missed += [max(changes_of(point, t, at)) for t, at in enumerate(turns)] != every
    assert missed, "the turns alone would do, so this test shows nothing"


def changes_of(point: StarPoint, budget: int, splits: Iterable[int]) -> list[int]:
    parts = np.array([min(max(split, 0), budget) for split in splits])
    return [
        comb(int(one), point.k - 1) + comb(int(other), point.k - 1)
        for one, other in zip(point.first.grown(parts), point.second.grown(budget - parts), strict=True)
    ]


def largest(points: tuple[object, ...], horizon: int) -> tuple[Fraction, ...]:
    return Profile(points, horizon, Ramp(horizon, Fraction(0), Fraction(0))).within  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [0, 1])
def test_pruning_changes_nothing_under_every_kind_of_policy(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 40
    for name, policy in every_kind_of_policy(rng, n).items():
        edges, classes, w = random_graph(rng, n), policy.bind(range(n)), int(rng.integers(1, 6))
        for horizon in (0, 20, 4 * n):
            pruned, full = (triangle_frontier(n, edges, classes, w, horizon, prune) for prune in (True, False))
            assert largest(pruned.points, horizon) == largest(full.points, horizon), (name, horizon)
        pruned_stars, (full_stars, _) = (
            star_frontier(n, edges, classes, 3, w, 12), slow_star_frontier(n, edges, classes, 3, w, 12, prune=False)
        )  # fmt: skip
        assert largest(pruned_stars.points, 12) == largest(full_stars, 12), name
        with pytest.MonkeyPatch.context() as growing:
            growing.setattr(ranked_graph, "HUBS", 1)
            growing.setattr(ranked_graph, "GROWTH", 2)
            assert star_frontier(n, edges, classes, 3, w, 12).points == pruned_stars.points, name


def test_the_plain_loop_gives_the_same_points_as_the_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    rng, n = np.random.default_rng(3), 60
    cases = [(random_graph(rng, n), policy.bind(range(n))) for policy in every_kind_of_policy(rng, n).values()]
    horizons = (0, 6, 256)
    compiled = [triangle_profile(n, *case, horizon=horizon).points for case in cases for horizon in horizons]
    monkeypatch.setattr(ranked_graph, "loops", lambda: backend.PLAIN["common_neighbours"])
    plain = [triangle_profile(n, *case, horizon=horizon).points for case in cases for horizon in horizons]
    assert compiled == plain


def test_a_search_among_few_hubs_is_seeded_by_their_edges_and_keeps_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(4), 80
    for policy in every_kind_of_policy(rng, n).values():
        edges, classes = random_graph(rng, n), policy.bind(range(n))
        for horizon in (0, 3, 40):
            monkeypatch.setattr(ranked_graph, "HUBS", n)
            expected = triangle_profile(n, edges, classes, horizon=horizon)
            monkeypatch.setattr(ranked_graph, "HUBS", 3)
            seeded = triangle_profile(n, edges, classes, horizon=horizon)
            assert seeded.within == expected.within
            assert seeded.tail == expected.tail


def test_a_seed_that_no_row_can_beat_does_not_look_like_a_public_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clique of edges, public between the first hubs: the seeds are already the best, and yet the bound must go on
    rising beyond the horizon."""
    monkeypatch.setattr(ranked_graph, "HUBS", 3)
    n = 60
    edges = np.array(list(combinations(range(12), 2)), dtype=np.int32)
    classes = BoundPolicy(n, lambda u, v: np.where(np.maximum(u, v) < 3, PUBLIC, PRIVATE).astype(np.uint8))
    profile = triangle_profile(n, edges, classes, horizon=2)
    assert profile.local(0) == 10
    assert profile.tail == Ramp(2, Fraction(11), Fraction(n - 2))


def test_rows_are_cut_where_the_room_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(6), 70
    edges, classes = random_graph(rng, n), VisibilityPolicy(0.1, 0.3).bind(range(n))
    expected = triangle_profile(n, edges, classes).within
    monkeypatch.setattr(ranked_graph, "ROOM", 1)
    assert triangle_profile(n, edges, classes).within == expected


# --- the edges of the domain ---


@pytest.mark.parametrize("horizon", [0, 2, 256])
@pytest.mark.parametrize(
    "public", [VisibilityPolicy.of(SameClass(PUBLIC)), VisibilityPolicy.from_positions(otherwise="public")]
)
def test_nothing_can_change_when_everything_is_public(public: VisibilityPolicy, horizon: int) -> None:
    n, classes = 8, public.bind(range(8))
    edges = np.array(list(combinations(range(n), 2)), dtype=np.int32)
    for profile in (triangle_profile(n, edges, classes, 2, horizon), star_profile(n, edges, classes, 2, 2, horizon)):
        assert profile.local(0) == 0
        # A horizon below 2 does not look at every position of a policy that is not constant.
        if classes.is_constant or horizon >= 2:
            assert profile.smooth(Decimal("0.1")) == profile.local(10**6) == 0


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_graphs_too_small_for_a_triangle(n: int) -> None:
    classes, none = VisibilityPolicy.nothing().bind(range(n)), np.empty((0, 2), dtype=np.int32)
    profile = triangle_profile(n, none, classes)
    expected = [Fraction(int(n == 3 and t >= 2)) for t in range(6)]
    assert [profile.local(t) for t in range(6)] == expected
    assert star_profile(n, none, classes, 2).local(0) == 0


def test_values_are_rounded_up_and_accurate_to_thirty_digits() -> None:
    n = 150
    edges = np.array([(0, v) for v in range(1, 100)], dtype=np.int32)
    classes = VisibilityPolicy.nothing().bind(range(n))
    for profile in (star_profile(n, edges, classes, 12), triangle_profile(n, edges, classes)):
        for beta in (Decimal("1e-12"), Decimal("0.001"), Decimal("0.037"), Decimal("1.5"), Decimal(5000)):
            exact = weighted([profile.local(t) for t in range(4 * n)], beta)
            assert just_above(exact, profile.smooth(beta))


def test_the_smooth_value_falls_with_beta_to_the_local_one() -> None:
    n = 50
    edges = np.array(list(combinations(range(10), 2)), dtype=np.int32)
    profile = triangle_profile(n, edges, VisibilityPolicy(0.1, 0.3).bind(range(n)))
    values = [profile.smooth(beta) for beta in BETAS]
    assert all(a >= b for a, b in pairwise(values))
    assert values[-1] == profile.local(0).numerator


def test_constant_sensitivities() -> None:
    assert constant_sensitivity(Visibility) == 1
    assert constant_sensitivity([PUBLIC, FRIEND_VISIBLE]) == Fraction(1, 2)
    assert constant_sensitivity([PUBLIC, FRIEND_VISIBLE], w=1) == 1
    assert constant_sensitivity([PUBLIC, FRIEND_VISIBLE], w=Fraction(5, 2)) == Fraction(2, 5)
    assert constant_sensitivity([PUBLIC]) == 0


def test_what_cannot_be_asked_is_refused() -> None:
    classes, none = VisibilityPolicy.nothing().bind(range(3)), np.empty((0, 2), dtype=np.int32)
    profile = triangle_profile(3, none, classes)
    for beta in (Decimal(0), Decimal(-1), Decimal("NaN"), Decimal("Infinity")):
        with pytest.raises(BadPrivacyParameter, match="beta"):
            profile.smooth(beta)
    with pytest.raises(BadStatistic, match="negative"):
        profile.local(-1)
    with pytest.raises(BadPrivacyParameter, match="whole number"):
        triangle_profile(3, none, classes, w=0)
    with pytest.raises(BadPrivacyParameter, match="horizon"):
        triangle_profile(3, none, classes, horizon=-1)
    with pytest.raises(BadStatistic, match="two edges"):
        star_profile(3, none, classes, 1)


def test_a_tail_that_has_stopped_growing_still_counts() -> None:
    """34 nodes, all friend-visible, horizon 64: exact values grow up to 128 while the free bound stops at 64."""
    n, beta = 34, Decimal("0.003")
    friends = BoundPolicy(n, lambda u, v: np.full(u.shape, FRIEND_VISIBLE, dtype=np.uint8))
    hub = [(0, k) for k in range(2, 18)]
    one = np.array(sorted([*hub, *((1, k) for k in range(2, 17))]), dtype=np.int32)
    other = np.array(sorted([*hub, *((1, k) for k in range(2, 18))]), dtype=np.int32)
    for k in (3, 4):
        logs = [star_profile(n, edges, friends, k).smooth(beta).ln() for edges in (one, other)]
        assert abs(logs[0] - logs[1]) <= 2 * beta * (1 + Decimal("1e-20")), k


@pytest.mark.parametrize("k", [2, 3])
def test_horizons_between_one_and_two_times_the_free_end(k: int) -> None:
    """Smooth on every graph of four nodes for the horizons at which the free bound has already stopped."""
    n, rng = 4, np.random.default_rng(0)
    for horizon, beta in product(range(2 * (n - 2), 4 * (n - 2) + 1), (Decimal("0.01"), Decimal("0.2"))):
        (pattern,) = patterns(n, 1, seed=int(rng.integers(1000)))
        costs, policy = costs_of(pattern, 2), policy_of(n, pattern)
        values = [star_profile(n, edges_of(n, g), policy, k, 2, horizon).smooth(beta) for g in range(64)]
        for graph, (p, cost) in product(range(64), enumerate(costs)):
            if cost:
                a, b = values[graph], values[graph ^ 1 << p]
                assert a <= b * (beta * cost).exp() * (1 + Decimal("1e-20")), (horizon, pattern, graph, p)
