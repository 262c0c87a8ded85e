"""4-cycles from parts: the whole protocol enumerated, unbiased over coins, with standard errors that are true.

[PARTS.10-12]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.node_statistics.cycle_parts import (
    LISTS,
    SQUARES,
    CyclePartCollection,
    heard_in_all,
)
from visibility_aware_edge_ldp.aggregator.rows import cycles
from visibility_aware_edge_ldp.client.row_parts import CycleParts
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.counts.exact import cycles as count
from visibility_aware_edge_ldp.counts.row_cycles import EVERYBODY
from visibility_aware_edge_ldp.counts.row_noise import opposite_sums
from visibility_aware_edge_ldp.counts.rows import later
from visibility_aware_edge_ldp.counts.scores import Scores
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import Ints
from visibility_aware_edge_ldp.public.surveys.row_parts import CyclePartSurvey, cycle_part_survey
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

N, GROUPS = 4, 2
POSITIONS = tuple(combinations(range(N), 2))
# All edges: three 4-cycles, of users 0 and 1.
EDGES, TRUE = {*POSITIONS}, 3
EPSILON = 1.5


@dataclass(frozen=True)
class GivenCoin(CyclePartSurvey):
    """A survey whose coin is given: the group of each user, and the one part that everybody reads."""

    given: tuple[int, ...] = ()
    part: int = 0

    def group_of(self, part: Ints, users: Ints) -> Ints:
        return np.array(self.given)[users]

    def part_of(self, users: Ints) -> Ints:
        return np.full(users.shape, self.part)


def survey_of(given: tuple[int, ...], part: int, groups: int = GROUPS) -> GivenCoin:
    world = VisibilityAwareGraph(erdos_renyi(len(given), 3, seed=1), VisibilityPolicy.nothing())
    one = cycle_part_survey(world.public, EPSILON, groups)
    return GivenCoin(
        one.first, one.reach, one.total, one.share, one.fineness, one.statistic, groups, groups, "", given, part
    )


def coins_of(n: int) -> list[tuple[int, ...]]:
    """All groups that users may be in."""
    return list(product(range(GROUPS), repeat=n))


def joined(edges: set[tuple[int, int]], n: int = N) -> np.ndarray:
    found = np.zeros((n, n), np.bool_)
    for u, v in edges:
        found[u, v] = found[v, u] = True
    return found


def scores_of(ones: np.ndarray, values: np.ndarray) -> Scores:
    """The scores of a 1 and of a 0 at every position."""
    n = len(ones)
    planes = np.stack([pack_rows(each, n) for each in (ones, ~ones & ~np.eye(n, dtype=np.bool_))])
    return Scores(n, planes, values, np.eye(2, dtype=np.bool_))


def sums(survey: GivenCoin, ones: np.ndarray, values: np.ndarray, bits: np.ndarray | None = None) -> np.ndarray:
    """What each user sums, before noise."""
    bits = joined(EDGES) if bits is None else bits
    offsets, members = later(
        0, np.concatenate([[0], np.cumsum(bits.sum(axis=1))]), np.nonzero(bits)[1].astype(np.int32)
    )
    parts = CycleParts(survey, scores_of(ones, values), EVERYBODY)
    return np.asarray(parts.pulls(np.full((1, 1, 1), ~np.uint64(0)), 0, offsets, members)[1])


def channel(epsilon: float) -> tuple[float, float, float]:
    """The chance of the other bit, and the scores of a 1 and of a 0."""
    p = 1 / (np.exp(epsilon) + 1)
    return p, (1 - p) / (1 - 2 * p), -p / (1 - 2 * p)


def all_answers() -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Every pattern of first answers with its chance, and the scores of a 1 and of a 0."""
    p, one, zero = channel(EPSILON)
    for said in product((False, True), repeat=len(POSITIONS)):
        right = [bit == (pair in EDGES) for pair, bit in zip(POSITIONS, said, strict=True)]
        chance = float(np.prod([1 - p if each else p for each in right]))
        ones = joined({pair for pair, bit in zip(POSITIONS, said, strict=True) if bit})
        yield chance, ones, np.array([one, zero])


