"""The command line: JSON that parses, tables that read, runs that repeat, and one sentence for bad input."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command import Run, Said, run_main
from visibility_aware_edge_ldp import __version__, cli
from visibility_aware_edge_ldp.commands.common import START
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused, RelationMismatch, VaEdgeLdpError

STAMP = "Simulation, not private"
TINY = "0 1\n1 2\n0 2\n2 3\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with good and bad files, on a machine that has no graphs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("VA_EDGE_LDP_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    files = {
        "tiny.txt": TINY,
        "empty.txt": "",
        "comments.txt": "# nothing\n",
        "one.txt": "5 5\n",
        "loops.txt": "a b\na a\nb a\nb c\n",
        "gaps.txt": "10 20\n20 35\n",
        "ragged.txt": "0 1\n2\n",
        "unknown.toml": 'kind = "profiles"\nprofiles = { nobody = "public" }\n',
        "sum.toml": 'kind = "fractions"\npublic = 0.5\nprivate = 0.6\n',
        "good.toml": 'kind = "profiles"\nrule = "any"\nprofiles = { 2 = "public" }\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TINY.encode() * 100)[:40])
    (tmp_path / "damaged.gz").write_bytes(b"\x1f\x8b" + bytes(40))
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)))
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``va-edge-ldp`` with these words, in this process."""

    return partial(run_main, monkeypatch, capsys)


# ── estimate ──


def test_estimate_as_json(run: Run) -> None:
    done = run("estimate", "random:30,60", "--epsilon", "2", "--statistics", "all", "--seed", "1", "--json")
    assert (done.code, done.err) == (0, "")
    said = done.json
    assert said["graph"] == {"source": "random:30,60 (synthetic)", "nodes": 30, "notes": []}
    assert set(said["estimates"]) >= {"edges", "triangles", "transitivity", "degree_histogram", "stars:3"}
    edges = said["estimates"]["edges"]
    assert edges["interval"][0] < edges["value"] < edges["interval"][1]
    assert len(said["estimates"]["degrees"]["value"]) == 30
    losses = said["certificate"]["loss_per_edge"]
    assert losses["PRIVATE"] == {"epsilon": 2.0, "delta": 0.0}
    assert losses["FRIEND_VISIBLE"] == {"epsilon": 4.0, "delta": 0.0}


def test_estimate_as_a_table(run: Run) -> None:
    done = run("estimate", "tiny.txt", "--statistics", "edges,triangles", "--seed", "1")
    assert (done.code, done.err) == (0, "")
    assert "tiny.txt: 4 nodes; ε = 1 for all statistics together" in " ".join(done.out.split())
    assert all(word in done.out for word in ("statistic", "95 % interval", "edges", "triangles"))
    assert "Trust model POSITION" in done.out
    assert "an edge at a PRIVATE position loses at most ε = 1" in done.out
    assert "Policy: every position is PRIVATE." in done.out


@pytest.mark.parametrize("trust", ["user", "USER", "neighbourhood"])
def test_other_trust_models_say_whom_they_trust(run: Run, trust: str) -> None:
    done = run("estimate", "random:40,200", "--trust", trust, "--statistics", "triangles", "--seed", "1")
    assert (done.code, done.err) == (0, "")
    assert f"Trust model {trust.upper()}" in done.out
    assert "an edge at a PRIVATE position loses at most ε = 1\n" in done.out
    assert "Of ε went" in done.out


def test_bounds_stand_beside_errors(run: Run) -> None:
    words = ("estimate", "random:40,200", "--trust", "user", "--statistics", "edges,stars:2", "--bounds", "--seed", "1")
    done = run(*words)
    assert (done.code, done.err) == (0, "")
    assert "not for release" in done.out
    rows = run(*words, "--json").json["lower_bounds"]
    assert [row["statistic"] for row in rows] == ["edges", "stars:2"]
    assert all(float(row["± s.e."]) >= float(row["least unbiased here"]) > 0 for row in rows)
    assert run("estimate", "random:40,200", "--trust", "curator", "--bounds").code == 2


