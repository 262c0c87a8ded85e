"""A small comparison, and the files of its report."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.comparison_reports import COMMAND, FILES
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.results import Comparison
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.presentation.result_files import write_results
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


@pytest.fixture(scope="session")
def comparison() -> Comparison:
    """Small, and with a list among its statistics, whose value is NaN."""
    return compare(
        erdos_renyi(40, 150),
        VisibilityPolicy("0.15", "0.35", "0.5"),
        epsilons=(0.5, 1, 2, 4),
        trials=3,
        statistics=("edges", "degrees", "triangles", "stars:2"),
        seed=1,
    )


@pytest.fixture(scope="module")
def folder(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the comparison's files were written to; it was not there before."""
    folder = tmp_path_factory.mktemp("report") / "new" / "folder"
    assert write_results(comparison, folder, COMMAND) == [folder / name for name in FILES]
    return folder


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")
