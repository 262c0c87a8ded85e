"""How often intervals hold the truth when whole rows are missing, and that nothing is biased.  [HOLDERS.4-5]"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from support.estimator_runs import Setting, cells_of
from support.row_worlds import RowWorld
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.nonresponse import positions as nonresponse
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

STATISTICS = ("edges", "stars:2", "stars:3", "triangles")
WORLD = RowWorld(powerlaw(100, 800, seed=2), VisibilityPolicy.nothing(), 2)
RUNS = 1000
# Of a 95 % interval; a share of so many runs has a standard error of 0.7 %.
LEAST, MOST = 0.93, 0.97


@cache
def runs(share: float, seed: int = 11) -> dict[str, np.ndarray]:
    """(runs, 3): value, and both ends of the 95 % interval."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in STATISTICS}
    for _ in range(RUNS):
        for name, one in nonresponse.estimate(WORLD.sample(rng, share), STATISTICS).items():
            found[name].append((float(one.value), *one.interval()))  # type: ignore[arg-type]
    return {name: np.array(each) for name, each in found.items()}


@pytest.mark.long
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("share", [1.0, 0.7, 0.4])
def test_intervals_hold_the_truth_as_often_as_they_say(share: float, statistic: str) -> None:
    truth, (value, low, high) = exact(WORLD.graph, statistic), runs(share)[statistic].T
    assert LEAST <= np.mean((low <= truth) & (truth <= high)) <= MOST
    z = (value.mean() - truth) / (value.std(ddof=1) / np.sqrt(RUNS))
    assert abs(z) < 4.5


@pytest.mark.long
@pytest.mark.parametrize("statistic", ["stars:2", "triangles"])
def test_a_twin_that_takes_positions_for_independent_is_caught(statistic: str) -> None:
    """POSITION's own estimator, made for positions that stay away one by one, on the same rows."""
    rng, truth = np.random.default_rng(11), exact(WORLD.graph, statistic)
    found = [estimate_all(WORLD.sample(rng, 0.4), [statistic])[statistic] for _ in range(60)]
    value = np.array([float(one.value) for one in found])
    covered = np.mean([low <= truth <= high for low, high in (one.interval() for one in found)])
    z = (value.mean() - truth) / (value.std(ddof=1) / np.sqrt(value.size))
    assert abs(z) > 4.5 or covered < 0.8


@cache
def held_by_group(allowing: bool) -> tuple[float, float]:
    """How often intervals of groups' mean degrees held the truth, and how often one was above all that they allowed."""
    setting = Setting("about 100 nodes", "profiles", 4.0, 0.6)
    with pytest.MonkeyPatch.context() as patch:
        if not allowing:
            patch.setattr(nonresponse.RowCells, "allowing", lambda known, found, gradient: found)
        (cell,) = (
            each for each in cells_of(setting, "position by rows", range(300)) if each.statistic == "group_degrees"
        )
    return float(np.mean([run.held for run in cell.runs])), float(np.mean([run.below for run in cell.runs]))


@pytest.mark.long
def test_groups_allow_for_somebody_large_who_is_absent() -> None:
    """Of 105 people 42 answer, half of the others' profiles are public; without the allowance, ends lie too low.

    [ABSENT.3], [MIXING.8]
    """
    held, below = held_by_group(True)
    assert held >= LEAST
    assert below < 0.035
    without, far = held_by_group(False)
    assert without < held
    assert far > 0.05


def test_few_answers_say_what_a_ratio_takes_for_granted() -> None:
    sample = WORLD.sample(np.random.default_rng(5), 0.4)
    found = nonresponse.estimate(sample, ["transitivity"])["transitivity"]
    assert found.holds_if.startswith("the 40 users who answered are like the others")


def test_a_twin_that_knows_of_noise_alone_is_caught() -> None:
    """The same values with the answers' noise as their only error cover far too rarely."""
    rng, truth, held = np.random.default_rng(3), exact(WORLD.graph, "triangles"), 0
    for _ in range(60):
        parts, _ = nonresponse.parts_of(nonresponse.reported_rows(WORLD.sample(rng, 0.4)), "triangles")
        held += abs(parts.value - truth) <= 1.96 * max(parts.noise, parts.floor) ** 0.5
    assert held < 0.85 * 60
