"""The documents' tables on a small graph: every cell filled, every factor computed, every loss as it is said."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.reproduction import table_000, table_001, table_003, table_004, tables
from visibility_aware_edge_ldp.evaluation.reproduction.cells import FACEBOOK, RANDOM, TOP, Cell, Figure, Laboratory
from visibility_aware_edge_ldp.evaluation.reproduction.claims import DOCUMENT_003
from visibility_aware_edge_ldp.evaluation.reproduction.results import CLAIMED, HONEST, OURS, Reproduction, Row, Table
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

GRAPH = powerlaw(60, 500, seed=2)
PAGE = Path(__file__).parents[3] / "docs" / "reproduction.md"


@pytest.fixture(scope="module")
def counted() -> list[int]:
    return []


@pytest.fixture(scope="module")
def done(counted: list[int]) -> list[Reproduction]:
    return tables.reproduce(tables.chosen("all"), GRAPH, 2, 1, counted.append)


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
    assert sum(counted) == tables.steps(tables.chosen("all"), 2)
    assert tables.steps(["003"], 20) == 3 * 4 * 20


def test_a_run_repeats_and_a_seed_changes_it() -> None:
    def run(seed: int) -> dict[str, Any]:
        return tables.content(tables.reproduce(["003"], GRAPH, 1, seed, lambda _: None), "", 1, 1, False)

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_cells_have_coins_of_their_own() -> None:
    laboratory = Laboratory(GRAPH, 1)
    cell = Cell(TOP, "nothing", "position", (1.0,), ("edges",), 1)
    first, second = (laboratory.measure(name, cell, lambda _: None)[1.0, "edges"] for name in ("a", "b"))
    assert first.value != second.value


def test_trials_differ_and_their_spread_is_known() -> None:
    cell = Cell(TOP, "nothing", "position", (1.0,), ("edges",), 30)
    figure = Laboratory(GRAPH, 1).measure("a", cell, lambda _: None)[1.0, "edges"]
    assert figure.trials == 30
    # The mean of |normal errors| is √(2/π) of their standard deviation, which is what the estimates state.
    assert figure.value == pytest.approx(figure.stated * math.sqrt(2 / math.pi), abs=4 * figure.spread)
    assert 0 < figure.spread < figure.value


def test_the_laboratory_s_graphs() -> None:
    laboratory = Laboratory(powerlaw(400, 3000), 1)
    assert laboratory.graph(TOP).n == 300
    assert (laboratory.graph(RANDOM).n, laboratory.graph(RANDOM).m) == (400, 3000)
    assert laboratory.world(FACEBOOK, "nothing") is laboratory.world(FACEBOOK, "nothing")


@pytest.mark.parametrize("trials", [1, 20])
def test_measured_losses_are_what_the_tables_say(trials: int) -> None:
    """003 and 000 spend the document's ε; 001 its (1, 1e-6) a question; 004 twice ε where two lists report."""
    for cells in (table_000.cells(trials), table_003.cells(trials)):
        assert all(cell.epsilons == (0.5, 1.0, 2.0, 4.0) for cell in cells.values())
    central = table_001.cells(trials)[HONEST]
    assert (central.trust, central.epsilons, central.options) == ("curator", (1.0,), {"delta": "1e-6"})
    assert table_001.cells(trials)[table_001.LOCAL].epsilons == (6.0,)
    facebook = {name: cell for name, cell in table_004.cells(trials).items() if cell.graph == FACEBOOK}
    twice = {cell.statistics: cell.epsilons for cell in facebook.values()}
    assert twice["triangles",] == (0.1, 1.0, 5.0)
    assert twice["stars:2",] == twice["edges", "stars:2"] == (0.2, 2.0, 10.0)


def test_six_central_answers_cost_six_and_users_cost_what_is_said() -> None:
    world = Laboratory(GRAPH, 1).world(FACEBOOK, "document-001")
    for name, total in {HONEST: 6, table_001.LOCAL: 6}.items():
        cell = table_001.cells(1)[name]
        answers = cell.ask(world, cell.trust, Fraction(str(cell.epsilons[0])), cell.statistics, seed=1, **cell.options)
        assert float(answers.bill["PRIVATE"].epsilon) == pytest.approx(total)  # type: ignore[attr-defined]


def test_clipped_stars_are_cut_at_50_but_for_hubs() -> None:
    graph = powerlaw(300, 12_000, seed=1)
    world = VisibilityAwareGraph(graph, open_policy("hubs:0.2"))
    runs = [
        table_004.clipped_stars(world, "", Fraction(2), ["stars:2"], seed=str(i))["stars:2"].value for i in range(200)
    ]
    hubs = np.argsort(-graph.degrees, kind="stable")[:60]
    cut = np.minimum(graph.degrees, 50)
    cut[hubs] = graph.degrees[hubs]
    expected, deviation = float((cut * (cut - 1) / 2).sum()), math.sqrt(240 * 2) * 49
    assert (graph.degrees > 50).sum() > 60, "somebody must be cut"
    assert np.mean(runs) == pytest.approx(expected, abs=4 * deviation / math.sqrt(200))
    assert np.std(runs) == pytest.approx(deviation, rel=0.2)


