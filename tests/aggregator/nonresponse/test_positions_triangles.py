"""Transitivity when whole rows are missing: exact covariances, and how often intervals hold the truth.  [HOLDERS.6]"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from support.row_worlds import RowWorld
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.nonresponse import positions as nonresponse
from visibility_aware_edge_ldp.aggregator.nonresponse.positions import by_position, transitivity_parts
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import ReportedRows, reported_rows, star_parts
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_triangles import (
    ByPosition,
    triangle_parts,
    triangles_and_wedges,
)
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

MIXED = VisibilityPolicy("0.4", "0.2", "0.4")
TINY = {
    "nothing public": RowWorld(erdos_renyi(4, 4, seed=3), VisibilityPolicy.nothing(), 1),
    "three classes": RowWorld(erdos_renyi(5, 7, seed=4), MIXED, 1),
    "two rounds": RowWorld(erdos_renyi(4, 4, seed=1), VisibilityPolicy("0.5", "0.2", "0.3"), 1, rounds=2),
}
WORLD = RowWorld(powerlaw(100, 800, seed=2), VisibilityPolicy.nothing(), 2)
# Here the standard error is larger than the value.
NOISY = RowWorld(WORLD.graph, VisibilityPolicy.nothing(), 1)
# Here who stayed away is nearly all of the error.
CLEAR = RowWorld(WORLD.graph, VisibilityPolicy.nothing(), 5)
RUNS = 500
# Of a 95 % interval; a share of so many runs has a standard error of 1 %.
LEAST, MOST = 0.93, 0.97


def covariances(
    world: RowWorld, users: tuple[int, ...], slopes: Callable[[ReportedRows], ByPosition]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of the two estimates, and of each user's two pulls, added up: over all answers, and the mean that was told."""
    values, pulls, told = np.zeros(3), np.zeros((3, world.graph.n)), np.zeros(2)
    for chance, outcomes in world.everything():
        rows = reported_rows(world.collection(outcomes, users))
        wedge, (triangle, noise, pull_noise) = star_parts(rows, 2), triangles_and_wedges(rows, slopes(rows))
        one, other = (triangle.value, triangle.pulls), (wedge.value, wedge.pulls)
        values += chance * np.array([one[0], other[0], one[0] * other[0]])
        pulls += chance * np.array([one[1], other[1], one[1] * other[1]])
        told += chance * np.array([noise, pull_noise])
    true = float(values[2] - values[0] * values[1]), float((pulls[2] - pulls[0] * pulls[1]).sum())
    return true, (float(told[0]), float(told[1]))


@pytest.mark.parametrize("case", TINY)
def test_what_triangles_and_wedges_have_in_common_is_told_without_bias(case: str) -> None:
    world = TINY[case]
    for heard in range(2, world.asked.size + 1):
        for users in combinations(world.asked.tolist(), heard):
            true, told = covariances(world, users, by_position)
            assert told == pytest.approx(true, rel=1e-9, abs=1e-9)


def test_a_twin_that_takes_every_wedge_for_two_holders_is_caught() -> None:
    def twin(rows: ReportedRows) -> ByPosition:
        two, known = float(rows.weights(2)[2]), by_position(rows)
        degree = rows.scores.node_sums(lambda value: value)
        return ByPosition(two * degree, two * degree, 2 * two, known.later)

    world = TINY["nothing public"]
    true, told = covariances(world, (0, 1), twin)
    assert abs(told[0] - true[0]) > 0.05 * abs(true[0])
    assert abs(told[1] - true[1]) > 0.05 * abs(true[1])


@pytest.mark.parametrize("rounds", [1, 2])
def test_with_everybody_present_value_and_noise_are_those_of_position(rounds: int) -> None:
    world = RowWorld(powerlaw(70, 500, seed=2), MIXED, 2, rounds)
    collection = world.collection(world.drawn(np.random.default_rng(1)), world.asked)
    there, parts = (
        estimate_all(collection, ["transitivity"])["transitivity"],
        transitivity_parts(reported_rows(collection)),
    )
    assert parts.value == pytest.approx(there.value, rel=1e-9)
    assert parts.noise == pytest.approx(there.variance, rel=1e-6)


def test_a_graph_that_seems_to_have_no_wedges_may_have_any_share() -> None:
    world = RowWorld(erdos_renyi(12, 0, seed=1), VisibilityPolicy.nothing(), 1)
    found = [
        nonresponse.estimate(world.sample(rng, 0.5), ["transitivity"])["transitivity"]
        for rng in map(np.random.default_rng, range(12))
    ]
    unknown = [one for one in found if np.isnan(one.variance)]
    assert unknown
    assert all((one.value, one.interval()) == (0.0, (0.0, 1.0)) for one in unknown)


