"""Every way to ask, on graphs of two to four nodes, empty and complete: what is told has the shape of an estimate.

Either a number inside its own interval, with a standard error that is finite or left out, or a refusal that says why.
Where one user alone has answered, both are infinite.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import product

import pytest

from support.estimator_runs import Cell, Run, Setting, cells_of
from support.estimator_ways import WAYS
from support.interval_checks import odd_shapes
from visibility_aware_edge_ldp.aggregator.estimate import student

SIZES = (2, 3, 4)
AWAY = (0.0, 0.5)
GOOD = Run(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, True, True, False)
# What may only be said where somebody is away.
ABSENCE = re.compile("answered|reported a degree|has sent")


def settings() -> list[Setting]:
    """Every size, without edges and with all; policies, noise and shares away in turn."""
    parts = product(SIZES, (0, 1), ("nothing", "hash"), AWAY)
    return [
        Setting(f"random:{n},{full * math.comb(n, 2)}", policy, (0.5, 20.0)[(n + full + at) % 2], away)
        for at, (n, full, policy, away) in enumerate(parts)
    ]


def stays_open(cell: Cell) -> bool:
    """Whether one user alone may have answered, of all or of a group: that says nothing of others, and anything holds.

    Such a standard error is infinite, as the interval is, which then holds every truth.
    """
    return cell.setting.away > 0 and all(run.held == 1 for run in cell.runs if math.isinf(run.variance))


def odd(cells: list[Cell]) -> list[str]:
    """What is odd about these cells, a line each."""
    shapes = [
        f"{cell.estimator}: {each} ({cell.setting})"
        for cell in cells
        for each in odd_shapes([cell])
        if not each.chance and not (stays_open(cell) and "infinite" in each.words)
    ]
    wrongly = [
        f"{cell.estimator}: {reason} ({cell.setting})"
        for cell in cells
        if not cell.setting.away
        for reason in cell.refusals
        if ABSENCE.search(reason)
    ]
    return shapes + wrongly


@pytest.mark.parametrize("way", WAYS)
def test_shapes_on_tiny_graphs(way: str) -> None:
    cells = [cell for at in settings() for cell in cells_of(at, way, range(1))]
    assert not (lines := odd(cells)), "\n".join(lines)


@pytest.mark.parametrize(
    "twin",
    [GOOD._replace(is_inside=False), GOOD._replace(variance=math.inf), GOOD._replace(error=math.nan)],
)
def test_odd_shapes_are_found(twin: Run) -> None:
    right = Cell(settings()[0], "degrees", "edges", [GOOD], ["Nobody has answered yet, so nothing can be estimated."])
    assert odd([replace(right, setting=replace(right.setting, away=0.5))]) == []
    assert odd([right])
    assert odd([replace(right, runs=[twin], refusals=[])])


def test_a_variance_that_is_nearly_certain_has_normal_points() -> None:
    assert student(0.975, 1e200) == student(0.975, math.inf) == pytest.approx(1.959964, abs=1e-6)
