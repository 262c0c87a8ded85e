"""Scores by kinds of nodes against the same scores as planes, and samples of rows and of tile triples."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.compute.plain import tiles
from visibility_aware_edge_ldp.compute.tiles.layout import Places
from visibility_aware_edge_ldp.counts import cycles, group_pairs, group_triangles, stars, triangles
from visibility_aware_edge_ldp.counts import triangles as pairs
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix
from visibility_aware_edge_ldp.counts.scores import Scores, score, spread, square
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

PUBLIC, FRIENDS, PRIVATE = Visibility
POLICIES = {
    "nothing": VisibilityPolicy.nothing(),
    "both": VisibilityPolicy.public_profiles("0.5", rule="both"),
    "any": VisibilityPolicy.public_profiles("0.3", rule="any"),
}


def collected(n: int, policy: VisibilityPolicy, epsilon: int = 1, seed: int = 3) -> PositionCollection:
    world = VisibilityAwareGraph(powerlaw(n, 4 * n, seed=1), policy)
    return collect(world, position_survey(world.public, epsilon), seed)


def both_kinds(n: int, policy: VisibilityPolicy) -> tuple[Scores, GroupScores]:
    collection = collected(n, policy)
    found = collection.group_scores()
    assert found is not None
    return collection.scores(), found


@pytest.fixture(scope="module", params=POLICIES, ids=str)
def two_ways(request: pytest.FixtureRequest) -> tuple[Scores, GroupScores]:
    return both_kinds(700, POLICIES[request.param])


def test_sums_over_nodes_and_stars_are_those_of_planes(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    for function in (score, spread, square):
        np.testing.assert_allclose(kinds.node_sums(function), planes.node_sums(function), rtol=1e-9, atol=1e-9)
    for k in (2, 3):
        np.testing.assert_allclose(stars.stars(kinds, k), stars.stars(planes, k), rtol=1e-8)


def test_sums_over_pairs_are_those_of_planes(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    expected = pairs.sum_over_pairs(
        planes,
        lambda block: {
            **{f"triangles/{name}": value for name, value in triangles.triangle_sums(block).items()},
            **{f"cycles/{name}": value for name, value in cycles.cycle_sums(block).items()},
        },
    )
    all_but_two = group_pairs.RowSample(np.arange(698), np.array([698, 699]), 2)
    each_pair_once, rows = group_pairs.sum_pairs(kinds, True)
    each_row, same_rows = group_pairs.sum_pairs(kinds, True, all_but_two)
    assert each_row.pop("cycles/sampling") == 0
    for name, value in expected.items():
        assert each_pair_once[name] == pytest.approx(value, rel=1e-8, abs=1e-4)
        assert each_row[name] == pytest.approx(value, rel=1e-8, abs=1e-4)
    np.testing.assert_allclose(rows.squares, same_rows.squares, rtol=1e-9)
    only_triangles, _ = group_pairs.sum_pairs(kinds, False)
    assert only_triangles["triangles/count"] == pytest.approx(expected["triangles/count"], rel=1e-8)
    assert only_triangles["cycles/count"] == 0


def test_rows_and_products_of_the_matrix_are_those_of_planes(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    chosen, matrix, in_slots = np.arange(0, 700, 13), PlaneMatrix(planes), kinds.matrix
    slots, rows = in_slots.places(np.arange(700)), in_slots.rows(chosen)
    np.testing.assert_allclose(rows[:, slots], matrix.rows(chosen), rtol=1e-5, atol=1e-5)
    paths, found = matrix.two_paths(chosen, matrix.rows(chosen)), in_slots.two_paths(chosen, rows)
    np.testing.assert_allclose(found[:, slots], paths, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(in_slots.times(found)[:, slots], matrix.times(paths), rtol=1e-3, atol=0.2)
    nobody = np.setdiff1d(np.arange(rows.shape[1]), slots)
    assert not rows[:, nobody].any()
    assert not found[:, nobody].any()


def test_triangles_from_integers_are_those_of_the_scores(two_ways: tuple[Scores, GroupScores]) -> None:
    planes, kinds = two_ways
    dense = PlaneMatrix(planes).rows(np.arange(700)).astype(np.float64)
    expected = np.trace(dense @ dense @ dense) / 6
    assert group_triangles.triangle_total(kinds).value == pytest.approx(expected, rel=1e-4, abs=1)
    whole = group_triangles.sampled_total(kinds, 1.0, "a coin")
    assert (whole.value, whole.sampling) == (pytest.approx(group_triangles.triangle_total(kinds).value, rel=1e-9), 0)


@pytest.mark.parametrize("sizes", [(3,), (1, 2), (2, 1, 3), (1, 1, 1, 1)])
def test_every_triple_of_blocks_is_what_its_nodes_say(monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]) -> None:
    """Blocks of one side each, on so few nodes that all triples can be multiplied out by hand.  [KINDS.4]"""
    kinds = np.repeat(np.arange(len(sizes)), sizes)
    draws = np.random.default_rng(sum(sizes) + len(sizes))
    n = kinds.size
    upper = np.triu(draws.random((n, n)) < 0.5, 1)
    low, high = (np.triu(draws.normal(size=(len(sizes), len(sizes)))) for _ in range(2))
    low, high = low + np.triu(low, 1).T, high + np.triu(high, 1).T
    places = Places(kinds)
    plane = tiles.arranged(tiles.pack_rows(upper | upper.T, n), places.slots, places.sides)
    scores = GroupScores(places, low, high, plane)
    value = np.where(upper | upper.T, high[kinds][:, kinds], low[kinds][:, kinds])
    blocks = group_triangles.Blocks(scores, places.first_sides)
    for triple in {tuple(sorted(kinds[list(nodes)].tolist())) for nodes in combinations(range(n), 3)}:
        members = [nodes for nodes in combinations(range(n), 3) if tuple(sorted(kinds[list(nodes)])) == triple]
        ones = sum(bool(upper[a, b] and upper[b, c] and upper[a, c]) for a, b, c in members)
        expected = sum(value[a, b] * value[b, c] * value[a, c] for a, b, c in members)
        found = blocks.scored(np.array([triple]), np.array([ones]))
        assert found[0] == pytest.approx(expected)


def test_a_sample_of_triples_is_right_on_average_and_says_its_variance() -> None:
    """1,300 nodes of two kinds have few blocks, so that every stratum is small: the hardest case.  [KINDS.5]"""
    _, kinds = both_kinds(1300, POLICIES["both"])
    whole = group_triangles.triangle_total(kinds).value
    drawn = [group_triangles.sampled_total(kinds, 0.4, f"coin {i}") for i in range(120)]
    values, claimed = (np.array(column) for column in zip(*drawn, strict=True))
    error = values.std(ddof=1)
    assert abs(values.mean() - whole) < 3.5 * error / np.sqrt(len(drawn))
    assert 0.75 < claimed.mean() / error**2 < 1.33
    # Without the shuffle, a roster in which friends stand together would not be sampled fairly.
    assert len({round(value, 3) for value in values}) > 100


def test_the_twin_that_forgets_what_was_not_drawn_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawn triples' own sum: far from the whole by the same measure that the real one keeps."""
    _, kinds = both_kinds(1300, POLICIES["both"])
    whole = group_triangles.triangle_total(kinds).value
    monkeypatch.setattr(
        group_triangles, "_expanded", lambda size, drawn: group_triangles.Total(float(drawn.sum()), 0.0)
    )
    values = np.array([group_triangles.sampled_total(kinds, 0.4, f"coin {i}").value for i in range(120)])
    assert abs(values.mean() - whole) > 3.5 * values.std(ddof=1) / np.sqrt(len(values))