def test_whole_degrees_are_hidden_for_an_epsilon_of_their_own(run: Run) -> None:
    done = run("estimate", "random:40,200", "--trust", "user", "--hide", "degree", "--seed", "1")
    assert (done.code, done.err) == (0, "")
    assert "each whole degree, twice that per edge" in " ".join(done.out.split())
    assert "loses at most ε = 2" in done.out


def test_a_delta_that_is_not_spent_is_said(run: Run) -> None:
    words = ("estimate", "random:40,200", "--statistics", "triangles", "--delta", "1e-6", "--seed", "1", "--trust")
    assert "not spent" in run(*words, "user").err
    assert "δ = 1e-06" in run(*words, "neighbourhood").out


def test_a_seeded_run_repeats_exactly_and_is_stamped(run: Run) -> None:
    words = ("estimate", "random:30,60", "--seed", "7", "--statistics", "edges,triangles,stars:2")
    one, again, other = run(*words), run(*words), run(*words[:3], "8", *words[4:])
    assert one == again
    assert STAMP in one.out
    assert other.out != one.out
    assert run(*words, "--json").json["certificate"]["simulation_not_private"] is True


def test_an_unseeded_run_is_not_stamped_and_two_differ(run: Run) -> None:
    words = ("estimate", "random:30,60", "--statistics", "edges,degrees")
    plain = run(*words)
    assert plain.code == 0
    assert STAMP not in plain.out
    one, other = run(*words, "--json").json, run(*words, "--json").json
    assert one["certificate"]["simulation_not_private"] is False
    assert one["estimates"]["degrees"] != other["estimates"]["degrees"]


def test_everything_public_is_exact(run: Run) -> None:
    said = run(
        "estimate", "tiny.txt", "--policy", "fractions:1", "--statistics", "edges,triangles,stars:2", "--json"
    ).json
    values = {name: estimate["value"] for name, estimate in said["estimates"].items()}
    assert values == {"edges": 4, "triangles": 1, "stars:2": 5}


@pytest.mark.parametrize(
    ("policy", "positions"),
    [
        ("nothing", {"PRIVATE": 435}),
        ("good.toml", {"PUBLIC": 29, "PRIVATE": 406}),
        ("profiles:1,both", {"PUBLIC": 435}),
        ("hubs:0.1", {"PUBLIC": 84, "PRIVATE": 351}),
        ("fractions:0,1", {"FRIEND_VISIBLE": 435}),
    ],
)
def test_policies(run: Run, policy: str, positions: dict[str, int]) -> None:
    said = run("estimate", "random:30,60", "--policy", policy, "--statistics", "edges", "--json").json
    assert said["certificate"]["positions"] == positions


def test_an_oracle_is_named_in_the_certificate(run: Run) -> None:
    words = ("estimate", "random:30,60", "--statistics", "edges", "--policy")
    assert "Assumes that it is public knowledge who the hubs are." in run(*words, "hubs:0.1").out
    assert "hubs" not in run(*words, "document-001").out


def test_two_rounds_cost_the_same(run: Run) -> None:
    words = ("estimate", "random:30,60", "--statistics", "edges,triangles", "--json", "--rounds")
    one, two = run(*words, "1").json, run(*words, "2").json
    assert one["certificate"]["loss_per_edge"] == two["certificate"]["loss_per_edge"]
    assert two["estimates"]["edges"]["standard_error"] > one["estimates"]["edges"]["standard_error"]


def test_the_documents_estimator_has_no_error_and_its_json_no_nan(run: Run) -> None:
    words = ("estimate", "random:30,60", "--rounds", "2", "--estimator", "ipw_capped")
    done = run(*words, "--statistics", "edges,triangles,stars:2", "--seed", "1", "--json")
    assert done.code == 0
    assert done.json["estimates"]["edges"]["standard_error"] is None
    table = run(*words, "--statistics", "edges").out
    assert "none" in table
    assert "come without intervals" in table


