"""Every way to ask, on graphs of one to six nodes, empty, complete, stars: what is told has the shape of an estimate.

Either a number inside its own interval, with a standard error that is finite or left out, or a refusal that says why.
Where one user alone has answered, both are infinite.
"""

from __future__ import annotations

import math
import os
import random
import re
import secrets
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from support.estimator_runs import Cell, Run, Setting, cells_of, estimates_or_reasons, run_of
from support.estimator_ways import WAYS
from support.interval_checks import odd_shapes
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, student
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.simulation.estimate import in_shape
from visibility_aware_edge_ldp.truth.graph import Graph

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


# ── drawn at random


DRAWN_POLICIES = ("nothing", "profiles:0.5", "document-001", "hubs:0.02", "0.3,0.3,0.4", "0,1,0", "1,0,0")


def drawn(draw: random.Random) -> tuple[VisibilityAwareGraph, Setting]:
    """A graph of one to six nodes in some shape with any policy, and what it is asked with."""
    n = draw.randint(1, 6)
    pairs = list(combinations(range(n), 2))
    shapes = {
        "empty": [],
        "complete": pairs,
        "star": [each for each in pairs if each[0] == 0],
        "path": [each for each in pairs if each[1] - each[0] == 1],
        "some": [each for each in pairs if draw.random() < 0.5],
    }
    shape, policy = draw.choice(list(shapes)), draw.choice(DRAWN_POLICIES)
    graph = Graph(tuple(range(n)), np.array(shapes[shape], np.int32).reshape(-1, 2))
    shares = f"fractions:{policy}" if policy[0].isdigit() else policy
    groups = Groups("number", ("a", "b", "c"), np.array([draw.randrange(3) for _ in range(n)]))
    epsilon, away = draw.choice((0.05, 0.5, 1.0, 4.0, 20.0)), draw.choice((0.0, 0.0, 0.1, 0.5, 0.9))
    words = f"{shape} of {n}: {shapes[shape]}, groups {groups.members.tolist()}"
    return VisibilityAwareGraph(graph, shares).grouped(groups), Setting(words, policy, epsilon, away)


def open_entries_alone(told: Estimate, truth: object) -> Run:
    """The run of an estimate; where entries have infinite errors, whether it holds the truth is said of these alone."""
    run, (low, high) = run_of(told, truth), told.interval()
    is_open = np.isinf(np.atleast_1d(told.variance))
    held = np.atleast_1d((low <= np.asarray(truth)) & (np.asarray(truth) <= high))
    return run._replace(held=float(held[is_open].all())) if is_open.any() else run


def odd_draws(way: str, seed: str, count: int) -> list[str]:
    """What is odd about so many draws, a line each."""
    how, lines = WAYS[way], []
    for number in range(count):
        world, at = drawn(random.Random(f"{seed}, {way}, {number}"))
        at = replace(at, away=0.0) if how.nobody_away else at
        found = estimates_or_reasons(how, world, at, how.names(world.graph.n), f"{seed}, {number}")
        for name, told in found.items():
            if isinstance(told, str):
                lines += odd([Cell(at, way, name, (), (told,))])
                continue
            truth = in_shape({name: exact(world.graph, name)}, {name: told})[name]
            lines += odd([Cell(at, way, name, (open_entries_alone(told, truth),))])
    return lines


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [4, pytest.param(150, marks=pytest.mark.long)])
def test_shapes_on_tiny_graphs_drawn_at_random(way: str, count: int) -> None:
    seed = os.environ.get("VA_EDGE_LDP_SUITE_SEED") or str(secrets.randbits(32))
    assert not (lines := odd_draws(way, seed, count)), "\n".join([f"drawn with VA_EDGE_LDP_SUITE_SEED={seed}", *lines])


def test_one_person_alone_has_no_triangle() -> None:
    world = VisibilityAwareGraph(Graph((0,), np.empty((0, 2), np.int32)))
    for way in ("rows, clipped", "rows", "position", "curator"):
        found = WAYS[way].ask(world, 1.0, ["triangles"], "1", 0.0)["triangles"]
        low, high = found.interval()
        assert low <= 0 <= high


def test_nobody_heard_is_a_refusal_of_parts_too() -> None:
    """Some users hide nothing and close triangles, and of the others nobody has answered."""
    pairs = np.array(list(combinations(range(6), 2)), np.int32)
    world = VisibilityAwareGraph(Graph(tuple(range(6)), pairs), "profiles:0.5")
    assert 0 < len(world.public.edges) < len(pairs)
    told = [
        estimates_or_reasons(WAYS["rows, parts"], world, Setting("", "", 60.0, 0.95), ["triangles"], f"{seed}")
        for seed in range(12)
    ]
    assert any("have answered in both rounds" in str(each["triangles"]) for each in told)


# ── what the checks themselves see


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
