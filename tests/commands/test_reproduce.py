"""``va-edge-ldp reproduce``: tables that read, JSON that parses, and a stand-in that is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.command import Run, Said, run_main
from visibility_aware_edge_ldp import cli, dataset
from visibility_aware_edge_ldp.truth.synthetic import powerlaw


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in an empty folder, on a small graph in place of Facebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def reproduce(*words: str, stand_in: bool = False) -> Said:
        monkeypatch.setattr(dataset, "default_graph", lambda: (powerlaw(60, 500, seed=2), stand_in))
        return run_main(monkeypatch, capsys, "reproduce", *words)

    return reproduce


@pytest.mark.long
def test_tables_in_the_terminal(run: Run) -> None:
    done = run("--table", "003", "--trials", "1")
    assert (done.code, done.err) == (0, "")
    words = " ".join(done.out.split())
    for text in ("Document 003, §10.2", "95.8 %", "claimed / ours", "ipw_capped", "Trials: ", "not private"):
        assert text in words, text
    assert "synthetic one like it" not in words
    assert max(map(len, done.out.splitlines())) <= 120


def test_json_and_nothing_else(run: Run) -> None:
    done = run("--table", "001", "--trials", "1", "--json")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    (document,) = told["documents"]
    assert document["document"] == "001"
    assert document["tables"][0]["rows"][5]["figures"]["claimed"]["value"] == pytest.approx(0.0175)
    assert told["stand_in"] is False


def test_the_stand_in_is_named_everywhere(run: Run) -> None:
    shown = run("--table", "003", "--trials", "1", stand_in=True)
    assert "synthetic one like it" in shown.err
    assert "synthetic one like it" in " ".join(shown.out.split())
    told = json.loads(run("--table", "003", "--trials", "1", "--json", stand_in=True).out)
    assert told["stand_in"] is True
    assert "datasets fetch facebook" in told["note"]


def test_without_data_the_embedded_graph_is_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real thing, with no graph on the machine: 003's table needs 300 nodes of it only."""
    monkeypatch.setattr(sys, "argv", ["va-edge-ldp", "reproduce", "--table", "003", "--trials", "1", "--json"])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    assert not leaving.value.code
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert told["stand_in"] is True
    assert "facebook-like (synthetic)" in told["documents"][0]["graph"]
    assert "The real Facebook graph was not found" in said.err


def test_files_are_written(run: Run, tmp_path: Path) -> None:
    done = run("--table", "003", "--trials", "1", "--output", "out")
    assert done.code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"reproduction.json", "reproduction.md"}
    assert "Wrote out/reproduction.json" in done.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [(["--table", "002"], "000, 001, 003, 004, all"), (["--trials", "0"], "trials"), (["--seed", "x"], "seed")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_leaves_with_2(run: Run, words: list[str], hint: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert hint in done.err
    assert "Traceback" not in done.err
