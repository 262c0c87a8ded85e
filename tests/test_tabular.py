"""Results where people work: DataFrames, CSV, LaTeX, plots and notebooks."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.errors import BadPolicy, MissingPart
from visibility_aware_edge_ldp.tabular import Tabular, aligned, shaded_matrix

PAIRS = [(i, (i + step) % 30) for i in range(30) for step in (1, 2, 5)]


@pytest.fixture(scope="module")
def answers() -> va.Answers:
    wanted = ["edges", "stars:2", "degrees", "degree_histogram"]
    return va.estimate(PAIRS, "user", 1, wanted, policy="profiles:0.5", truth=True, seed=3)


@pytest.fixture(scope="module")
def results(answers: va.Answers) -> dict[str, Tabular]:
    options: dict[str, Any] = {"statistics": "edges,stars:2", "seed": 3}
    return {
        "answers": answers,
        "evaluation": va.evaluate(PAIRS, "user", [1, 2], 2, policy="profiles:0.5", **options),
        "comparison": va.compare(PAIRS, "profiles:0.5", [1, 2], 2, trust="user", **options),
        "plan": va.plan(100, 300, policy="profiles:0.5"),
        "audit": va.audit("randomized response", way="exact", twins=False),
    }


NAMES = ["answers", "evaluation", "comparison", "plan", "audit"]


@pytest.mark.parametrize("name", NAMES)
def test_frames_csv_latex_and_html_hold_the_same_rows(results: dict[str, Tabular], name: str, tmp_path: Path) -> None:
    result = results[name]
    rows, frame = result.records(), result.to_frame()
    assert len(rows) == len(frame) > 0
    assert list(frame.columns) == list(rows[0])
    text = result.to_csv()
    assert text is not None
    assert len(list(csv.DictReader(io.StringIO(text)))) == len(rows)
    assert result.to_csv(tmp_path / "rows.csv") is None
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == text
    assert result.to_latex().count(r"\\") == len(rows) + 1
    assert result._repr_html_().startswith(("<table", "<pre", "<p"))
    assert len(repr(result)) < 200
    assert isinstance(result.to_dict(), dict)


@pytest.mark.parametrize("name", NAMES[:4])
def test_plots_take_axes_and_give_them_back(results: dict[str, Tabular], name: str) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = pyplot.subplots()[1]
    assert results[name].plot(ax=axes) is axes
    assert axes.lines
    assert results[name].plot() is not axes
    pyplot.close("all")


def test_what_cannot_be_drawn_says_so(results: dict[str, Tabular]) -> None:
    with pytest.raises(TypeError, match="has no plot"):
        results["audit"].plot()


def test_true_values_stand_beside_estimates(answers: va.Answers) -> None:
    frame = answers.to_frame().set_index(["statistic", "label"])
    assert frame.loc[("edges", ""), "truth"] == len(PAIRS)
    assert frame.loc[("degrees", "4"), "truth"] == 6
    assert frame.loc["degree_histogram", "truth"].sum() == 30
    plain = va.estimate(PAIRS, "user", 1, "edges", seed=3)
    assert "truth" not in plain.records()[0]


def test_errors_that_are_not_for_release_are_marked_wherever_they_go() -> None:
    found = va.estimate(PAIRS, "curator", 1, "edges,triangles", seed=3)
    assert found.certificate.not_for_release == ("triangles",)
    assert [row["errors_are_for_release"] for row in found.records()] == [True, False]
    shown = va.estimate(PAIRS, "user", 1, "edges", truth=True, seed=3)
    assert "Not for release: the true values" in str(shown)


def test_a_bare_graph_and_a_policys_name_are_the_same_as_a_world() -> None:
    world = va.VisibilityAwareGraph(va.read_graph(PAIRS), va.VisibilityPolicy.public_profiles("0.5"))
    by_name = va.estimate(PAIRS, "user", 1, "edges", policy="profiles:0.5", seed=3)
    assert va.estimate(world, "user", 1, "edges", seed=3)["edges"].value == by_name["edges"].value
    with pytest.raises(BadPolicy, match="policy of its own"):
        va.estimate(world, "user", 1, "edges", policy="nothing")
    with pytest.raises(BadPolicy, match="neither a file nor a policy's name"):
        va.estimate(PAIRS, policy="profile")


def test_missing_libraries_are_named(answers: va.Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPart, match="pandas"):
        answers.to_frame()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPart, match="matplotlib"):
        answers.plot()


def test_audit_is_a_package_and_a_function() -> None:
    from visibility_aware_edge_ldp.audit import runner

    assert callable(va.audit)
    assert va.audit.runner is runner  # type: ignore[attr-defined]


def test_the_package_is_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "visibility_aware_edge_ldp", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "estimate" in done.stdout


def test_a_table_is_aligned_column_by_column() -> None:
    rows = [("what", "value", "note"), ("edges", "7", "")]
    assert aligned(rows) == [" what  value  note", "edges      7"]
    assert aligned(rows, left=1) == ["what   value  note", "edges      7"]
    assert aligned(rows, left=3) == ["what   value  note", "edges  7"]


def test_a_matrix_is_shaded_by_its_values() -> None:
    groups, rows = shaded_matrix(
        [("a", "a"), ("a", "b"), ("b", "b")], [5.0, 10.0, None], [4.0, 9.0, None], [6.0, 11.0, None]
    )
    assert groups == ["a", "b"]
    assert rows == [[(5.0, 4.0, 6.0, 5), (10.0, 9.0, 11.0, 10)], [(10.0, 9.0, 11.0, 10), (None, None, None, 0)]]
    _, both = shaded_matrix([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")], *[[-1.0, 2.0, 4.0, 0.0]] * 3)
    assert [[cell.shade for cell in row] for row in both] == [[0, 5], [10, 0]]
