"""``va-edge-ldp plan``: a table, targets, JSON, and clear refusals."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.errors import BadInput

GRAPH = ["--nodes", "200", "--edges", "1500", "--statistic", "edges,triangles", "--epsilons", "1,4"]


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["plan", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_a_table_costs_and_the_epsilon_that_reaches_a_target() -> None:
    output = run(*GRAPH, "--target-error", "5%")
    assert "200 nodes, 1,500 edges" in output
    assert all(word in output for word in ("position", "user", "neighbourhood", "curator", "bytes"))
    assert "edges within 0.05: position ε = " in output


def test_json_and_the_target_agree_with_the_rows() -> None:
    found = json.loads(run(*GRAPH, "--target-error", "0.05", "--trust", "user", "--json"))
    errors = {row["epsilon"]: row["mean_relative_error"] for row in found["predictions"] if row["statistic"] == "edges"}
    (needed,) = (each["epsilons"]["user"] for each in found["targets"] if each["statistic"] == "edges")
    assert errors[4] < errors[1]
    assert (needed <= 1) == (errors[1] <= 0.05)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ([], "nodes and edges"),
        ([*GRAPH, "--target-error", "much"], "such as 5%"),
        ([*GRAPH, "--target-error", "200%"], "between 0 and 1"),
        ([*GRAPH, "--trust", "nobody"], "not a trust model"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arguments: list[str], match: str) -> None:
    with pytest.raises(BadInput, match=match):
        CliRunner().invoke(app, ["plan", *arguments], catch_exceptions=False)
