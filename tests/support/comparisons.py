"""Small comparisons that several tests run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.evaluation.compare import runner
from visibility_aware_edge_ldp.evaluation.compare.checkpoint import Checkpoint
from visibility_aware_edge_ldp.evaluation.compare.comparison import compared
from visibility_aware_edge_ldp.evaluation.compare.design import (
    Design,
    designed,
)
from visibility_aware_edge_ldp.evaluation.results import Comparison
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 200, 1)


POLICY = VisibilityPolicy("0.2", "0.3", "0.5")


def small(**changes: Any) -> Design:
    given = {"epsilons": (1,), "trials": 2, "statistics": ("edges", "triangles"), "seed": 5, **changes}
    return designed(GRAPH, given.pop("policy", POLICY), **given)


def finished(design: Design, folder: Path | None = None, cores: int = 1) -> Comparison:
    with runner.Workers(design, cores) as workers:
        return compared(design, workers.run(Checkpoint(folder, design)))


def same(one: Comparison, other: Comparison) -> bool:
    """But for the seconds, which nobody can repeat."""
    rows = [[replace(row, seconds=0.0) for row in (*found.aware, *found.uniform)] for found in (one, other)]
    return str(rows[0]) == str(rows[1])  # NaN is not itself, but its name is