def test_a_sample_of_rows_is_right_on_average_and_says_its_variance() -> None:
    """Of 4-cycles, by [KINDS.3]; the twin that forgets the rows left out is told apart."""
    _, kinds = both_kinds(400, POLICIES["any"])
    whole = group_pairs.sum_pairs(kinds, True)[0]["cycles/count"]
    values, claimed = [], []
    for i in range(150):
        sums, _ = group_pairs.sum_pairs(kinds, True, group_pairs.drawn_rows(kinds, 200, f"coin {i}"))
        values.append(sums["cycles/count"])
        claimed.append(sums["cycles/sampling"])
    error = np.std(values, ddof=1)
    assert abs(np.mean(values) - whole) < 3.5 * error / np.sqrt(len(values))
    assert 0.75 < np.mean(claimed) / error**2 < 1.33
    without_correction = np.mean(claimed) / (1 - 100 / 300)
    assert without_correction / error**2 > 1.33


def test_the_same_coin_draws_the_same_rows() -> None:
    _, kinds = both_kinds(400, POLICIES["nothing"])
    first, again, other = (group_pairs.drawn_rows(kinds, 300, coin) for coin in ("a", "a", "b"))
    assert first is not None
    assert again is not None
    assert other is not None
    assert (first.drawn == again.drawn).all()
    assert not (first.drawn == other.drawn).all()
    assert len(first.certain) + len(first.drawn) == 300
    assert group_pairs.drawn_rows(kinds, 400, "a") is None


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_estimates_by_kinds_are_those_by_planes(monkeypatch: pytest.MonkeyPatch, policy: VisibilityPolicy) -> None:
    collection = collected(300, policy)
    wanted = ["edges", "degrees", "triangles", "transitivity", "four_cycles", "stars:2", "stars:3"]
    found = estimate(collection, wanted)
    monkeypatch.setattr(PositionCollection, "group_scores", lambda self: None)
    expected = estimate(collection, wanted)
    for name in wanted:
        np.testing.assert_allclose(found[name].value, expected[name].value, rtol=1e-7)
        np.testing.assert_allclose(
            found[name].standard_error, expected[name].standard_error, rtol=0.1 if name == "four_cycles" else 1e-6
        )


