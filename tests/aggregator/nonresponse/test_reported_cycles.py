"""4-cycles when whole rows are missing: exact means and noise, against sums over all cycles.  [HOLDERS.8]"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import combinations
from math import prod

import numpy as np
import pytest

from support.row_worlds import RowWorld
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.estimate import (
    Estimate,
    cube_root_corrected,
    cube_root_interval,
    skew_corrected,
)
from visibility_aware_edge_ldp.aggregator.nonresponse import positions as by_rows
from visibility_aware_edge_ldp.aggregator.nonresponse import reported_cycles as cycles
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_cycles import cycle_parts
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import ReportedRows, reported_rows
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

Position = tuple[int, int]
NOTHING, MIXED = VisibilityPolicy.nothing(), VisibilityPolicy("0.4", "0.2", "0.4")
WORLDS = {
    "nothing public": RowWorld(erdos_renyi(8, 16, seed=3), NOTHING, 1),
    "three classes": RowWorld(erdos_renyi(9, 20, seed=3), MIXED, 1),
    "two rounds": RowWorld(erdos_renyi(8, 16, seed=2), VisibilityPolicy("0.3", "0.3", "0.4"), 1, rounds=2),
}
WORLD = RowWorld(powerlaw(100, 800, seed=2), NOTHING, 2)
RUNS = 200
# Of a 95 % interval; a share of so many runs has a standard error of 1.5 %.
LEAST, MOST = 0.93, 0.97


class Cycle:
    """A 4-cycle of these rows: its sides, its holders, and its weight."""

    def __init__(self, users: tuple[int, ...], rows: ReportedRows, public: set[Position]) -> None:
        ends = zip(users, (*users[1:], users[0]), strict=True)
        self.sides: list[Position] = [(min(pair), max(pair)) for pair in ends]
        self.holders = {side[0] for side in self.sides if side not in public}
        self.weight = float(rows.weights(3)[len(self.holders)])

    def slope(self, scores: dict[Position, float], noisy: tuple[Position, ...] = ()) -> float:
        """The weight times the scores of all other sides."""
        return self.weight * prod(scores[side] for side in self.sides if side not in noisy)


class Direct:
    """Everything by sums over all 4-cycles."""

    def __init__(self, world: RowWorld, rows: ReportedRows) -> None:
        n = world.graph.n
        self.n, places = n, list(combinations(range(n), 2))
        weights = rows.scores.weights(lambda value: value)
        planes = np.unpackbits(rows.scores.planes.view(np.uint8), axis=2, bitorder="little")
        matrix = np.tensordot(weights, planes.astype(float), 1)
        self.scores = {place: float(matrix[place]) for place in places}
        self.public = {place for place, kind in zip(places, world.classes, strict=True) if kind == 0}
        self.noise = {place: 0.0 if place in self.public else s * s - s for place, s in self.scores.items()}
        orders = ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3))
        chosen = combinations(range(n), 4)
        self.cycles = [Cycle(tuple(four[i] for i in order), rows, self.public) for four in chosen for order in orders]

    @property
    def value(self) -> float:
        return sum(cycle.slope(self.scores) for cycle in self.cycles)

    @property
    def pulls(self) -> list[float]:
        return [sum(each.slope(self.scores) for each in self.cycles if u in each.holders) for u in range(self.n)]

    def variance(self, cycles: list[Cycle], of: int | None = None, apart: bool = True) -> float:
        """[COUNTS.7]; if ``apart`` without mixed products of two cycles with the same two opposite sides, and for the
        pull of a user without those of cycles that it reaches the noisy side of, at one end and at the other.
        """
        total = 0.0
        for order in (1, 2, 3, 4):
            slopes: dict[tuple[tuple[Position, ...], object], float] = defaultdict(float)
            for cycle in cycles:
                for noisy in combinations(sorted(cycle.sides), order):
                    slopes[(noisy, self._told_apart(cycle, noisy, of) if apart else None)] += cycle.slope(
                        self.scores, noisy
                    )
            signed = (-1) ** (order + 1)
            total += signed * sum(prod(self.noise[i] for i in key[0]) * each**2 for key, each in slopes.items())
        return total

    @staticmethod
    def _told_apart(cycle: Cycle, noisy: tuple[Position, ...], of: int | None) -> object:
        if len(noisy) == 2:
            return None if set(noisy[0]) & set(noisy[1]) else tuple(cycle.sides)
        if len(noisy) > 2 or of is None or of in noisy[0]:
            return None
        near = [side for side in cycle.sides if of in side]
        return next(i for i in noisy[0] for side in near if i in side)


def heard(case: str, share: float = 0.7, seed: int = 1) -> tuple[ReportedRows, Direct]:
    world = WORLDS[case]
    rows = reported_rows(world.sample(np.random.default_rng(seed), share))
    return rows, Direct(world, rows)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", WORLDS)
def test_values_pulls_and_noise_are_those_of_sums_over_all_cycles(case: str, seed: int) -> None:
    rows, direct = heard(case, seed=seed)
    parts = cycle_parts(rows)
    assert parts.value == pytest.approx(direct.value, rel=1e-9)
    assert parts.pulls == pytest.approx(direct.pulls, rel=1e-9, abs=1e-9)
    four = sum(each.weight**2 * prod(direct.noise[side] for side in each.sides) for each in direct.cycles)
    assert parts.floor == pytest.approx(four, rel=1e-9, abs=1e-12)
    by_pull = sum(direct.variance([each for each in direct.cycles if u in each.holders], u) for u in range(direct.n))
    assert parts.pull_noise == pytest.approx(by_pull, rel=1e-9)
    # Mixed products of two cycles with the same opposite sides are left out where there are several classes.
    apart = case != "nothing public"
    assert parts.noise == pytest.approx(direct.variance(direct.cycles, apart=apart), rel=1e-9)


def test_tiles_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = reported_rows(RowWorld(powerlaw(60, 300, seed=3), MIXED, 1).sample(np.random.default_rng(1), 0.7))
    whole = cycle_parts(rows)
    monkeypatch.setattr(cycles, "ROWS", 7)
    tiled = cycle_parts(rows)
    assert tiled.pulls == pytest.approx(whole.pulls, rel=1e-9)
    assert (tiled.value, tiled.noise, tiled.pull_noise) == pytest.approx(
        (whole.value, whole.noise, whole.pull_noise), rel=1e-9
    )


def means_over_absences(world: RowWorld, number: int) -> tuple[float, float]:
    """Of the estimate, and of the one that divides by shares of positions; so much ε leaves no noise."""
    bits, chosen = world.bits.astype(np.int64), list(combinations(world.asked.tolist(), number))
    here = [world.collection(bits, users) for users in chosen]
    ours = np.mean([cycle_parts(reported_rows(each)).value for each in here])
    twin = np.mean([float(estimate_all(each, ["four_cycles"])["four_cycles"].value) for each in here])
    return float(ours), float(twin)


@pytest.mark.parametrize("number", [3, 4, 5])
def test_the_mean_over_all_absences_is_the_truth_and_a_twin_by_positions_is_off(number: int) -> None:
    world = RowWorld(erdos_renyi(7, 15, seed=4), NOTHING, 50)
    truth, (ours, twin) = exact(world.graph, "four_cycles"), means_over_absences(world, number)
    assert ours == pytest.approx(truth, rel=1e-9)
    assert abs(twin - truth) > 0.05 * truth


def test_the_mean_over_all_answers_and_absences_is_the_truth() -> None:
    world = RowWorld(erdos_renyi(5, 9, seed=3), VisibilityPolicy("0.4", "0.1", "0.5", salt="b"), 1)
    number, everything = world.asked.size - 1, world.everything()
    value, spread, noise = [], [], []
    for users in combinations(world.asked.tolist(), number):
        each = [(chance, cycle_parts(reported_rows(world.collection(said, users)))) for chance, said in everything]
        mean = sum(chance * parts.value for chance, parts in each)
        value.append(mean)
        spread.append(sum(chance * parts.value**2 for chance, parts in each) - mean**2)
        noise.append(sum(chance * parts.noise for chance, parts in each))
    assert (number, world.hidden.size) == (3, 5)
    assert np.mean(value) == pytest.approx(exact(world.graph, "four_cycles"), rel=1e-9)
    assert np.mean(spread) <= np.mean(noise) <= 1.15 * np.mean(spread)


@pytest.mark.long
def test_the_noise_of_pulls_is_about_what_is_told() -> None:
    rng, users = np.random.default_rng(5), WORLD.asked[::2]
    clear = RowWorld(WORLD.graph, NOTHING, 4)
    found = [cycle_parts(reported_rows(clear.collection(clear.drawn(rng), users))) for _ in range(60)]
    told, true = np.mean([each.pull_noise for each in found]), np.var([each.pulls for each in found], axis=0).sum()
    assert told == pytest.approx(true, rel=0.2)


@pytest.mark.parametrize("rounds", [1, 2])
def test_with_everybody_present_value_and_noise_are_those_of_position(rounds: int) -> None:
    world = RowWorld(powerlaw(70, 500, seed=2), NOTHING, 2, rounds)
    collection = world.collection(world.drawn(np.random.default_rng(1)), world.asked)
    there, parts = (
        estimate_all(collection, ["four_cycles"])["four_cycles"],
        cycle_parts(reported_rows(collection)),
    )
    assert parts.value == pytest.approx(there.value, rel=1e-9)
    assert parts.noise == pytest.approx(there.variance, rel=1e-3)


def test_three_answers_are_needed_and_what_rests_on_the_absent_is_told() -> None:
    outcomes = WORLD.drawn(np.random.default_rng(1))
    with pytest.raises(BadStatistic, match=r"Only 2 of .* at least 3 are needed"):
        by_rows.estimate(WORLD.collection(outcomes, WORLD.asked[:2]), ["four_cycles"])
    rows = reported_rows(WORLD.collection(outcomes, WORLD.asked[::2]))
    # Each 4-cycle rests on two holders or three.
    assert 2 < by_rows.needed_in_all(rows, "four_cycles") / cycle_parts(rows).value < 3


@pytest.mark.parametrize("policy", [NOTHING, VisibilityPolicy("1", "0", "0")], ids=["nothing", "everything public"])
def test_graphs_without_friends_or_without_secrets(policy: VisibilityPolicy) -> None:
    world = RowWorld(erdos_renyi(6, 0, seed=1), policy, 50)
    rows = reported_rows(world.collection(world.bits.astype(np.int64), world.asked[1:]))
    parts = cycle_parts(rows)
    assert parts.value == pytest.approx(0, abs=1e-9)
    assert parts.pulls == pytest.approx(np.zeros(6), abs=1e-9)


@cache
def runs(share: float) -> tuple[Estimate, ...]:
    rng = np.random.default_rng(11)
    return tuple(by_rows.estimate(WORLD.sample(rng, share), ["four_cycles"])["four_cycles"] for _ in range(RUNS))


@pytest.mark.long
@pytest.mark.parametrize("share", [0.7, 0.4])
def test_intervals_hold_the_truth_as_often_as_they_say(share: float) -> None:
    truth, found = exact(WORLD.graph, "four_cycles"), runs(share)
    value, variance = np.array([(float(one.value), float(one.variance)) for one in found]).T
    assert LEAST <= np.mean([low <= truth <= high for low, high in (one.interval() for one in found)]) <= MOST
    assert abs(value.mean() - truth) < 4 * value.std() / RUNS**0.5
    assert variance.mean() == pytest.approx(value.var(), rel=0.25)


@pytest.mark.long
def test_twins_with_straight_intervals_or_without_absence_are_caught() -> None:
    truth, found = exact(WORLD.graph, "four_cycles"), runs(0.4)
    straight = np.mean([abs(float(one.value) - truth) <= 1.96 * float(one.standard_error) for one in found])
    assert straight < 0.9
    rng, held = np.random.default_rng(3), 0
    for _ in range(60):
        parts = cycle_parts(reported_rows(WORLD.sample(rng, 0.4)))
        held += abs(parts.value - truth) <= 1.96 * max(parts.noise, parts.floor) ** 0.5
    assert held < 0.85 * 60


@pytest.mark.parametrize("relative", [0.05, 0.3, 0.5])
def test_cubes_of_normal_values_are_held_as_often_as_said(relative: float) -> None:
    """T·Z³ with a variance estimate that goes with its square; straight intervals hold far fewer if it varies much."""
    z = 1 - relative**2 / 9 + relative / 3 * np.random.default_rng(1).standard_normal(20_000)
    share = relative**2 / (1 + relative**2)
    each = [Estimate("four_cycles", t, share * t * t, skew=2 * share**0.5) for t in (z**3).tolist()]
    held = np.mean([low <= 1 <= high for low, high in (cube_root_interval(one, 0.95) for one in each)])
    assert held == pytest.approx(0.95, abs=0.01)


def test_the_bend_is_that_of_small_skews_and_has_no_end_for_large_ones() -> None:
    assert cube_root_corrected(1.5, 0.0) == 1.5
    for point in (-2.0, -1.0, 1.0, 2.0):
        assert cube_root_corrected(point, 0.01) == pytest.approx(skew_corrected(point, 0.01), abs=1e-3)
    points = [cube_root_corrected(point, 0.8) for point in np.linspace(-5, 5, 50).tolist()]
    assert np.all(np.diff(points) > 0)
    assert cube_root_corrected(-9.0, 1.0) == -np.inf
