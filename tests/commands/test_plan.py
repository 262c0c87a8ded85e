"""``va-edge-ldp plan``: an answer, tables, targets, JSON, files, and clear refusals."""

from __future__ import annotations

import json
import math
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


def test_groups_have_an_error_in_each_cell(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,ward\n" + "".join(f"{i},{'NSS'[i % 3]}\n" for i in range(60)))
    words = ("--graph", "random:60,300", "--attributes", str(tmp_path / "people.csv"), "--groups", "ward")
    asked = (
        *words,
        "--statistic",
        "mixing,ei_index,triangles_by_group",
        "--trust",
        "position,user",
        "--epsilons",
        "1,2",
    )
    shown = run(*asked, columns=120)
    for title in ("POSITION at ε = 1, mixing: friendships", "USER at ε = 1, mixing: friendships"):
        assert title in shown
    found = json.loads(run(*asked, "--json"))
    assert found["groups"]["sizes"] == [20, 40]
    rows = {(row["trust"], row["statistic"], row["epsilon"]): row for row in found["predictions"]}
    cells = rows["position", "mixing", 1.0]["entries"]
    assert cells["labels"] == [["N", "N"], ["N", "S"], ["S", "S"]]
    assert sum(cells["value"]) == 300
    # Of scores with variance σ², as many as there are positions between two groups.  [MIXING.7]
    variance = math.e / (math.e - 1) ** 2
    assert cells["standard_error"] == pytest.approx([math.sqrt(n * variance) for n in (190, 800, 780)])
    assert "entries" not in rows["user", "ei_index", 1.0]
    assert rows["position", "triangles_by_group", 1.0]["standard_error"] is None
    assert "no closed form" in rows["position", "triangles_by_group", 1.0]["note"]
    done = CliRunner().invoke(app, ["plan", "--nodes", "60", "--edges", "300", *words[2:]])
    assert isinstance(done.exception, BadInput)
    assert "--graph FILE" in str(done.exception)
