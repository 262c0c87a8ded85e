"""``va-edge-ldp publish``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from support.command import Run

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
ASKED = [
    "publish",
    "random:30,60",
    "--budget",
    "budget.ledger",
    "--release",
    "release.json",
    "--statistics",
    "edges,triangles",
]


def test_it_writes_what_may_leave_and_says_what_is_left(run: Run, folder: Path) -> None:
    said = run(*ASKED, "--total", "2")
    assert "ε = 1 for all statistics together" in said.out
    assert "only this file may leave" in said.out
    assert "Left in the budget: ε = 1 of 2." in said.out
    first = (folder / "release.json").read_bytes()
    schema = json.loads((FOLDER / "release-1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads(first))
    again = run(*ASKED)
    assert "This was released before" in again.out
    assert (folder / "release.json").read_bytes() == first
    assert "written" in run("publish", "--budget", "budget.ledger", "--status").out


def test_refusals_are_one_sentence(run: Run, folder: Path) -> None:
    assert "--budget" in run("publish", "random:30,60", "--release", "a.json").err
    assert "--release" in run("publish", "random:30,60", "--budget", "budget.ledger").err
    missing = run(*ASKED)
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    assert "There is no budget at budget.ledger" in missing.err
    run(*ASKED, "--total", "1")
    beyond = run(*ASKED, "--epsilon", "0.5")
    assert (beyond.code, beyond.err.count("\n")) == (4, 1)
    assert "0 of 1 is left in the budget" in beyond.err