def test_two_answers_are_needed_and_what_rests_on_the_absent_is_told() -> None:
    outcomes = WORLD.drawn(np.random.default_rng(1))
    with pytest.raises(nonresponse.BadStatistic, match=r"Only 1 of .* at least 2 are needed"):
        nonresponse.estimate(WORLD.collection(outcomes, WORLD.asked[:1]), ["transitivity"])
    rows = reported_rows(WORLD.collection(outcomes, WORLD.asked[::2]))
    triangle, wedge = triangle_parts(rows), star_parts(rows, 2)
    more = [part.value + 0.001 * float(part.pulls.sum()) for part in (triangle, wedge)]
    change = 3 * more[0] / more[1] - 3 * triangle.value / wedge.value
    assert 0.001 * nonresponse.needed_in_all(rows, "transitivity") == pytest.approx(change, rel=0.01)


def test_asked_together_triangles_and_two_stars_are_the_same_and_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, count = [], nonresponse.triangles_and_wedges
    monkeypatch.setattr(nonresponse, "triangles_and_wedges", lambda *given: counts.append(given) or count(*given))
    monkeypatch.setattr(nonresponse, "triangle_parts", lambda rows: pytest.fail("triangles are counted again"))
    names, collection = ("stars:2", "triangles", "transitivity"), WORLD.sample(np.random.default_rng(3), 0.7)
    together = nonresponse.estimate(collection, names)
    assert len(counts) == 1
    monkeypatch.undo()
    for name in names:
        alone = nonresponse.estimate(collection, [name])[name]
        assert (together[name].as_dict(), together[name].variance) == (alone.as_dict(), alone.variance)


@cache
def runs(share: float, world: RowWorld = WORLD) -> tuple[Estimate, ...]:
    rng = np.random.default_rng(11)
    return tuple(nonresponse.estimate(world.sample(rng, share), ["transitivity"])["transitivity"] for _ in range(RUNS))


def held(found: tuple[Estimate, ...]) -> float:
    truth = exact(WORLD.graph, "transitivity")
    return float(np.mean([low <= truth <= high for low, high in (one.interval() for one in found)]))


@pytest.mark.long
@pytest.mark.parametrize("share", [0.7, 0.4])
def test_intervals_hold_the_truth_as_often_as_they_say(share: float) -> None:
    assert LEAST <= held(runs(share)) <= MOST


@pytest.mark.long
def test_a_ratio_that_noise_hides_is_held_as_often_and_a_twin_of_first_order_too_often() -> None:
    """The twin takes the noise that the estimated ratio would have, which is largest where the ratio is far off."""
    found = runs(0.4, NOISY)
    assert np.median([one.standard_error for one in found]) > exact(NOISY.graph, "transitivity")
    assert LEAST <= held(found) <= MOST
    twins = tuple(replace(one, limits=None) if one.variance < np.inf else one for one in found)
    assert held(twins) > MOST + 0.005


@pytest.mark.long
@pytest.mark.parametrize("share", [0.7, 0.4])
def test_the_ratio_is_off_by_little_and_its_variance_is_known(share: float) -> None:
    value, variance = np.array([(float(one.value), float(one.variance)) for one in runs(share)]).T
    assert abs(value.mean() - exact(WORLD.graph, "transitivity")) < 0.25 * value.std()
    assert variance.mean() == pytest.approx(value.var(), rel=0.2)
    assert not runs(share)[0].unbiased


@pytest.mark.parametrize("share", [0.7, 0.4])
def test_twins_without_absence_or_without_the_covariance_are_caught(share: float) -> None:
    rng, truth, runs_here = np.random.default_rng(5), exact(CLEAR.graph, "transitivity"), 80
    by_noise, apart = 0, 0
    for _ in range(runs_here):
        rows = reported_rows(CLEAR.sample(rng, share))
        parts = transitivity_parts(rows)
        by_noise += abs(parts.value - truth) <= 1.96 * max(parts.noise, parts.floor) ** 0.5
        triangle, wedge = (nonresponse._one(rows, name) for name in ("triangles", "stars:2"))
        relative = sum(float(one.variance) / float(one.value) ** 2 for one in (triangle, wedge))
        apart += abs(parts.value - truth) <= 1.96 * parts.value * relative**0.5
    assert by_noise < 0.85 * runs_here
    assert apart == runs_here
