"""How long a plan will take, before it is made; and how long a run of each trust model would take here."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ceil, nan

import numpy as np

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.plan.left_out import ALL, LeftOut
from visibility_aware_edge_ldp.evaluation.plan.one_pass import MADE_UP_ROWS, ROWS, numbers_of, rows_of
from visibility_aware_edge_ldp.evaluation.plan.predicted import offers
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation.foretold import LONG, fitted, foretell, is_large, work_of_run
from visibility_aware_edge_ldp.simulation.run import Run

Make = Callable[[int, int], object]
"""Makes the plan of a smaller graph of the same kind: so many nodes and edges."""
# What an ordinary core does in a second: edges of all that is worked out for them, and numbers gathered for sums.
USUAL_EDGES, USUAL_NUMBERS = 8e4, 4e8
# Smaller plans: of so few nodes that all are looked at, which tells edges and numbers apart; and of parts of the nodes.
FEW, PARTS = (256, 1024), (16, 8)


def seconds_of_plan(nodes: int, edges: int, made_up: bool, make: Make) -> float:
    """By plans of smaller graphs of the same mean degree; the usual time where that is short.

    T = C + A·(edges) + B·(numbers gathered for the sums). 0, which is not said, where a policy knows no smaller graph.
    """
    rows = MADE_UP_ROWS if made_up else ROWS
    wanted = _terms(nodes, edges, rows)
    usual = wanted[1] / USUAL_EDGES + wanted[2] / USUAL_NUMBERS
    if usual < LONG / 4:
        return usual
    sizes = sorted({min(few, nodes) for few in FEW} | {max(nodes // part, min(FEW[0], nodes)) for part in PARTS})
    try:
        _taken(make, nodes, edges, sizes[0])  # loads kernels
        seconds = [_taken(make, nodes, edges, size) for size in sizes]
    except BadInput:
        return 0.0
    terms = np.array([_terms(size, _edges(nodes, edges, size), rows) for size in sizes])
    return float(fitted(terms, np.array(seconds)) @ np.array(wanted))


def _terms(nodes: int, edges: int, rows: int) -> list[float]:
    # 4-cycles gather more numbers for each node, everywhere alike.
    return [1.0, float(edges), float(rows_of(nodes, edges, False, rows) * numbers_of(nodes, edges, False))]


def _edges(nodes: int, edges: int, size: int) -> int:
    return min(ceil(edges * size / nodes), size * (size - 1) // 4)


def _taken(make: Make, nodes: int, edges: int, size: int) -> float:
    begin = time.perf_counter()
    make(size, _edges(nodes, edges, size))
    return time.perf_counter() - begin


def seconds_of_run(world: VisibilityAwareGraph, trust: str, statistics: Sequence[str], without: LeftOut = ALL) -> float:
    """How long a run of all that a trust model answers would take here; NaN where nobody can tell beforehand."""
    asked = tuple(name for name in statistics if offers(trust, name))
    if not asked or (trust == "position" and without.positions < 1):
        return nan
    run = Run(world, trust, asked, work=without.work if trust == "position" else None)
    return foretell(run, closely=False).seconds if is_large(run) else work_of_run(run).usual_seconds
