"""What each check of an estimator must find: twins of right estimators that are wrong in one way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from support.estimator_runs import POLICIES, Cell, Setting, run_of
from support.estimator_ways import one_survey
from support.interval_checks import findings, ratio, share, z_of_bias
from support.unlike_graphs import unlike_graph
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.statistic import exact

EPSILON = 4.0
# Of two sides of a normal law beyond 5 standard deviations.
FIXED = 5.7e-7
Twin = Callable[[Estimate], Estimate]


def biased(found: Estimate) -> Estimate:
    return replace(found, value=found.value + 0.3 * found.standard_error)


def narrow(found: Estimate) -> Estimate:
    low, high = found.interval()
    return replace(
        found, limits=lambda level: (found.value + 0.8 * (low - found.value), found.value + 0.8 * (high - found.value))
    )


def wide(found: Estimate) -> Estimate:
    low, high = found.interval()
    return replace(
        found, limits=lambda level: (found.value + 1.4 * (low - found.value), found.value + 1.4 * (high - found.value))
    )


def bold(found: Estimate) -> Estimate:
    return replace(found, variance=found.variance / 1.3**2, limits=found.interval)


def timid(found: Estimate) -> Estimate:
    return replace(found, variance=found.variance * 1.3**2, limits=found.interval)


def elsewhere(found: Estimate) -> Estimate:
    return replace(found, limits=lambda level: (found.value + 1, found.value + 2))


def endless(found: Estimate) -> Estimate:
    return replace(found, variance=math.inf, limits=found.interval)


TWINS: dict[Twin, str] = {
    biased: "bias",
    narrow: "coverage",
    wide: "coverage",
    bold: "calibration",
    timid: "calibration",
    elsewhere: "odd",
    endless: "odd",
}
SETTING = Setting("about 100 nodes", "nothing", EPSILON, 0.3)


def cells_with(estimates: Sequence[Estimate], truth: float, twin: Twin | None = None, parts: int = 1) -> list[Cell]:
    """These estimates, or wrong ones made of them, in so many cells."""
    runs = [run_of(one if twin is None else twin(one), truth) for one in estimates]
    return [Cell(SETTING, "degrees", "edges", runs[part::parts]) for part in range(parts)]


@pytest.fixture(scope="module")
def right() -> list[Estimate]:
    """Estimates that are right by construction: as many as it takes to find the twins."""
    rng, size = np.random.default_rng(5), 1500
    variances = rng.uniform(0.5, 1.5, size)
    values = rng.normal(0.0, 1.0, size) * np.sqrt(variances)
    return [Estimate("edges", float(value), float(each)) for value, each in zip(values, variances, strict=True)]


@pytest.mark.parametrize("parts", [1, 100])
@pytest.mark.parametrize("twin", [None, *TWINS])
def test_each_twin_is_found_and_the_right_one_is_not(right: list[Estimate], twin: Twin | None, parts: int) -> None:
    found = findings(cells_with(right, 0.0, twin, parts), FIXED)
    assert (found == []) if twin is None else (TWINS[twin] in {each.kind for each in found})


@pytest.mark.long
def test_twins_of_a_real_estimator_are_found() -> None:
    """Of one whose interval allows for no large user who is away, so that it holds no more than it says."""
    name, policy = "tail:12", POLICIES.get(SETTING.policy, SETTING.policy)
    world = VisibilityAwareGraph(unlike_graph(SETTING.graph), policy)  # without groups: all answer alike
    real = [one_survey("degrees", world, EPSILON, [name], str(seed), SETTING.away)[name] for seed in range(1500)]
    assert not any(one.conservative for one in real)
    truth = float(exact(world.graph, name))
    assert findings(cells_with(real, truth), FIXED) == []
    for twin, kind in TWINS.items():
        assert kind in {each.kind for each in findings(cells_with(real, truth, twin), FIXED)}, twin.__name__


def test_what_says_that_it_holds_more_may_hold_more(right: list[Estimate]) -> None:
    """But its standard error is tested all the same."""
    runs = [run_of(replace(wide(one), conservative=True), 0.0) for one in right]
    assert findings([Cell(SETTING, "degrees", "edges", runs)], FIXED) == []
    runs = [run_of(replace(timid(one), conservative=True), 0.0) for one in right]
    assert [each.kind for each in findings([Cell(SETTING, "degrees", "edges", runs)], FIXED)] == ["calibration"]


def test_a_refusal_without_a_reason_is_found(right: list[Estimate]) -> None:
    (cell,) = cells_with(right, 0.0)
    assert [each.kind for each in findings([replace(cell, refusals=["No."])], FIXED)] == ["odd"]
    assert findings([replace(cell, refusals=["Too few users have reported; wait for more."])], FIXED) == []


def test_what_is_measured_is_what_was_put_in(right: list[Estimate]) -> None:
    whole, parts = cells_with(right, 0.0), cells_with(right, 0.0, bold, 100)
    assert abs(z_of_bias(whole)) < 3
    assert ratio(whole) == pytest.approx(1.0, abs=0.06)
    assert ratio(parts) == pytest.approx(1.3, abs=0.08)
    assert share(whole[0].runs) == pytest.approx(0.95, abs=0.02)