def test_the_whole_protocol_has_the_mean_and_the_variance_of_the_theorem() -> None:
    """All first answers, all groups and all parts of four users.  [PARTS.10]"""
    coins = coins_of(N)
    chances, full, squares, means, within = [], [], [], [], []
    for chance, ones, weights in all_answers():
        alone = np.array([sums(survey_of(tuple(int(u != x) for u in range(N)), 0), ones, weights) for x in range(N)])
        alone /= GROUPS  # Y_il: what user i sums over paths over x
        for given in coins:
            told = np.array([sums(survey_of(given, part), ones, weights) for part in range(GROUPS)])
            chances.append(chance / len(coins))
            full.append(alone.sum())
            squares.append((alone**2).sum())
            means.append(told.mean(axis=0).sum())
            within.append(told.var(axis=0).sum())
    chance = np.array(chances)
    mean = float(chance @ np.array(means))
    assert mean == pytest.approx(TRUE)
    variance = float(chance @ (np.array(means) - mean) ** 2 + chance @ np.array(within))
    expected = float(chance @ (np.array(full) - TRUE) ** 2 + (GROUPS - 1) * chance @ np.array(squares))
    assert variance == pytest.approx(expected)


def test_users_of_different_parts_vary_by_themselves_and_with_one_part_for_everybody_they_do_not() -> None:
    """Six users who are all friends: the coin's part exactly, and a twin that gives everybody one part.  [PARTS.10]"""
    bits, weights = ~np.eye(6, dtype=np.bool_), np.array([1.0, 0.0])

    def told(given: tuple[int, ...], part: int) -> np.ndarray:
        return sums(survey_of(given, part), bits, weights, bits)

    each = np.array([[told(given, part) for part in range(GROUPS)] for given in coins_of(6)])
    alone = np.array([told(tuple(int(u != x) for u in range(6)), 0) for x in range(6)]) / GROUPS
    expected = (GROUPS - 1) * (alone**2).sum()
    assert each.mean(axis=(0, 1)).sum() == pytest.approx(45)
    independent = each.mean(axis=1).sum(axis=1).var() + each.var(axis=1).sum(axis=1).mean()
    assert independent == pytest.approx(expected)
    assert each.sum(axis=2).var() > 1.1 * expected


def test_over_all_coins_true_bits_give_the_4_cycles_and_a_twin_without_the_share_does_not() -> None:
    bits, weights = joined(EDGES), np.array([1.0, 0.0])
    found = [
        sums(survey_of(given, part), bits, weights).sum() for given in product((0, 1), repeat=N) for part in (0, 1)
    ]
    assert np.mean(found) == TRUE
    assert np.mean(found) / GROUPS != TRUE


