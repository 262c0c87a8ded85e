"""Lower bounds: their cubes counted, their constants attained, and our own mechanisms above them.  [LIMIT.1-5]"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest

from support.hard_cubes import Cube, hard_cube
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic
from visibility_aware_edge_ldp.evaluation import lower_bounds as bounds
from visibility_aware_edge_ldp.evaluation.lower_bounds import hard_gains, lower_bound
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.privacy import OneEdge, OneListEntry, parse_number
from visibility_aware_edge_ldp.public.statistic import star_size

STATISTICS = ("edges", "triangles", "stars:2", "stars:3", "stars:4")
EPSILONS = (0.1, 0.5, 1.0, 2.0, 6.0)


# ── the cubes, counted by brute force ──


def count(n: int, edges: np.ndarray, statistic: str) -> int:
    """By definition, without the library's own counters."""
    present = {frozenset(edge) for edge in edges.tolist()}
    assert len(present) == len(edges)
    assert all(len(edge) == 2 for edge in present)
    if statistic == "triangles":
        return sum(all(frozenset(side) in present for side in combinations(t, 2)) for t in combinations(range(n), 3))
    degrees = [sum(node in edge for edge in present) for node in range(n)]
    k = star_size(statistic)
    return len(present) if k is None else sum(math.comb(degree, k) for degree in degrees)


def gains_of(cube: Cube, statistic: str) -> list[int]:
    """What each edge of the matching adds, after checking that it adds it whatever the others do."""
    ends = cube.matching.ravel()
    assert len(set(ends.tolist())) == len(ends)
    size = len(cube.matching)
    base = count(cube.nodes, cube.graph([False] * size), statistic)
    alone = [count(cube.nodes, cube.graph(np.arange(size) == e), statistic) - base for e in range(size)]
    for chosen in product((False, True), repeat=size):
        expected = base + sum(gain for gain, taken in zip(alone, chosen, strict=True) if taken)
        assert count(cube.nodes, cube.graph(chosen), statistic) == expected
    return alone


def check_cube(statistic: str, n: int, d: int, claim: Callable[[str, int, int], list[tuple[int, int]]]) -> None:
    cube = hard_cube(statistic, n, d)
    whole = cube.graph([True] * len(cube.matching))
    assert np.bincount(whole.ravel(), minlength=n).max() <= d
    claimed = [gain for times, gain in claim(statistic, n, d) for _ in range(times)]
    assert sorted(gains_of(cube, statistic)) == sorted(claimed)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_small_cube_is_independent_and_gains_what_is_claimed(statistic: str) -> None:
    for n in range(2, 9):
        for d in range(1, n - n % 2):
            check_cube(statistic, n, d, hard_gains)