def test_other_policies_rounds_and_missing_answers_are_kept_as_planes() -> None:
    world = VisibilityAwareGraph(erdos_renyi(30, 60), VisibilityPolicy("0.3", "0.3"))
    assert collect(world, position_survey(world.public, 1), 1).group_scores() is None
    private = VisibilityAwareGraph(erdos_renyi(30, 60), VisibilityPolicy.nothing())
    assert collect(private, position_survey(private.public, 1, rounds=2), 1).group_scores() is None
    assert collect(private, position_survey(private.public, 1), 1, dropout=0.5).group_scores() is None
    assert collect(private, position_survey(private.public, 1), 1).group_scores() is not None


def test_the_variance_from_a_sample_of_rows_is_near_that_of_all() -> None:
    collection = collected(1500, POLICIES["nothing"])
    sampled, whole = (estimate(collection, ["triangles"], WorkBudget(share))["triangles"] for share in (None, 1.0))
    assert sampled.value == pytest.approx(whole.value, rel=1e-9)
    assert sampled.standard_error == pytest.approx(whole.standard_error, rel=0.03)


def test_part_of_the_work_widens_the_interval_and_keeps_the_mean() -> None:
    collection = collected(1500, POLICIES["both"])
    part, whole = (estimate(collection, ["triangles", "four_cycles"], WorkBudget(share)) for share in (0.4, 1.0))
    for name in ("triangles", "four_cycles"):
        assert part[name].standard_error > 1.03 * whole[name].standard_error
        assert abs(part[name].value - whole[name].value) < 4 * part[name].standard_error


def test_a_share_of_the_work_is_between_nothing_and_all() -> None:
    for share in (0, -0.5, 1.5):
        with pytest.raises(BadInput, match="share of the work"):
            WorkBudget(share)
    world = VisibilityAwareGraph(erdos_renyi(30, 60), VisibilityPolicy("0.3", "0.3"))
    with pytest.raises(BadInput, match="kinds of nodes"):
        estimate(collect(world, position_survey(world.public, 1), 1), ["triangles"], WorkBudget(0.5))