def test_the_sums_over_opposite_vertices_are_unbiased() -> None:
    """Σ C(c, 2)² and Σ c²(d_i + d_l), over all answers of five users.  [PARTS.11]"""
    edges = {(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (1, 2)}
    bits = joined(edges, 5)
    shared, degrees = bits.astype(int) @ bits, bits.sum(axis=1)
    pairs = list(combinations(range(5), 2))
    squares = sum((shared[u, v] * (shared[u, v] - 1) / 2) ** 2 for u, v in pairs)
    lists = sum(shared[u, v] ** 2 * (degrees[u] + degrees[v]) for u, v in pairs)
    true = opposite_sums(scores_of(bits, np.array([1.0, 0.0])))
    assert (true.squares, true.lists) == (squares, lists)
    p, one, zero = channel(1.0)
    means = 0.0
    for said in product((False, True), repeat=len(pairs)):
        chance = np.prod([1 - p if bit == (pair in edges) else p for pair, bit in zip(pairs, said, strict=True)])
        ones = joined({pair for pair, bit in zip(pairs, said, strict=True) if bit}, 5)
        means += chance * opposite_sums(scores_of(ones, np.array([one, zero]))).squares
    assert means == pytest.approx(squares)


def owned_share() -> float:
    """In the mean over 60 numberings of a dense graph: Σ y_il² over Σ C(c, 2)²."""
    rng, found = np.random.default_rng(1), []
    bits = np.triu(rng.random((60, 60)) < 0.7, 1)
    bits = bits | bits.T
    shared = bits.astype(float) @ bits
    np.fill_diagonal(shared, 0)
    whole = np.triu((shared * (shared - 1) / 2) ** 2, 1).sum()
    for _ in range(60):
        order = rng.permutation(60)
        later = np.triu(bits[np.ix_(order, order)], 1).astype(float)
        both, here = later @ later.T, later @ (later + later.T)
        for each in (both, here):
            np.fill_diagonal(each, 0)
        owned = here * (here - 1) / 2 - both * (both - 1) / 4
        found.append((owned**2).sum() / whole)
    return float(np.mean(found))


def test_first_vertices_own_the_share_that_random_numbers_give() -> None:
    assert owned_share() == pytest.approx(SQUARES, rel=0.05)
    assert (float(Fraction(23, 90)), float(Fraction(19, 120))) == (SQUARES, LISTS)


def test_the_chance_that_all_sides_are_heard() -> None:
    assert heard_in_all(1.0) == pytest.approx(1)
    rng, kept, found = np.random.default_rng(2), 0.6, []
    for _ in range(40_000):
        (low, high), (first, second) = np.sort(rng.random(2)), rng.random(2) < kept
        middle, here = rng.random(4), rng.random(4) < kept
        early, late = middle < low, middle > high
        heard = np.where(early, here, np.where(late, first & second, here & first))
        # Of a neighbour between both, the first of the two and the neighbour itself answer.
        found.append(heard.all())
    assert np.mean(found) == pytest.approx(heard_in_all(kept), abs=0.01)


NOTHING = VisibilityAwareGraph(powerlaw(120, 1200, 3), VisibilityPolicy.nothing())
PROFILES = VisibilityAwareGraph(
    powerlaw(120, 1200, 3),
    VisibilityPolicy.from_profiles({u: "public" if u % 3 else "private" for u in range(120)}, rule="both"),
)


def errors(world: VisibilityAwareGraph, epsilon: float, groups: int, runs: int, dropout: float = 0.0) -> np.ndarray:
    """(estimate − truth) over its standard error, of each run."""
    truth, found = count(world.graph), []
    for seed in range(runs):
        survey = cycle_part_survey(world.public, epsilon, groups, f"coin {seed}")
        each = cycles(collect_rows(world, {"c": survey}, seed, dropout)["c"])
        found.append((each.value - truth) / each.standard_error)
    return np.array(found)


def test_a_few_runs_are_near_the_truth() -> None:
    for world, dropout in ((NOTHING, 0.0), (NOTHING, 0.3), (PROFILES, 0.0)):
        found = errors(world, 6, 5, 3, dropout)
        assert np.abs(found).max() < 4.5
        assert found.std() > 0.1


@pytest.mark.long
@pytest.mark.parametrize(("world", "dropout"), [(NOTHING, 0.0), (NOTHING, 0.3), (PROFILES, 0.0)])
def test_estimates_are_unbiased_with_true_standard_errors(world: VisibilityAwareGraph, dropout: float) -> None:
    """Fixed seeds. The mean of 80 is off by 4.5/√80 with chance 1e-5; their spread is between 0.75 and 1.25."""
    found = errors(world, 6, 5, 80, dropout)
    assert abs(found.mean()) < 4.5 / np.sqrt(found.size)
    assert 0.75 < found.std() < 1.25


def test_everybody_counts_reaches_by_the_m_of_its_own_part() -> None:
    survey = cycle_part_survey(NOTHING.public, 4, 5, "coin")
    collection = collect_rows(NOTHING, {"c": survey}, 1)["c"]
    assert isinstance(collection, CyclePartCollection)
    scores, known = collection.scores(1.0), collection.most
    collection.most = {}  # the aggregator works them out by itself
    most = collection.most_paths(scores, EVERYBODY)
    mine = survey.part_of(np.flatnonzero(collection.answered))
    assert len(set(most.tolist())) == np.unique(mine).size
    parts = CycleParts(survey, scores, EVERYBODY)
    for user in (0, 70):
        assert parts.paths(int(mine[user]))[1] == most[user]
    assert most.max() <= parts.largest
    assert [known[part] for part in mine.tolist()] == most.tolist()


def test_parts_of_4_cycles_are_as_many_as_groups() -> None:
    survey = cycle_part_survey(NOTHING.public, 1, 4)
    with pytest.raises(BadPrivacyParameter, match="as many parts"):
        replace(survey, parts=3)