def test_dropout_is_said(run: Run) -> None:
    words = ("estimate", "random:30,60", "--statistics", "edges", "--dropout", "0.3", "--seed", "1")
    assert 0.5 < run(*words, "--json").json["certificate"]["response"]["PRIVATE"] < 0.9
    assert "whatever their bits" in run(*words).out


def test_what_was_changed_on_the_way_in_is_said_on_the_side(run: Run) -> None:
    done = run("estimate", "loops.txt", "--statistics", "edges")
    assert done.code == 0
    assert re.fullmatch(r"(Note: .*\n){2}", done.err)
    assert "self-loop" in done.err
    quiet = run("estimate", "loops.txt", "--statistics", "edges", "--json")
    assert quiet.err == ""
    assert len(quiet.json["graph"]["notes"]) == 2
    assert "node ids" in run("estimate", "gaps.txt", "--statistics", "edges").err


def test_the_highest_degrees_only(run: Run) -> None:
    said = run("estimate", "random:30,60", "--top", "10", "--statistics", "edges", "--json").json
    assert said["graph"]["nodes"] == 10


# ── compare and datasets ──


def test_compare_as_json(run: Run) -> None:
    done = run("compare", "random:30,60", "--epsilons", "1,2", "--trials", "2", "--seed", "3", "--trust", "position",
               "--statistics", "edges,triangles,degree_histogram", "--json")  # fmt: skip
    assert done.code == 0
    said = done.json
    assert (said["nodes"], said["edges"], said["trials"], said["trust"]) == (30, 60, 2, ["position"])
    assert [row["epsilon"] for row in said["uniform"]] == [1, 1, 1, 2, 2, 2]
    assert {row["statistic"] for row in said["visibility-aware"]} == {"edges", "triangles", "degree_histogram"}
    assert said["uniform"][2]["truth"] is None


def test_compare_as_a_table(run: Run) -> None:
    words = ("compare", "random:30,60", "--epsilons", "1", "--trials", "2", "--seed", "3", "--statistics", "edges")
    done = run(*words, "--policy", "document-003")
    assert done.code == 0
    assert all(word in done.out for word in ("uniform", "visibility-aware", "gain", "edges", "33.1% PUBLIC"))
    assert "ε is the loss per PRIVATE edge" in done.out
    assert "its questions share one ε" in done.out
    assert "neighbourhood" not in done.out  # there triangles alone are counted
    rows = [line.split("│")[1:4] for line in done.out.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        [trust, "1", "edges"] for trust in ("position", "user", "curator")
    ]


def test_every_trust_model_is_compared_by_default(run: Run) -> None:
    done = run("compare", "random:30,60", "--epsilons", "1", "--trials", "1", "--seed", "3")
    assert all(word in done.out for word in ("position", "user", "neighbourhood", "curator", "four_cycles", "try next"))
    assert max(map(len, done.out.splitlines()[1:])) <= 200
    listed = run("compare", "random:30,60", "--epsilons", "1", "--trials", "1", "--trust", "curator,user", "--json")
    assert listed.json["trust"] == ["user", "curator"]


