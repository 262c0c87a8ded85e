"""``va-edge-ldp compare``: JSON, tables, trials that go on, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.command import Run, Said
from support.command_line import BAD, assert_one_sentence


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
    assert "Does visibility help?" in done.out
    assert "Edges within 5%: " in done.out
    notes = run(*words, "--policy", "document-003", "--json").json["notes"]
    assert any("its questions share one ε" in note for note in notes)
    assert "neighbourhood" not in done.out  # there triangles alone are counted
    rows = [line.split()[:3] for line in done.out.splitlines() if " edges " in line and "×" in line]
    assert rows == [[trust, "1", "edges"] for trust in ("position", "user", "curator")]
    assert all(len(line) <= 80 for line in done.out.splitlines() if line in rows)


def test_every_trust_model_is_compared_by_default(run: Run) -> None:
    done = run("compare", "random:30,60", "--epsilons", "1", "--trials", "1", "--seed", "3")
    assert all(word in done.out for word in ("position", "user", "neighbourhood", "curator", "four_cycles", "try next"))
    assert max(map(len, done.out.splitlines()[1:])) <= 200
    listed = run("compare", "random:30,60", "--epsilons", "1", "--trials", "1", "--trust", "curator,user", "--json")
    assert listed.json["trust"] == ["user", "curator"]


@pytest.mark.long
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
    more = again.json["uniform"][0]["trials"] - 3
    assert 0 < more <= 15  # up to six times as many trials, because these gains are not known closely
    assert len(calls) == 4 + 3 + 2 * more
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


@pytest.mark.long
def test_a_seeded_comparison_repeats(run: Run) -> None:
    words = ("compare", "random:30,60", "--epsilons", "1", "--trials", "2", "--statistics", "max_degree", "--seed")
    one, again, other = run(*words, "3").out, run(*words, "3").out, run(*words, "4").out
    assert one == again
    assert one != other


def test_compare_with_one_trial_and_nothing_to_find_has_no_nan(run: Run) -> None:
    done = run("compare", "gaps.txt", "--epsilons", "1", "--trials", "1", "--statistics", "triangles,edges", "--json")
    assert done.code == 0
    assert done.json["uniform"][0]["truth"] == 0
    assert done.json["uniform"][0]["error_uncertainty"] is None


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


def test_hubs_are_chosen_and_paid_for_before_their_lists_become_the_scope(run: Run) -> None:
    words = ["--policy", "hubs:5,epsilon=0.1", "--scope", "lists", "--trust", "position", "--trials", "1"]
    result = run("compare", "powerlaw:60,200", *words, "--epsilons", "1", "--statistics", "edges", "--seed", "1")
    assert result.code == 0
    assert "choosing it cost ε = 0.1 of each loss" in " ".join(result.out.split())
    assert "What the gain is made of" in result.out
    assert result.out.count("--policy hubs:5,epsilon=0.1 --scope lists") == 2, "what to try next keeps the scope"
    refused = run("compare", "powerlaw:60,200", *words, "--epsilons", "0.1", "--statistics", "edges")
    assert refused.code != 0
    assert "leaves nothing of ε = 0.1" in refused.err


def test_groups_are_compared(run: Run, folder: Path) -> None:
    (folder / "people.csv").write_text("id,ward\n" + "".join(f"{i},{'NS'[i % 2]}\n" for i in range(30)))
    words = ("compare", "random:30,60", "--epsilons", "1", "--trials", "1", "--seed", "3", "--trust", "position,user")
    of_groups = (*words, "--statistics", "mixing,ei_index")
    done = run(*of_groups, "--groups", "ward", "--attributes", str(folder / "people.csv"), "--json")
    assert [row["statistic"] for row in done.json["uniform"]] == ["mixing", "ei_index"] * 2
    assert done.json["matrices"][0]["labels"] == [["N", "N"], ["N", "S"], ["S", "S"]]
    assert_one_sentence(run(*of_groups), "mixing is about public groups; name them with --groups")