@pytest.mark.parametrize(("n", "d"), [(10, 3), (10, 7), (10, 9), (11, 8), (12, 5), (12, 7)])
def test_larger_cubes_of_triangles(n: int, d: int) -> None:
    """Among them pairs of twins whose number and degree are both odd, where one pair has less."""
    check_cube("triangles", n, d, hard_gains)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_gain_that_is_too_large_is_caught(statistic: str) -> None:
    def boasting(statistic: str, n: int, d: int) -> list[tuple[int, int]]:
        k = star_size(statistic)
        gain = 2 * math.comb(d, k - 1) if k else d if statistic == "triangles" else 2
        return [(n // 2, gain)]

    with pytest.raises(AssertionError):
        check_cube(statistic, 8, 4, boasting)


def test_no_edge_of_a_graph_with_these_degrees_gains_more() -> None:
    """So the stars' constant cannot be improved, nor the triangles' for odd degrees."""
    n, positions = 5, list(combinations(range(5), 2))
    most: dict[tuple[str, int], int] = {}
    for bits in product((0, 1), repeat=len(positions)):
        edges = np.array([p for p, bit in zip(positions, bits, strict=True) if bit]).reshape(-1, 2)
        if not bits[0]:
            continue
        d = int(np.bincount(edges.ravel(), minlength=n).max())
        for statistic in ("triangles", "stars:2", "stars:3"):
            gain = count(n, edges, statistic) - count(n, edges[1:], statistic)
            most[statistic, d] = max(most.get((statistic, d), 0), gain)
    for d in (1, 2, 3):
        for k in (2, 3):
            assert most[f"stars:{k}", d] == hard_gains(f"stars:{k}", n, d)[0][1]
        assert most["triangles", d] == d - 1 >= hard_gains("triangles", n, d)[0][1]
    assert hard_gains("triangles", n, 3)[0][1] == 2


# ── the variance that is left of a bit ──


def left_over(*channels: tuple[float, float]) -> float:
    """E Var(B | answers) of a fair bit B that is told through independent yes-no channels (P(1|1), P(1|0))."""
    total = 0.0
    for answers in product((0, 1), repeat=len(channels)):
        one, zero = (
            math.prod(c[b] if a else 1 - c[b] for a, c in zip(answers, channels, strict=True)) / 2 for b in (0, 1)
        )
        total += one * zero / (one + zero) if one + zero else 0.0
    return total


def response(epsilon: float) -> tuple[float, float]:
    keep = 1 / (1 + math.exp(-epsilon))
    return keep, 1 - keep


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomized_response_attains_what_is_left_of_a_bit(epsilon: float) -> None:
    one, lists = bounds.bit_variance(epsilon), bounds.bit_variance(epsilon, OneListEntry)
    assert left_over(response(epsilon)) == pytest.approx(one)
    assert left_over(response(epsilon), response(epsilon)) == pytest.approx(lists)
    # Per list at half the loss, or at any split, both ends together tell at most what one tells at the whole.
    for share in (0.5, 0.3, 0.01):
        assert left_over(response(share * epsilon), response((1 - share) * epsilon)) >= one
    assert 0.5 * one <= lists < one


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_channel_of_that_loss_leaves_less(epsilon: float) -> None:
    rng, ratio = np.random.default_rng(1), math.exp(epsilon)
    for _ in range(300):
        given_zero = float(rng.uniform(1e-6, 1 - 1e-6))
        low = max(given_zero / ratio, 1 - (1 - given_zero) * ratio)
        high = min(given_zero * ratio, 1 - (1 - given_zero) / ratio)
        channel = (float(rng.choice([low, high, rng.uniform(low, high)])), given_zero)
        assert left_over(channel) >= bounds.bit_variance(epsilon) * (1 - 1e-9)
        assert left_over(channel, channel) >= bounds.bit_variance(epsilon, OneListEntry) * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_constant_that_is_too_large_is_caught(epsilon: float) -> None:
    """The published rate per list, taken with the constant 1: two randomized responses do better than it allows."""
    boast = math.exp(epsilon) / (1 + math.exp(epsilon)) ** 2
    assert left_over(response(epsilon), response(epsilon)) < boast
    assert left_over(response(epsilon), response(epsilon)) >= boast / 2


@pytest.mark.parametrize("statistic", ["triangles", "stars:2", "edges"])
def test_the_bound_is_attained_on_its_cube(statistic: str) -> None:
    """The best estimate from one randomized response per edge of the matching, all of it walked through."""
    n, d, epsilon = 6, 5, 1.0
    gains = gains_of(hard_cube(statistic, n, d), statistic)
    keep, _ = response(epsilon)
    risk = 0.0
    for bits in product((0, 1), repeat=len(gains)):
        for answers in product((0, 1), repeat=len(gains)):
            chance = math.prod(keep if b == a else 1 - keep for b, a in zip(bits, answers, strict=True)) / 2 ** len(
                bits
            )
            guess = sum(gain * (keep if a else 1 - keep) for gain, a in zip(gains, answers, strict=True))
            risk += chance * (guess - sum(g for g, b in zip(gains, bits, strict=True) if b)) ** 2
    bound = lower_bound(statistic, n, d, epsilon)
    assert risk == pytest.approx(bound.value)
    assert bound.standard_error_at_least == pytest.approx(math.sqrt(risk))
    assert risk < 1.001 * bound.value  # a bound larger by a thousandth would be false


def test_more_rounds_do_not_help() -> None:
    """Round 2 asks an edge of the matching by what *another* edge answered: the bound holds, and not by much."""
    epsilon, gains = 1.0, gains_of(hard_cube("triangles", 4, 3), "triangles")
    assert len(gains) == 2

    def chance(answers: tuple[int, ...], bits: tuple[int, int]) -> float:
        first = [response(epsilon / 2)[1 - bits[e]] for e in (0, 1)]
        told = math.prod(p if a else 1 - p for p, a in zip(first, answers[:2], strict=True))
        # Edge 0 spends its second half only if edge 1 said 1, and the other way round.
        for e, (a, other) in enumerate(zip(answers[2:], answers[1::-1], strict=True)):
            p = response(epsilon / 2 if other else 1e-9)[1 - bits[e]]
            told *= p if a else 1 - p
        return told

    worlds = list(product((0, 1), repeat=2))
    risk = 0.0
    for answers in product((0, 1), repeat=4):
        weights = np.array([chance(answers, bits) / 4 for bits in worlds])
        values = np.array([np.dot(bits, gains) for bits in worlds])
        mean = weights @ values / weights.sum()
        risk += float(weights @ (values - mean) ** 2)
    assert risk > lower_bound("triangles", 4, 3, epsilon).value


# ── our own one-round mechanisms are above the bounds ──


def degree_variance(degree: int, function: Callable[[np.ndarray], np.ndarray], epsilon: float) -> float:
    """The exact variance of the unbiased estimate of a function of the degree from one noisy degree at epsilon/2."""
    noise = DiscreteLaplace(parse_number(epsilon, "epsilon") / 2)
    reach = int(60 / float(noise.rate)) + 5
    reports = np.arange(degree - reach, degree + reach + 1)
    chances = np.array([noise.probability(int(x) - degree) for x in reports])
    values = noise.unbiased(function, reports)
    mean = float(chances @ values)
    assert mean == pytest.approx(float(function(np.array([degree]))[0]), rel=1e-6)
    return float(chances @ (values - mean) ** 2)


def stars_at(k: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda d: np.prod([(d - i) / (i + 1) for i in range(k)], axis=0)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("k", [2, 3])
def test_noisy_degrees_are_above_both_bounds_on_the_hard_family(k: int, epsilon: float) -> None:
    n, d = 80, 61
    cube, statistic = hard_cube(f"stars:{k}", n, d), f"stars:{k}"
    edges = cube.graph([True] * (n // 2))
    degrees = np.bincount(edges.ravel(), minlength=n)
    achieved = sum(degree_variance(int(degree), stars_at(k), epsilon) for degree in degrees)
    u, v = cube.matching.T
    gains = bounds.star_gains(degrees, u, v, np.ones(len(u), dtype=bool), k)
    assert gains.tolist() == gains_of_matching(n, d, k)
    instance = bounds.matched_bound(statistic, n, u, v, gains, np.full(len(u), epsilon))
    worst = lower_bound(statistic, n, d, epsilon)
    both_ends = lower_bound(statistic, n, d, epsilon / 2, OneListEntry)
    assert worst.value < both_ends.value < achieved
    assert worst.value < instance.value < achieved
    assert achieved < 12 * instance.value  # and they are not empty


def gains_of_matching(n: int, d: int, k: int) -> list[float]:
    return [float(gain) for times, gain in hard_gains(f"stars:{k}", n, d) for _ in range(times)]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_noisy_degrees_count_edges_near_the_bound(epsilon: float) -> None:
    n = 100
    u = np.arange(0, n, 2)
    achieved = n * degree_variance(5, lambda d: d / 2, epsilon)
    bound = bounds.matched_bound("edges", n, u, u + 1, np.ones(len(u)), np.full(len(u), epsilon))
    assert bound.value < achieved < 6 * bound.value


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_randomized_response_is_above_the_bounds_for_triangles(epsilon: float) -> None:
    """POSITION on the hard family, by its exact variance: three kinds of terms.  [COUNTS.4]"""
    n, d = 24, 9
    cube = hard_cube("triangles", n, d)
    bits = np.zeros((n, n))
    edges = cube.graph([True] * (n // 2))
    bits[edges[:, 0], edges[:, 1]] = bits[edges[:, 1], edges[:, 0]] = 1
    noise = float(bounds.unbiased_variance(epsilon)) * (1 - np.eye(n))
    common, noisy = bits @ bits * (1 - np.eye(n)), noise @ noise
    achieved = (noise * common**2).sum() / 2 + (bits * noisy).sum() / 2 + (noise * noisy).sum() / 6
    u, v = cube.matching.T
    instance = bounds.matched_bound("triangles", n, u, v, common[u, v], np.full(len(u), epsilon))
    assert common[u, v].tolist() == [8.0] * (n // 2)
    assert lower_bound("triangles", n, d, epsilon).value < instance.value < achieved


def test_position_estimates_have_the_least_variance_that_unbiased_ones_can_have() -> None:
    """On three nodes: the variance of the product estimate is the sum over all sets of sides, each at its limit."""
    epsilon, keep = 1.0, response(1.0)[0]
    flip = 1 - keep
    sigma = float(bounds.unbiased_variance(epsilon))
    for bits in product((0, 1), repeat=3):
        moments = np.zeros(2)
        for answers in product((0, 1), repeat=3):
            chance = math.prod(keep if a == b else flip for a, b in zip(answers, bits, strict=True))
            value = math.prod((a - flip) / (keep - flip) for a in answers)
            moments += chance * np.array([value, value**2])
        assert moments[0] == pytest.approx(math.prod(bits), abs=1e-12)
        limit = sum(
            math.prod(sigma if side in chosen else bits[side] ** 2 for side in range(3))
            for size in (1, 2, 3)
            for chosen in combinations(range(3), size)
        )
        assert moments[1] - moments[0] ** 2 == pytest.approx(limit)


# ── the pieces ──


def test_a_heavy_matching_shares_no_node_and_is_at_least_half_of_the_best() -> None:
    rng, n = np.random.default_rng(4), 8
    positions = np.array(list(combinations(range(n), 2)))
    for _ in range(20):
        weights = rng.exponential(size=len(positions)) * (rng.random(len(positions)) < 0.5)
        chosen = bounds.heavy_matching(n, positions[:, 0], positions[:, 1], weights)
        ends = positions[chosen].ravel()
        assert len(set(ends.tolist())) == len(ends)
        assert weights[chosen].sum() >= best_matching(positions, weights) / 2


def best_matching(positions: np.ndarray, weights: np.ndarray) -> float:
    at = {(int(u), int(v)): float(w) for (u, v), w in zip(positions, weights, strict=True)}

    def best(left: tuple[int, ...]) -> float:
        if len(left) < 2:
            return 0.0
        u, *rest = left
        joined = (at[u, v] + best(tuple(w for w in rest if w != v)) for v in rest)
        return max(best(tuple(rest)), *joined)

    return best(tuple(range(8)))


def test_no_positions_bound_nothing() -> None:
    none = np.empty(0, np.int64)
    assert bounds.matched_bound("edges", 5, none, none, np.empty(0), np.empty(0)).value == 0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_variance_of_an_unbiased_bit_is_that_of_randomized_response(epsilon: float) -> None:
    keep, flip = response(epsilon)
    assert float(bounds.unbiased_variance(epsilon)) == pytest.approx(keep * flip / (keep - flip) ** 2)
    assert float(bounds.unbiased_variance(1000.0)) == 0


def test_bounds_fall_with_epsilon_and_rise_with_the_family() -> None:
    values = [lower_bound("stars:2", 100, 10, epsilon).value for epsilon in EPSILONS]
    assert values == sorted(values, reverse=True)
    assert lower_bound("stars:2", 200, 10, 1).value == pytest.approx(2 * lower_bound("stars:2", 100, 10, 1).value)
    assert lower_bound("stars:2", 100, 20, 1).value > lower_bound("stars:2", 100, 10, 1).value
    assert lower_bound("stars:2", 101, 10, 1).value == lower_bound("stars:2", 100, 10, 1).value
    assert lower_bound("stars:5", 100, 4, 1).value == 0
    facebook = lower_bound("stars:2", 4038, 1045, 1.0)
    assert facebook.value == pytest.approx(2019 * (2 * 1044) ** 2 * math.e / (1 + math.e) ** 2)


def test_conditions_are_said() -> None:
    words = " ".join(lower_bound("triangles", 10, 3, 1).conditions)
    assert "10 nodes and degrees up to 3" in words
    assert "any number of rounds" in words
    assert "own friend list" in words
    assert "one round" in " ".join(lower_bound("triangles", 10, 3, 1, OneListEntry).conditions)


@pytest.mark.parametrize(
    ("statistic", "n", "d"),
    [("four_cycles", 10, 3), ("edges", 1, 1), ("edges", 10, 0), ("edges", 10, 10), ("edges", 9, 8)],
)
def test_what_has_no_bound_is_refused(statistic: str, n: int, d: int) -> None:
    with pytest.raises(BadStatistic):
        lower_bound(statistic, n, d, 1)


def test_no_loss_at_all_is_refused() -> None:
    with pytest.raises(BadPrivacyParameter):
        lower_bound("edges", 10, 3, 0, OneEdge)
