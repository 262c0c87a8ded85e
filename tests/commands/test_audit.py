"""``va-edge-ldp audit``: tables that read, JSON that parses, and an exit code that tells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.command import Run, run_main
from visibility_aware_edge_ldp.audit import runner
from visibility_aware_edge_ldp.audit.catalogue import Choice
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss
from visibility_aware_edge_ldp.audit.runner import Audited, Outcome
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


@pytest.fixture(autouse=True)
def an_ordinary_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """How fast this one is takes a second to see."""
    monkeypatch.setattr(runner, "slowness", lambda: 1.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a random graph and a table of its nodes, in which one column follows the edges."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    graph = erdos_renyi(80, 500, seed=3)
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in graph.edges.tolist()), encoding="utf-8")
    busy = [int(degree > 12) for degree in graph.degrees.tolist()]
    rows = "".join(f"{i},{i % 3},{busy[i]}\n" for i in range(graph.n))
    (tmp_path / "nodes.csv").write_text(f"id,town,busy\n{rows}", encoding="utf-8")
    for column in ("town", "busy"):
        text = f'kind = "profiles"\nfile = "nodes.csv"\npublic_when = "{column} == 0"\nrule = "both"\n'
        (tmp_path / f"{column}.toml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(run_main, monkeypatch, capsys, "audit")


def found(epsilon: float, broken: str = "", trouble: str = "") -> Outcome:
    finding = None if trouble else Finding("position", "exact", (Loss("PRIVATE", 1, epsilon),), 5, "all of it")
    return Outcome("position", "exact", broken, "position" if broken else "", finding, trouble, 0.5)


@pytest.fixture
def finds(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[Choice, int]]]:
    """Put these outcomes in place of a run; what was asked for is remembered."""

    def put(*outcomes: Outcome) -> list[tuple[Choice, int]]:
        asked: list[tuple[Choice, int]] = []

        def stand_in(choice: Choice, repeats: int = 0, *_: Any) -> Audited:
            asked.append((choice, repeats))
            return Audited(choice, outcomes, (), 1.0, 2)

        monkeypatch.setattr(runner, "run", stand_in)
        return asked

    return put


@pytest.mark.long
def test_a_real_run_as_json(run: Run) -> None:
    done = run("--mechanism", "Hadamard", "--way", "exact", "--json")
    assert (done.code, done.err) == (0, "")
    (finding,) = done.json["findings"]
    assert finding["losses"][0]["found"] == pytest.approx(0.1)
    assert done.json["passed"] is True


def test_tables_and_what_cannot_be_shown(run: Run, finds: Callable[..., Any]) -> None:
    finds(found(1.0), found(float("inf"), broken="Sent bare"))
    done = run()
    assert done.code == 0
    assert "Sent bare" in done.out
    assert "∞" in done.out
    assert "1 of 1 audits of the real code" in done.out
    assert "no alarm is no proof" in " ".join(done.out.split())
    assert "That broken twins were caught" in " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 100


def test_where_no_twin_ran_none_is_said_to_be_caught(run: Run, finds: Callable[..., Any]) -> None:
    finds(found(1.0))
    said = " ".join(run("--no-twins").out.split())
    assert "No broken twin was audited" in said
    assert "twins were caught" not in said


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (found(1.1), "position, exact: found 1.1, claimed 1"),
        (found(0.9, broken="Sent bare"), "not caught"),
        (found(0, trouble="ProtocolViolation: Coins came late"), "Coins came late"),
        (found(0, broken="Sent bare", trouble="TypeError: no"), "TypeError: no"),
    ],
    ids=["claim", "twin", "trouble", "trouble of a twin"],
)
def test_a_failure_leaves_with_1_and_a_sentence(
    run: Run, finds: Callable[..., Any], outcome: Outcome, words: str, as_json: bool
) -> None:
    finds(outcome)
    done = run(*(["--json"] if as_json else []))
    assert done.code == 1
    assert words in done.err
    assert done.err.splitlines()[-1].startswith("Error: The audit failed")
    assert "Traceback" not in done.err
    assert (done.json["passed"] is False) if as_json else ("✗" in done.out)


@pytest.mark.parametrize(
    ("words", "choice", "repeats"),
    [
        ([], Choice(), 100),
        (["--long", "--no-twins"], Choice(runs=10**7, twins=False), 100),
        (["--runs", "5000", "--way", "statistical"], Choice(way="statistical", runs=5000), 100),
        (["--mechanism", "hub", "--false-alarms"], Choice("hub"), 1000),
        (["--way", "exact"], Choice(way="exact"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options(run: Run, finds: Callable[..., Any], words: list[str], choice: Choice, repeats: int) -> None:
    asked = finds(found(1.0))
    assert run(*words).code == 0
    assert asked == [(choice, repeats)]


def test_files_are_written_also_when_it_fails(run: Run, finds: Callable[..., Any], folder: Path) -> None:
    finds(found(1.1))
    assert run("--output", "out").code == 1
    assert {path.name for path in (folder / "out").iterdir()} == {"audit.json", "audit.html"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--mechanism", "positoin"], "Did you mean 'position'"),
        (["--way", "timing"], "exact, statistical, time"),
        (["--graph", "graph.txt"], "--policy"),
        (["--policy", "nothing"], "--graph"),
        (["--graph", "graph.txt", "--policy", "nothing", "--attributes", "town"], "no table"),
        (["--graph", "graph.txt", "--policy", "town.toml", "--attributes", "twon"], "Did you mean 'town'"),
        (["--runs", "10"], "400"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_leaves_with_2(run: Run, words: list[str], hint: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert hint in done.err
    assert "Traceback" not in done.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "flagged"),
    [
        (["town.toml"], False),
        (["busy.toml"], True),
        (["busy.toml", "--attributes", "town"], True),
        (["busy.toml", "--attributes", "town, busy"], False),
        (["hubs:0.2"], True),
        (["town.toml", "--scope", "group:town", "--attributes", "nodes.csv"], False),
        (["town.toml", "--scope", "file:graph.txt"], True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_policy_that_follows_edges_is_flagged(run: Run, words: list[str], flagged: bool) -> None:
    done = run("--graph", "graph.txt", "--policy", *words, "--json")
    assert done.json["flagged"] is flagged
    assert done.code == int(flagged)
    assert bool(done.err) is flagged


@pytest.mark.parametrize("as_json", [False, True])
def test_a_policy_that_cannot_be_tested_is_no_pass(run: Run, folder: Path, as_json: bool) -> None:
    rows = "".join(f"{i},{i},{i % 2}\n" for i in range(80))
    (folder / "nodes.csv").write_text(f"id,name,town\n{rows}", encoding="utf-8")
    words = ["--graph", "graph.txt", "--policy", "town.toml", "--attributes", "name"]
    done = run(*words, *(["--json"] if as_json else []))
    assert done.code == 1
    assert "could not be tested" in done.err
    assert "Declare fewer" in done.err
    if as_json:
        assert (done.json["verdict"], done.json["flagged"], done.json["deals"]) == ("could not be tested", False, 1)
    else:
        assert "could not be tested" in done.out


def test_the_check_of_a_policy_as_a_table(run: Run) -> None:
    done = run("--graph", "graph.txt", "--policy", "town.toml", "--attributes", "town")
    assert done.code == 0
    assert "AUC" in done.out
    assert "no more about edges" in done.out


def test_other_commands_do_not_pay_for_the_audit() -> None:
    heavy = "[m for m in sys.modules if 'evaluation' in m or 'edge_ldp.audit' in m or m == 'numpy']"
    code = f"import sys, visibility_aware_edge_ldp.cli; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.long
def test_the_time_is_said_before_a_long_audit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visibility_aware_edge_ldp.simulation.runtime_forecast.LONG", 0.0)
    done = run("--mechanism", "Hadamard", "--way", "exact", "--no-twins")
    assert "of memory (" in done.err
    assert "and about" in done.err
