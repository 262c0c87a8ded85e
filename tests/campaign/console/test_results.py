"""Answers as tables and as a page to print."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from support.campaign_lab import new_lab
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.console.results import HEAD, answers_of, result_rows, results_csv, results_pdf
from visibility_aware_edge_ldp.errors import ProtocolViolation

CERTIFICATE = {
    "loss_per_edge": {"PRIVATE": {"epsilon": 1.0, "delta": 0.0}, "PUBLIC": {"epsilon": 9.0, "delta": 0.0}},
    "positions": {"PRIVATE": 15},
    "policy": "every position is PRIVATE",
    "assumptions": ["nobody lies"],
}
ESTIMATES = {
    "edges": {"value": -12.5, "standard_error": 30.0, "interval": [0.0, 46.25]},
    "mixing": {
        "value": [1.0, 2.0],
        "standard_error": [0.5, None],
        "interval": [[0.0, 2.0], None],
        "labels": [["north", "north"], ["north", "south"]],
    },
    "degrees": {"value": [3.0, 4.0, 5.0], "standard_error": [1.0, 2.0]},
}


@pytest.fixture(scope="module")
def charter(tmp_path_factory: pytest.TempPathFactory) -> Charter:
    return new_lab(tmp_path_factory.mktemp("results") / "lab", 6, "degrees").served.charter


@pytest.fixture
def answers(charter: Charter) -> dict[str, Any]:
    estimates = {name: {"interval": None, **each} for name, each in ESTIMATES.items()}
    return {
        "campaign": charter.identity,
        "estimates": estimates,
        "rounds": [{"asked": 6, "answered": 5, "root": "ab" * 32}],
        "certificate": CERTIFICATE,
        "flagged": {"reports": 2},
        "refused": {"triangles": "Too few."},
    }


def test_answers_of_another_campaign_are_refused(answers: dict[str, Any], charter: Charter) -> None:
    assert answers_of(json.dumps(answers).encode(), charter) == answers
    for wrong in ({**answers, "campaign": "0" * 64}, {**answers, "estimates": 3}, {}):
        with pytest.raises(ProtocolViolation, match="not of this campaign"):
            answers_of(json.dumps(wrong).encode(), charter)
    with pytest.raises(ProtocolViolation):
        answers_of(b"nonsense", charter)


def test_every_number_has_a_row(answers: dict[str, Any]) -> None:
    assert list(result_rows(answers)) == [
        ("edges", "", "-12.5", "30.0", "0.0", "46.25"),
        ("mixing", "north – north", "1.0", "0.5", "0.0", "2.0"),
        ("mixing", "north – south", "2.0", "", "", ""),
        ("degrees", "", "3.0", "", "", ""),
        ("degrees", "", "4.0", "", "", ""),
        ("degrees", "", "5.0", "", "", ""),
    ]


def test_the_table_is_read_back(answers: dict[str, Any]) -> None:
    rows = list(csv.reader(io.StringIO(results_csv(answers).decode("utf-8-sig"))))
    assert tuple(rows[0]) == HEAD
    assert [tuple(row) for row in rows[1:]] == list(result_rows(answers))


@pytest.mark.parametrize("formula", ['=HYPERLINK("https://x.example")', "+1", "@SUM(A1)", "\t=1"])
def test_what_a_spreadsheet_would_run_is_no_table(answers: dict[str, Any], formula: str) -> None:
    edges, mixing = (answers["estimates"][name] for name in ("edges", "mixing"))
    for estimates in ({formula: edges}, {"mixing": {**mixing, "labels": [formula, ["north", "south"]]}}):
        with pytest.raises(ProtocolViolation, match="a spreadsheet would run"):
            results_csv({**answers, "estimates": estimates})


def test_the_page_to_print_is_the_same_twice_and_differs_with_the_answers(
    answers: dict[str, Any], charter: Charter
) -> None:
    first = results_pdf(answers, charter)
    assert first.startswith(b"%PDF-1.4")
    assert first == results_pdf(answers, charter)
    answers["estimates"]["edges"]["value"] = 7.0
    assert first != results_pdf(answers, charter)
    assert first.count(b"/Type /Page\n") + first.count(b"/Type /Page ") == 1


def test_many_numbers_are_cut_on_the_page_alone(answers: dict[str, Any], charter: Charter, tmp_path: Path) -> None:
    answers["estimates"]["degrees"]["value"] = [float(i) for i in range(500)]
    assert results_pdf(answers, charter)
    assert len(list(result_rows(answers))) == 503
