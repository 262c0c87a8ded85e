"""The documents' tables on a small graph: every cell filled, every factor computed, every loss as it is said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation import reproduction
from visibility_aware_edge_ldp.evaluation.reproduction_measurement import (
    CLAIMED,
    HONEST,
    OURS,
    Reproduction,
    reproduce,
    steps,
)
from visibility_aware_edge_ldp.presentation import reproduction_tables as tables
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(60, 500, seed=2)


PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"


@pytest.fixture(scope="module")
def counted() -> list[int]:
    return []


@pytest.fixture(scope="module")
def done(counted: list[int]) -> list[Reproduction]:
    return reproduce(reproduction.chosen("all"), GRAPH, 2, 1, counted.append)


def test_every_document_is_there(done: list[Reproduction]) -> None:
    assert [each.document for each in done] == ["000", "001", "003", "004"]
    for each in done:
        assert each.loss
        assert each.differences
        assert GRAPH.source in each.graph


def test_every_row_has_a_claim_and_ours(done: list[Reproduction]) -> None:
    claimed = [row for each in done for table in each.tables for row in table.rows if CLAIMED in table.columns]
    assert len(claimed) == 8 + 6 + 6 + 20 + 15
    for row in claimed:
        assert CLAIMED in row.figures
        assert any(name.startswith(OURS) for name in row.figures)
    measured = [f for each in done for t in each.tables for row in t.rows for f in row.figures.values() if f.trials]
    assert all(math.isfinite(figure.value) and figure.value >= 0 for figure in measured)


def test_what_cannot_be_run_honestly_has_no_figure(done: list[Reproduction]) -> None:
    missing = {
        row.what
        for each in done
        for table in each.tables
        for row in table.rows
        if HONEST in table.columns and HONEST not in row.figures
    }
    assert missing == {"stars:2, smooth"}


def test_progress_is_counted_as_announced(done: list[Reproduction], counted: list[int]) -> None:
    assert sum(counted) == steps(reproduction.DOCUMENTS.values(), 2)
    assert steps(reproduction.chosen("003").values(), 20) == 3 * 4 * 20


def test_a_run_repeats_and_a_seed_changes_it() -> None:
    def run(seed: int) -> dict[str, Any]:
        return tables.content(reproduce(reproduction.chosen("003"), GRAPH, 1, seed, lambda _: None), "", 1, 1, False)

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_files(done: list[Reproduction], tmp_path: Path) -> None:
    told = tables.content(done, "va-edge-ldp reproduce", 2, 1, True)
    paths = tables.write(told, done, tmp_path / "out")
    assert [path.name for path in paths] == ["reproduction.json", "reproduction.md"]
    read = json.loads(paths[0].read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert read["stand_in"] is True
    assert [each["document"] for each in read["documents"]] == list(reproduction.DOCUMENTS)
    page = paths[1].read_text(encoding="utf-8")
    assert "synthetic" in page
    assert page.count("\n## ") == 4


def test_unknown_tables_and_no_trials_are_refused() -> None:
    with pytest.raises(BadInput, match="000, 001, 003, 004, all"):
        reproduction.chosen("002")
    with pytest.raises(BadInput, match="At least one trial"):
        reproduce(reproduction.chosen("003"), GRAPH, 0, 1, lambda _: None)


def test_the_page_prints_every_claim(done: list[Reproduction]) -> None:
    """docs/reproduction.md is what the command writes on the real graph: the same rows, the same claims."""
    page = PAGE.read_text(encoding="utf-8")
    for each in done:
        assert each.loss in page
        for table in (table for table in each.tables if CLAIMED in table.columns):
            for row in tables.shown(table).rows:
                place = tables.shown(table).head.index(CLAIMED) + 1
                assert f"| {' | '.join(row[:place])} |" in page, row
