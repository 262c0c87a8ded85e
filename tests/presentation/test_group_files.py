"""Files of groups, read back with the meaning that those who use them give to them, from CSV and from JSON."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.counts.mixing import mixing_matrix
from visibility_aware_edge_ldp.presentation.group_files import group_files, list_tables, matrix_tables
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = DOCS / "reference" / "schemas"
GRAPH = erdos_renyi(60, 200, 4)
YEARS = np.array([2006, 2007, 2008])[np.arange(60) % 7 // 3]
LABELS = ["2006", "2007", "2008"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `estimate --output` writes at an ε with hardly any noise."""
    here = tmp_path_factory.mktemp("groups")
    (here / "edges.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges.tolist()))
    nodes = np.unique(GRAPH.edges).tolist()
    rows = "".join(f"{node},{YEARS[node]}\n" for node in nodes)
    (here / "nodes.csv").write_text(f"id,year\n{rows}")
    words = ["estimate", str(here / "edges.txt"), "--groups", "year", "--attributes", str(here / "nodes.csv")]
    asked = "contacts,ergm_targets,tail:2,degree_histogram"
    done = CliRunner().invoke(
        app, [*words, "--statistics", asked, "--epsilon", "200", "--seed", "1", "--output", str(here / "out")]
    )
    assert done.exit_code == 0, done.output
    return here / "out"


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def truth() -> tuple[np.ndarray, np.ndarray]:
    nodes = np.unique(GRAPH.edges)
    members = np.searchsorted([2006, 2007, 2008], YEARS)
    return mixing_matrix(members, 3, GRAPH.edges), np.bincount(members[nodes])


def test_the_contact_matrix_is_contacts_of_a_row_s_member_in_a_column(folder: Path) -> None:
    cells, sizes = truth()
    expected = (cells + np.diag(np.diag(cells))) / sizes[:, None]
    rows = read(folder / "contact_matrix.csv")
    assert [row["group"] for row in rows] == LABELS
    assert np.allclose([[float(row[label]) for label in LABELS] for row in rows], expected)
    told = json.loads((folder / "contact_matrix.json").read_text(encoding="utf-8"))
    schema = json.loads((SCHEMAS / "contact-matrix-1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(told)
    assert told["attribute"] == "year"
    assert np.allclose(told["matrix"], expected)
    assert (np.array(told["low"]) <= told["matrix"]).all()
    totals = np.array(told["matrix"]) * [[each["participants"]] for each in told["participants"]]
    assert np.allclose(totals, totals.T)  # as many contacts from a to b as from b to a
    people = read(folder / "participants.csv")
    assert [int(row["participants"]) for row in people] == sizes.tolist()
    assert sum(float(row["proportion"]) for row in people) == pytest.approx(1)


def test_target_statistics_are_ergm_s_terms_in_ergm_s_order(folder: Path) -> None:
    cells, _ = truth()
    graph = nx.Graph(GRAPH.edges.tolist())
    rows = {row["term"]: float(row["value"]) for row in read(folder / "target_statistics.csv")}
    assert rows["edges"] == pytest.approx(200)
    assert rows["nodematch.year"] == pytest.approx(np.trace(cells))
    inside = [rows[f"nodematch.year.{label}"] for label in LABELS]
    assert np.allclose(inside, np.diag(cells))
    ends = [rows[f"nodefactor.year.{label}"] for label in LABELS]
    assert np.allclose(ends, [sum(d for v, d in graph.degree if YEARS[v] == int(label)) for label in LABELS])
    mixed = [term for term in rows if term.startswith("mix.")]
    # R's m[upper.tri(m, diag = TRUE)] goes down the columns.
    assert mixed == [f"mix.year.{LABELS[a]}.{LABELS[b]}" for b in range(3) for a in range(b + 1)]
    assert np.allclose([rows[term] for term in mixed], cells.T[np.tril_indices(3)])
    degrees = np.array([d for _, d in graph.degree])
    assert rows["concurrent"] == pytest.approx((degrees >= 2).sum(), abs=0.1)
    single = [term for term in rows if term.startswith("degree")]
    assert single
    for term in single:
        assert rows[term] == pytest.approx((degrees == int(term.removeprefix("degree"))).sum(), abs=2)
    told = json.loads((folder / "target_statistics.json").read_text(encoding="utf-8"))
    schema = json.loads((SCHEMAS / "target-statistics-1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(told)
    assert {each["term"]: each["value"] for each in told["terms"]} == pytest.approx(rows)


def test_without_groups_there_are_no_such_files() -> None:
    assert group_files({"graph": {}, "estimates": {"edges": {}}}) == {}


def test_matrices_are_shown_in_a_terminal_with_both_sides_of_a_pair() -> None:
    groups = {"attribute": "year", "labels": ["a", "b"], "sizes": [2, 3]}
    mixing = {
        "labels": [["a", "a"], ["a", "b"], ["b", "b"]],
        "value": [1.0, 2.0, 3.0],
        "standard_error": [0.1, 0.2, 0.3],
    }
    ((title, head, rows),) = matrix_tables(
        {"graph": {"groups": groups}, "estimates": {"mixing": mixing, "coleman": {}}}
    )
    assert title.startswith("mixing")
    assert head == ("year", "a", "b")
    assert rows == [("a", "1 ± 0.1", "2 ± 0.2"), ("b", "2 ± 0.2", "3 ± 0.3")]


def test_base_r_reads_all_of_it_as_the_guide_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's R stops where a matrix, a term or the loss is not what it says."""
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("R is not installed")
    page = (DOCS / "how-to" / "read-in-r.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{node},{2006 + node % 3}\n" for node in range(300))
    Path("people.csv").write_text(f"id,year\n{rows}")
    (command,) = re.findall(r"^va-edge-ldp (.+)$", page, re.MULTILINE)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    script = "\n".join(re.findall(r"```r\n(.*?)```", page, re.DOTALL))
    assert script.count("stopifnot") >= 6
    Path("page.R").write_text(script, encoding="utf-8")
    ran = subprocess.run([program, "--vanilla", "page.R"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    other = script.replace('"nodematch.year"', '"nodematch.ward"')
    Path("other.R").write_text(other, encoding="utf-8")
    assert subprocess.run([program, "--vanilla", "other.R"], capture_output=True, check=False).returncode != 0


def test_short_lists_have_a_table_with_intervals() -> None:
    each = {"labels": [[1, "ann", "sure"]], "value": [12.0], "interval": [[10.0], [14.0]]}
    (table,) = list_tables({"estimates": {"largest_degrees:1": each, "edges": {"value": 3.0}}})
    title, head, rows = table
    assert title.startswith("largest_degrees:1: the largest degrees")
    assert head == ("rank", "node", "among", "degree", "95 % interval")
    assert rows == [("1", "ann", "sure", "12.0", "[10.0, 14.0]")]