def test_a_comparison_goes_on_where_it_was_stopped(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from visibility_aware_edge_ldp.evaluation.compare import runner

    words = ("compare", "random:30,60", "--epsilons", "1", "--trials", "3", "--seed", "3", "--trust", "position",
             "--statistics", "edges,triangles", "--json")  # fmt: skip
    whole = run(*words).json
    really, calls = runner.run_cell, []

    def stop_at_the_fourth(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return really(*given)

    monkeypatch.setattr(runner, "run_cell", stop_at_the_fourth)
    stopped = run(*words, "--output", "out")
    assert (stopped.code, stopped.out) == (130, "")
    assert "3 finished collections are in out/trials.jsonl; the same command goes on" in stopped.err
    again = run(*words, "--output", "out")
    assert "Going on from 3 of 6 collections" in again.err
    assert len(calls) == 4 + 3
    for side in ("uniform", "visibility-aware"):
        for one, other in zip(again.json[side], whole[side], strict=True):
            assert {**one, "seconds": 0} == {**other, "seconds": 0}
    assert sorted(path.name for path in (folder / "out").iterdir() if path.suffix in (".json", ".jsonl", ".html")) == [
        "report.html",
        "results.json",
        "trials.jsonl",
    ]


def test_a_stopped_comparison_without_a_folder_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from visibility_aware_edge_ldp.evaluation.compare import runner

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_cell", stop)
    done = run("compare", "tiny.txt", "--trials", "1", "--epsilons", "1")
    assert (done.code, done.out) == (130, "")
    assert "With --output FOLDER, a stopped comparison can go on" in done.err


def test_a_seeded_comparison_repeats(run: Run) -> None:
    words = ("compare", "random:30,60", "--epsilons", "1", "--trials", "2", "--statistics", "edges", "--seed")
    one, again, other = run(*words, "3").out, run(*words, "3").out, run(*words, "4").out
    assert one == again
    assert one != other


def test_compare_with_one_trial_and_nothing_to_find_has_no_nan(run: Run) -> None:
    done = run("compare", "gaps.txt", "--epsilons", "1", "--trials", "1", "--statistics", "triangles,edges", "--json")
    assert done.code == 0
    assert done.json["uniform"][0]["truth"] == 0
    assert done.json["uniform"][0]["error_uncertainty"] is None


def test_datasets(run: Run) -> None:
    known = run("datasets", "list", "--json").json
    assert {"name": "facebook", "nodes": 4039, "edges": 88234, "path": None}.items() <= known[0].items()
    table = run("datasets", "list")
    assert all(entry["name"] in table.out for entry in known)
    assert "facebook-like" in table.out


def test_datasets_says_where_a_graph_is(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "facebook_combined.txt.gz").write_bytes(b"here")
    monkeypatch.setenv("VA_EDGE_LDP_DATA", str(folder))
    assert run("datasets", "list", "--json").json[0]["path"] == str(folder / "facebook_combined.txt.gz")


def test_version_and_help(run: Run) -> None:
    assert run("--version") == Said(0, f"va-edge-ldp {__version__}\n", "")
    for command in ([], ["estimate"], ["compare"], ["datasets"], ["datasets", "list"], ["datasets", "fetch"]):
        done = run(*command, "-h")
        assert (done.code, done.err) == (0, "")
        assert "Usage" in done.out
        assert command in ([], ["datasets"]) or "--json" in done.out


# ── the tour for somebody who is new ──

NEXT = re.compile(r"^  (va-edge-ldp [^#]*?)  +# .", re.MULTILINE)
TOURS = [
    ["estimate", "random:30,60", "--statistics", "edges"],
    ["estimate", "tiny.txt", "--policy", "good.toml", "--trust", "user", "--statistics", "edges", "--epsilon", "2"],
    ["compare", "random:30,60", "--epsilons", "1", "--trials", "1", "--statistics", "edges"],
    ["compare", "tiny.txt", "--epsilons", "1", "--trials", "1", "--statistics", "edges", "--output", "a folder"],
    ["datasets", "list"],
    ["audit", "--mechanism", "position, one round", "--way", "exact", "--no-twins"],
    ["audit", "--graph", "random:30,60", "--policy", "profiles:0.5"],
]


@pytest.mark.parametrize("words", TOURS, ids=" ".join)
def test_the_last_lines_say_what_it_means_and_what_can_be_typed_next(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert done.code == 0
    assert done.out.count("What it means: ") == 1
    tour = done.out[done.out.index("What it means: ") :]
    steps = NEXT.findall(tour)
    assert 1 <= len(steps) <= 3
    assert len(tour.splitlines()) <= 6
    for step in steps:
        # Options are read before help is shown, and a graph that is not there cannot be asked for.
        program, *rest = shlex.split(step)
        assert run(*rest, "--help").code == 0, step
        assert program == "va-edge-ldp"


@pytest.mark.parametrize("words", [TOURS[0], TOURS[1], TOURS[2]], ids=" ".join)
def test_what_can_be_typed_next_really_runs(run: Run, words: list[str]) -> None:
    for step in NEXT.findall(run(*words).out):
        command, *rest = shlex.split(step)[1:]
        brief = ["--trials", "1", "--epsilons", "1", "--statistics", "edges"] if command == "compare" else []
        done = run(command, *rest, *brief)
        assert (done.code, "Traceback" in done.err) == (0, False), done.err


def test_the_tour_names_the_report_and_says_how_much_is_hidden(run: Run) -> None:
    assert "Open a folder/report.html in a browser" in run(*TOURS[3]).out
    assert "by a factor of 2.72 at most" in run(*TOURS[0]).out
    words = ("estimate", "tiny.txt", "--statistics", "edges", "--epsilon")
    assert "An edge loses ε = 9 in all, which hides little" in run(*words, "9").out
    assert "nothing is hidden" in run(*words, "1", "--policy", "fractions:1").out


def test_where_to_start_is_a_list_of_commands_that_are_there(run: Run) -> None:
    steps = [shlex.split(line, comments=True) for line in START.splitlines() if line.startswith("va-edge-ldp")]
    assert [step[1] for step in steps] == ["estimate", "compare", "plan"]
    assert all(run(*step[1:], "--help").code == 0 for step in steps)
    assert max(map(len, START.splitlines())) <= 78  # fits a terminal


# ── bad input ──

BAD: dict[str, tuple[list[str], str]] = {
    "epsilon 0": (["tiny.txt", "--epsilon", "0"], "epsilon must be above 0"),
    "epsilon -1": (["tiny.txt", "--epsilon", "-1"], "epsilon must be above 0"),
    "epsilon nan": (["tiny.txt", "--epsilon", "nan"], "finite number"),
    "epsilon inf": (["tiny.txt", "--epsilon", "inf"], "finite number"),
    "epsilon words": (["tiny.txt", "--epsilon", "much"], "finite number"),
    "epsilon empty": (["tiny.txt", "--epsilon", ""], "finite number"),
    "epsilon 1e-30": (["tiny.txt", "--epsilon", "1e-30"], "too small to be sampled"),
    "delta 1": (["tiny.txt", "--delta", "1"], "delta must be at least 0 and below 1"),
    "delta -0.1": (["tiny.txt", "--delta", "-0.1"], "delta must be at least 0 and below 1"),
    "delta nan": (["tiny.txt", "--delta", "nan"], "finite number"),
    "k > n": (["tiny.txt", "--statistics", "stars:9"], "impossible on 4 nodes"),
    "k = n": (["tiny.txt", "--statistics", "stars:4"], "impossible on 4 nodes"),
    "k = 1": (["tiny.txt", "--statistics", "stars:1"], "A 1-star is an edge"),
    "unknown statistic": (["tiny.txt", "--statistics", "edges,beauty"], "'beauty' is not a statistic"),
    "no statistic": (["tiny.txt", "--statistics", ""], "is not a statistic"),
    "unknown policy": (["tiny.txt", "--policy", "openness"], "neither a file nor a policy's name"),
    "policy sum": (["tiny.txt", "--policy", "fractions:0.5,0.6,0.1"], "must sum to 1"),
    "policy sum in a file": (["tiny.txt", "--policy", "sum.toml"], "must sum to 1"),
    "policy of strangers": (["tiny.txt", "--policy", "unknown.toml"], "not in the graph, such as 'nobody'"),
    "policy file that is no TOML": (["tiny.txt", "--policy", "tiny.txt"], "cannot be read"),
    "hubs 2": (["tiny.txt", "--policy", "hubs:2"], "between 0 and 1"),
    "missing file": (["gone.txt"], "There is no file 'gone.txt'"),
    "folder": (["."], "is a folder"),
    "truncated gzip": (["cut.gz"], "truncated gzip"),
    "damaged gzip": (["damaged.gz"], "damaged gzip|no edges"),
    "empty file": (["empty.txt"], "holds no edges"),
    "comments only": (["comments.txt"], "holds no edges"),
    "one node": (["one.txt"], "at least two nodes"),
    "one name on a line": (["ragged.txt"], "Line 2 of ragged.txt"),
    "binary file": (["binary.txt"], "not a text file|does not name two nodes"),
    "synthetic nonsense": (["random:x"], "no synthetic graph"),
    "too many edges": (["random:30,6000"], "from 0 to 435 edges"),
    "too large for memory": (["random:3000000,5"], "GB of memory"),
    "known dataset that is not here": (["facebook"], "is not on this machine"),
    "rounds 3": (["tiny.txt", "--rounds", "3"], "1 or 2 rounds"),
    "rounds 0": (["tiny.txt", "--rounds", "0"], "1 or 2 rounds"),
    "dropout 1": (["tiny.txt", "--dropout", "1"], "nobody answers"),
    "dropout -1": (["tiny.txt", "--dropout", "-1"], "between 0 and 1"),
    "dropout nan": (["tiny.txt", "--dropout", "nan"], "finite number"),
    "ipw_capped in one round": (["tiny.txt", "--estimator", "ipw_capped"], "two rounds"),
    "ipw_capped without": (
        ["tiny.txt", "--estimator", "ipw_capped", "--rounds", "2", "--statistics", "four_cycles"],
        "has no four_cycles",
    ),
    "unknown estimator": (["tiny.txt", "--estimator", "best"], "'best' is not an estimator"),
    "unknown trust": (["tiny.txt", "--trust", "nobody"], "is not a trust model"),
    "top 1": (["tiny.txt", "--top", "1"], "--top must be between 2 and"),
    "top > n": (["tiny.txt", "--top", "5"], "--top must be between 2 and"),
}
SHARED = (
    "unknown policy",
    "policy sum",
    "policy of strangers",
    "missing file",
    "truncated gzip",
    "empty file",
    "one node",
    "unknown trust",
    "unknown statistic",
    "k > n",
    "top > n",
    "rounds 3",
)


def assert_one_sentence(done: Said, hint: str) -> None:
    assert done.code == 2
    assert done.out == ""
    lines = done.err.rstrip("\n").split("\n")
    assert len(lines) == 1, done.err
    assert lines[0].startswith("Error: ")
    assert re.search(hint, lines[0])
    assert "Traceback" not in done.err


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(("words", "hint"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(run: Run, words: list[str], hint: str, as_json: bool) -> None:
    assert_one_sentence(run("estimate", *words, *(["--json"] if as_json else [])), hint)


@pytest.mark.parametrize(("words", "hint"), [BAD[what] for what in SHARED], ids=SHARED)
def test_bad_input_of_a_comparison_is_refused(run: Run, words: list[str], hint: str) -> None:
    done = run("compare", *words, "--trials", "1", "--epsilons", "1")
    assert_one_sentence(Said(done.code, done.out, done.err.lstrip("\n")), hint)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--epsilons", "0"], "epsilon must be above 0"),
        (["--epsilons", "1,,2"], "finite number"),
        (["--epsilons", ""], "finite number"),
        (["--epsilons", "1,nan"], "finite number"),
        (["--epsilons", "1e-30", "--trials", "1"], "too small"),
        (["--trials", "0"], "At least one trial"),
        (["--trials", "-5"], "At least one trial"),
        (["--trust", "nobody"], "'nobody' is not a trust model; use all, or some of position, user"),
        (["--trust", "usr"], "Did you mean 'user'"),
        (["--trust", ""], "'' is not a trust model"),
        (["--trust", "neighbourhood", "--statistics", "edges"], "edges is not answered in the model neighbourhood"),
        (["--trust", "user", "--rounds", "2"], "takes the option 'rounds'"),
    ],
)
def test_bad_numbers_of_a_comparison_are_refused(run: Run, words: list[str], hint: str) -> None:
    done = run("compare", "tiny.txt", *words)
    assert_one_sentence(Said(done.code, done.out, done.err.lstrip("\n")), hint)


@pytest.mark.parametrize("epsilon", ["1", "0"])
def test_the_progress_bar_leaves_nothing_behind(run: Run, epsilon: str) -> None:
    done = run("compare", "tiny.txt", "--trials", "1", "--epsilons", epsilon, "--statistics", "edges", "--json")
    assert not done.err.startswith("\n")


def test_an_unknown_dataset_cannot_be_fetched(run: Run) -> None:
    assert_one_sentence(run("datasets", "fetch", "nonsense"), "'nonsense' is not a known dataset")


@pytest.mark.parametrize(
    "words",
    [["estimate", "tiny.txt", "--rounds", "x"], ["estimate", "--nonsense"], ["nonsense"], ["datasets", "fetch"]],
)
def test_words_that_cannot_be_parsed_leave_with_2(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert "Error" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("extra", [[], ["--json"]], ids=["text", "json"])
def test_an_enormous_epsilon_is_answered_or_refused(run: Run, extra: list[str]) -> None:
    assert run("estimate", "tiny.txt", "--epsilon", "1e400", "--statistics", "edges", *extra).code in (0, 2)


# ── leaving ──


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


def test_the_module_runs_as_a_program(folder: Path) -> None:
    program = [sys.executable, "-m", "visibility_aware_edge_ldp.cli", "estimate"]
    good = subprocess.run([*program, "tiny.txt", "--statistics", "edges", "--json"], capture_output=True, text=True)
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["graph"]["nodes"] == 4
    bad = subprocess.run([*program, "gone.txt"], capture_output=True, text=True)
    assert_one_sentence(Said(bad.returncode, bad.stdout, bad.stderr), "There is no file")


def test_a_trusted_centre_answers_and_says_what_trust_is_worth(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["va-edge-ldp", "estimate", "random:40,150", "--trust", "curator", "--seed", "1"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    printed = capsys.readouterr().out
    assert left.value.code == 0
    assert "central, not local" in printed
    assert "Without a centre" in printed
    assert "Not for release" in printed


def test_a_large_run_says_what_it_needs_and_json_says_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visibility_aware_edge_ldp.simulation.foretold.LARGE", 1000)
    words = ("estimate", "random:60,200", "--statistics", "edges", "--seed", "1")
    done = run(*words)
    assert re.fullmatch(r"This needs up to \d+ MB of memory \(.* are free\) and about 1 s\.\n", done.err)
    assert run(*words, "--json").err == ""


def test_small_runs_start_without_a_word(run: Run) -> None:
    assert run("estimate", "random:60,200", "--statistics", "edges", "--seed", "1").err == ""


def test_less_counting_can_be_asked_for(run: Run) -> None:
    words = ("estimate", "random:3000,9000", "--statistics", "triangles", "--seed", "1", "--json")
    whole, part = run(*words).json, run(*words, "--work", "0.2").json
    assert part["estimates"] != whole["estimates"]
    assert run("estimate", "random:60,200", "--work", "0.5", "--statistics", "edges", "--json").code == 0
    assert_one_sentence(run("estimate", "random:60,200", "--work", "2"), "at most 1")
    assert_one_sentence(run("estimate", "random:60,200", "--work", "0.5", "--rounds", "2"), "Leave it out")
    assert_one_sentence(run("estimate", "random:60,200", "--work", "0.5", "--trust", "user"), "leave it out")
