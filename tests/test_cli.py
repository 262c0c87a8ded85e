"""The command line: JSON that parses, tables that read, runs that repeat, and one sentence for bad input."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import Run, Said
from support.command_line import BAD, assert_one_sentence
from visibility_aware_edge_ldp import __version__, cli
from visibility_aware_edge_ldp.commands.common import START
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused, RelationMismatch, VaEdgeLdpError


def test_version_and_help(run: Run) -> None:
    assert run("--version") == Said(0, f"va-edge-ldp {__version__}\n", "")
    for command in ([], ["estimate"], ["compare"], ["datasets"], ["datasets", "list"], ["datasets", "fetch"]):
        done = run(*command, "-h")
        assert (done.code, done.err) == (0, "")
        assert "Usage" in done.out
        assert command in ([], ["datasets"]) or "--json" in done.out


def test_where_to_start_is_a_list_of_commands_that_are_there(run: Run) -> None:
    steps = [shlex.split(line, comments=True) for line in START.splitlines() if line.startswith("va-edge-ldp")]
    assert [step[1] for step in steps] == ["estimate", "compare", "plan"]
    assert all(run(*step[1:], "--help").code == 0 for step in steps)
    assert max(map(len, START.splitlines())) <= 78  # fits a terminal


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(("words", "hint"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(run: Run, words: list[str], hint: str, as_json: bool) -> None:
    assert_one_sentence(run("estimate", *words, *(["--json"] if as_json else [])), hint)


@pytest.mark.parametrize(
    "words",
    [["estimate", "tiny.txt", "--rounds", "x"], ["estimate", "--nonsense"], ["nonsense"], ["datasets", "fetch"]],
)
def test_words_that_cannot_be_parsed_leave_with_2(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert "Error" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("error", "code"),
    [(VaEdgeLdpError("x"), 1), (RelationMismatch("x"), 1), (ProtocolViolation("x"), 3), (Refused("x"), 4)],
)
def test_every_fault_has_its_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: VaEdgeLdpError, code: int
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    assert run() == Said(code, "", "Error: x\n")


def test_a_keystroke_stops_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    assert run() == Said(130, "", "Stopped.\n")


def test_our_own_mistakes_are_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(ZeroDivisionError):
        run()


@pytest.mark.long
def test_the_module_runs_as_a_program(folder: Path) -> None:
    program = [sys.executable, "-m", "visibility_aware_edge_ldp.cli", "estimate"]
    good = subprocess.run([*program, "tiny.txt", "--statistics", "edges", "--json"], capture_output=True, text=True)
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["graph"]["nodes"] == 4
    bad = subprocess.run([*program, "gone.txt"], capture_output=True, text=True)
    assert_one_sentence(Said(bad.returncode, bad.stdout, bad.stderr), "There is no file")
