"""``va-edge-ldp plan``: an answer, tables, targets, JSON, files, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.errors import BadInput

GRAPH = ["--nodes", "200", "--edges", "1500", "--statistic", "edges,triangles", "--epsilons", "1,4"]


def run(*arguments: str, columns: int = 80) -> str:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, ["plan", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("columns", [80, 120])
def test_an_answer_tables_and_what_to_try_next(columns: int) -> None:
    output = run(*GRAPH, "--target-error", "20%", columns=columns)
    first = output.splitlines()[0]
    assert first.startswith("For a made-up graph with few triangles")
    assert any(words in first for words in ("Yes: ε = 1", "No: at ε = 1", "At ε = 1 only"))
    told = run(*GRAPH, "--target-error", "20%", "--clustering", "0.3", columns=columns)
    assert told.startswith(("Yes: ε = 1", "No: at ε = 1", "At ε = 1 only"))
    assert "within 20%" in output.splitlines()[0]
    assert "200 nodes, 1,500 edges" in output
    assert all(word in output for word in ("position", "user", "neighbourhood", "curator", "bytes up", "bytes down"))
    assert "…" not in output
    assert output.index("Mean error") < output.index("The smallest ε for 20%:\n") < output.index("What to try next")


def test_json_and_the_target_agree_with_the_rows() -> None:
    found = json.loads(run(*GRAPH, "--target-error", "0.05", "--trust", "user", "--json"))
    errors = {row["epsilon"]: row["mean_relative_error"] for row in found["predictions"] if row["statistic"] == "edges"}
    (needed,) = (each["epsilons"]["user"] for each in found["targets"] if each["statistic"] == "edges")
    assert errors[4] < errors[1]
    assert (needed <= 1) == (errors[1] <= 0.05)
    assert found["answer"]


def test_figures_and_numbers_are_written(tmp_path: Path) -> None:
    output = run(*GRAPH, "--trust", "position,user", "--output", str(tmp_path / "plan"))
    written = {path.name for path in (tmp_path / "plan").iterdir()}
    assert {"plan.json", "plan.csv", "error.svg", "error.png", "public.svg", "public.png"} <= written
    assert "the largest 10% of the profiles" in output
    assert "Wrote" in output


def test_a_degree_sequence_and_a_graph_like_mine(tmp_path: Path) -> None:
    file = tmp_path / "degrees.txt"
    file.write_text("3 2,2\n2 1 4 2 2 2 2", encoding="utf-8")
    assert "a degree sequence of 10 nodes: 10 nodes, 11 edges" in run("--degrees", str(file), "--statistic", "edges")
    assert "100 nodes, 300 edges" in run("--graph", "powerlaw:100,300", "--statistic", "edges", "--trust", "user")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ([], "nodes and edges"),
        ([*GRAPH, "--target-error", "much"], "such as 5%"),
        ([*GRAPH, "--target-error", "200%"], "between 0 and 1"),
        ([*GRAPH, "--trust", "nobody"], "not a trust model"),
        (["--degrees", "no/such/file"], "cannot be read"),
        (["--degrees", __file__], "whole numbers"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arguments: list[str], match: str) -> None:
    with pytest.raises(BadInput, match=match):
        CliRunner().invoke(app, ["plan", *arguments], catch_exceptions=False)