def test_one_edge_moves_clipped_stars_by_no_more_than_its_noise_hides() -> None:
    """Both ends of a private edge move by at most 49, which is what noise of 49 / (ε/2) hides at ε/2 each."""
    graph = erdos_renyi(120, 3000, seed=1)
    policy = VisibilityPolicy.from_profiles(dict.fromkeys(range(24), "public"), rule="any")

    def stars(edges: Any) -> float:
        world = VisibilityAwareGraph(Graph(range(120), edges), policy)
        return float(table_004.clipped_stars(world, "", Fraction(2), ["stars:2"], seed="same")["stars:2"].value)

    whole = stars(graph.edges)
    private = np.flatnonzero((graph.edges >= 24).all(axis=1))[:200]
    moved = [abs(whole - stars(np.delete(graph.edges, place, axis=0))) for place in private]
    assert max(moved) <= 2 * (table_004.CAP - 1)
    assert max(moved) > table_004.CAP - 1, "both ends must have been seen to move"
    assert len(set(moved)) > 1, "some ends are cut, and do not move"


def test_edges_stand_for_both() -> None:
    honest, ours = {(1.0, "edges"): Figure(9.0), (1.0, "triangles"): Figure(8.0)}, {(1.0, "edges"): Figure(0.1)}
    assert table_003.with_its_edges(honest, ours) == {(1.0, "edges"): Figure(0.1), (1.0, "triangles"): Figure(8.0)}


def test_improvement_prefers_standard_errors() -> None:
    assert table_000.improvement(Figure(0.4, stated=0.2), Figure(0.3, stated=0.1)) == pytest.approx(0.5)
    assert table_000.improvement(Figure(0.4), Figure(0.3)) == pytest.approx(0.25)


@pytest.mark.parametrize(("error", "words"), [(0.02, "at least 12× below"), (0.05, "NOT as wanted")])
def test_the_verdict(error: float, words: str) -> None:
    rows = tuple(
        Row(claim.epsilon, claim.epsilon, claim.statistic, {CLAIMED: Figure(claim.value), OURS: Figure(error)})
        for claim in DOCUMENT_003
    )
    assert words in table_003.verdict(rows)
    assert ("NOT" in table_003.verdict(rows)) is (error > 0.024)


def test_document_003_s_setting_is_beaten_tenfold(data_folder: Any) -> None:
    """At ε ≤ 1 the errors of triangles and stars are at least ten times below the document's."""
    graph = read_graph(data_folder / "facebook_combined.txt.gz")
    laboratory = Laboratory(graph, 1)
    cell = Cell(TOP, "document-003", "position", (0.5, 1.0), ("triangles", "stars:2", "stars:3"), 20)
    ours = laboratory.measure("ours", cell, lambda _: None)
    for claim in DOCUMENT_003:
        if claim.epsilon <= 1 and claim.statistic in cell.statistics:
            assert claim.value / ours[claim.epsilon, claim.statistic].value >= 10, claim


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.244, "24.4 %"),
        (0.00036, "0.036 %"),
        (183.0, "18,300 %"),
        (0.0024, "0.24 %"),
        (math.nan, "-"),
        (-0.5, "-50.0 %"),
    ],
)
def test_percent(value: float, text: str) -> None:
    assert tables.percent(value) == text


def test_claims_are_shown_as_printed() -> None:
    row = Row(1.0, 2.0, "stars:4", {CLAIMED: Figure(0.0175), OURS: Figure(0.0035)})
    shown = tables.shown(Table("t", (CLAIMED, HONEST, OURS), (row,)))
    assert shown.head == ("what", "ε there", "loss here", CLAIMED, HONEST, OURS, "claimed / ours")
    assert shown.rows == (("stars:4", "1", "2", "1.75 %", "-", "0.35 %", "5.0×"),)


def test_few_trials_show_what_their_standard_errors_mean() -> None:
    few, enough, biased = (Figure(0.3, 0.1, 2, 0.1), Figure(0.3, 0.1, 5, 0.1), Figure(0.3, 0.1, 2))
    assert few.shown == pytest.approx(0.0798, abs=1e-4)
    assert (enough.shown, biased.shown, Figure(0.3).shown) == (0.3, 0.3, 0.3)
    assert Figure(0.3, 0.1, 2, 0.1, unbiased=False).shown == 0.3
    row = Row(1.0, 1.0, "edges", {CLAIMED: Figure(0.3), HONEST: biased, OURS: few})
    table = Table("t", (CLAIMED, HONEST, OURS), (row,))
    assert tables.shown(table).rows == (("edges", "1", "30 %", "30.0 %", "≈ 8.0 %", "3.8×"),)
    told = tables.trials_of(Reproduction("003", "", "", "", (table,), ()))
    assert told.startswith(f"Trials: {HONEST} 2; {OURS} 2. ≈")


def test_files(done: list[Reproduction], tmp_path: Path) -> None:
    told = tables.content(done, "va-edge-ldp reproduce", 2, 1, True)
    paths = tables.write(told, done, tmp_path / "out")
    assert [path.name for path in paths] == ["reproduction.json", "reproduction.md"]
    read = json.loads(paths[0].read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert read["stand_in"] is True
    assert [each["document"] for each in read["documents"]] == list(tables.SOURCES)
    page = paths[1].read_text(encoding="utf-8")
    assert "synthetic" in page
    assert page.count("\n## ") == 4


def test_unknown_tables_and_no_trials_are_refused() -> None:
    with pytest.raises(BadInput, match="000, 001, 003, 004, all"):
        tables.chosen("002")
    with pytest.raises(BadInput, match="At least one trial"):
        tables.reproduce(["003"], GRAPH, 0, 1, lambda _: None)


def test_the_page_prints_every_claim(done: list[Reproduction]) -> None:
    """docs/reproduction.md is what the command writes on the real graph: the same rows, the same claims."""
    page = PAGE.read_text(encoding="utf-8")
    for each in done:
        assert each.loss in page
        for table in (table for table in each.tables if CLAIMED in table.columns):
            for row in tables.shown(table).rows:
                place = tables.shown(table).head.index(CLAIMED) + 1
                assert f"| {' | '.join(row[:place])} |" in page, row
