"""``va-edge-ldp estimate``: JSON, tables, certificates, and what is said before a large run."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import pytest

from support.command import Run
from support.command_line import assert_one_sentence
from visibility_aware_edge_ldp import cli

STAMP = "Simulation, not private"


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


def test_hubs_chosen_by_noisy_degrees_are_paid_for(run: Run) -> None:
    words = ("estimate", "random:30,60", "--trust", "position", "--policy", "hubs:3,epsilon=0.1", "--seed", "1")
    said = run(*words, "--scope", "lists", "--json").json["certificate"]
    assert said["loss_per_edge"]["PRIVATE"]["epsilon"] == pytest.approx(1.1)
    assert said["paid_for_the_policy"]["PRIVATE"]["epsilon"] == pytest.approx(0.1)
    assert said["policy"] == "3 public hubs, chosen by noisy degree (rule 'any')"
    assert "3 public friend lists" in said["scope"]["inside"]
    assert "ε = 0.1 per PRIVATE edge was paid for choosing the policy" in run(*words, "--certificate").out


def test_estimate_as_a_table(run: Run) -> None:
    words = ("estimate", "tiny.txt", "--trust", "position", "--statistics", "edges,triangles", "--seed", "1")
    done = run(*words)
    assert done.code == 0
    assert done.err.startswith("tiny.txt: 4 people, 4 ties; first: 0 – 1\nNote: 4 people at ε = 1: ")
    assert done.err.count("\n") == 2
    assert "tiny.txt: 4 nodes; ε = 1 for all statistics together" in " ".join(done.out.split())
    assert all(word in done.out for word in ("statistic", "95 % interval", "edges", "triangles"))
    assert "Certificate: POSITION, at most ε = 1 per PRIVATE edge." in done.out
    certified = run(*words, "--certificate").out
    assert "Trust model POSITION" in certified
    assert "an edge at a PRIVATE position loses at most ε = 1" in certified
    assert "by a factor of 2.72 at most" in certified
    assert "Policy: every position is PRIVATE." in certified


@pytest.mark.parametrize("more", [(), ("--output", "there"), ("--trust", "curator"), ("--policy", "profiles:0.5")])
def test_six_lines_at_most_follow_the_numbers(run: Run, more: tuple[str, ...]) -> None:
    words = ("estimate", "random:30,60", "--seed", "1", *more)
    after = run(*words).out.rpartition("┘\n")[2].splitlines()
    assert after[0].startswith("Certificate: ")
    assert after[-1].startswith("  va-edge-ldp ")
    assert len(after) <= 6
    brief = run(*words, "--brief").out.rpartition("┘\n")[2].splitlines()
    assert set(brief) <= set(after)
    assert not any("va-edge-ldp" in line for line in brief)


def test_what_to_try_next_keeps_the_scope_or_says_that_it_goes_beyond(run: Run) -> None:
    done = run("estimate", "random:30,60", "--policy", "profiles:0.5", "--scope", "lists", "--statistics", "edges")
    again, whole = (next(line for line in done.out.splitlines() if f"ldp {word}" in line) for word in ("est", "comp"))
    assert "--scope lists" in again
    assert whole.endswith("a report of the whole graph")


def test_names_of_statistics_stay_whole_on_a_narrow_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run("estimate", "random:30,60", "--trust", "user", "--statistics", "degree_histogram", "--truth")
    assert "│ degree_histogram │" in done.out


def test_true_values_are_shown_when_asked_for(run: Run) -> None:
    words = ("estimate", "tiny.txt", "--statistics", "edges,triangles,degree_histogram", "--seed", "1")
    shown = run(*words, "--truth")
    assert "true value" in shown.out
    assert re.search(r"│ edges .* 4 │", shown.out)
    said = run(*words, "--truth", "--json").json
    assert (said["estimates"]["edges"]["truth"], said["estimates"]["triangles"]["truth"]) == (4, 1)
    assert sum(said["estimates"]["degree_histogram"]["truth"]) == 4
    assert "not private" in said["caution"]
    assert "truth" not in run(*words, "--json").json["estimates"]["edges"]


def test_numbers_and_certificate_are_written(run: Run, folder: Path) -> None:
    words = ("estimate", "random:30,60", "--statistics", "edges,triangles,degrees", "--seed", "1", "--output", "found")
    done = run(*words, "--truth")
    assert "Wrote found/estimate.json, estimate.csv, certificate.txt." in done.out
    written = json.loads((folder / "found" / "estimate.json").read_text(encoding="utf-8"))
    assert written == run(*words, "--truth", "--json").json
    rows = list(csv.DictReader((folder / "found" / "estimate.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["statistic"], row["truth"]) for row in rows] == [("edges", "60.0"), ("triangles", "12.0")]
    assert float(rows[1]["uncut_low"]) < 0 == float(rows[1]["low"])
    assert "Policy: every position is PRIVATE." in (folder / "found" / "certificate.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("trust", ["user", "USER", "neighbourhood"])
def test_other_trust_models_say_whom_they_trust(run: Run, trust: str) -> None:
    done = run("estimate", "random:40,200", "--trust", trust, "--statistics", "triangles", "--seed", "1",
               "--certificate")  # fmt: skip
    assert done.code == 0
    assert ("nothing but noise" in done.err) == (trust.lower() == "user")
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
    assert "at most ε = 2 per PRIVATE edge" in done.out


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
    assert "Assumes that it is public knowledge who the hubs are." in run(*words, "hubs:0.1", "--certificate").out
    assert "hubs" not in run(*words, "document-001", "--certificate").out


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
    words = ("estimate", "random:30,60", "--trust", "position", "--statistics", "edges", "--dropout", "0.3")
    words = (*words, "--seed", "1")
    assert 0.5 < run(*words, "--json").json["certificate"]["response"]["PRIVATE"] < 0.9
    assert "whatever their bits" in run(*words, "--certificate").out


@pytest.mark.parametrize("extra", [[], ["--json"]], ids=["text", "json"])
def test_an_enormous_epsilon_is_answered_or_refused(run: Run, extra: list[str]) -> None:
    assert run("estimate", "tiny.txt", "--epsilon", "1e400", "--statistics", "edges", *extra).code in (0, 2)


def test_a_trusted_centre_answers_and_says_what_trust_is_worth(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["va-edge-ldp", "estimate", "random:40,150", "--trust", "curator", "--seed", "1", "--certificate"]
    )
    with pytest.raises(SystemExit) as left:
        cli.main()
    printed = capsys.readouterr().out
    assert left.value.code == 0
    assert "central, not local" in printed
    assert "Without a centre" in printed
    assert "Not for release" in printed


def test_a_large_run_says_what_it_needs_and_json_says_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visibility_aware_edge_ldp.simulation.runtime_forecast.LARGE", 1000)
    words = ("estimate", "random:60,200", "--trust", "position", "--statistics", "edges", "--seed", "1")
    done = run(*words)
    assert re.fullmatch(r"This needs up to \d+ MB of memory \(.* are free\) and about 1 s\.\n", done.err)
    assert run(*words, "--json").err == ""


def test_small_runs_start_without_a_word(run: Run) -> None:
    assert run("estimate", "random:60,200", "--trust", "user", "--statistics", "edges", "--seed", "1").err == ""


def test_the_model_is_chosen_and_the_choice_is_said(run: Run) -> None:
    words = ("estimate", "random:60,200", "--statistics", "edges", "--seed", "1")
    done = run(*words)
    assert done.err.startswith("Note: trust model USER, whose standard errors are about 3.7 times smaller here; ")
    assert "--trust position" in done.err
    assert run(*words, "--json").json["certificate"]["trust"] == "USER"
    assert "to which rounds belong" in run(*words, "--rounds", "2").err


def test_nothing_but_noise_is_said(run: Run) -> None:
    assert "nothing but noise" in run("estimate", "tiny.txt", "--statistics", "triangles", "--seed", "1").err


def test_less_counting_can_be_asked_for(run: Run) -> None:
    words = (
        "estimate",
        "random:3000,9000",
        "--trust",
        "position",
        "--statistics",
        "triangles",
        "--seed",
        "1",
        "--json",
    )
    whole, part = run(*words).json, run(*words, "--work", "0.2").json
    assert part["estimates"] != whole["estimates"]
    assert run("estimate", "random:60,200", "--work", "0.5", "--statistics", "edges", "--json").code == 0
    assert_one_sentence(run("estimate", "random:60,200", "--work", "2"), "at most 1")
    assert_one_sentence(run("estimate", "random:60,200", "--work", "0.5", "--rounds", "2"), "Leave it out")
    assert_one_sentence(run("estimate", "random:60,200", "--work", "0.5", "--trust", "user"), "leave it out")


VISITS = "person,place\nann,cinema\nbob,cinema\nann,zoo\nbob,zoo\ncem,zoo\n"


def test_people_and_places(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(VISITS)
    words = ("estimate", str(path), "--bipartite", "--seed", "1")
    done = run(*words, "--truth")
    assert done.code == 0
    assert "visits.csv: 3 people, 2 places, 5 visits; first: ann – cinema\n" in done.err
    assert "Note: trust model USER: people hold their lists of places" in done.err
    assert "visits.csv: 3 people, 2 places; ε = 1" in " ".join(done.out.split())
    assert "butterflies" in done.out
    assert "--bipartite --trust position" in done.out  # what to try next
    said = run(*words, "--trust", "position", "--truth", "--json").json
    assert (said["graph"]["people"], said["graph"]["places"]) == (3, 2)
    assert said["estimates"]["butterflies"]["truth"] == 1
    assert said["estimates"]["place_degrees"]["truth"] == [2, 3]
    assert len(said["estimates"]["people_degrees"]["value"]) == 3
    assert said["certificate"]["loss_per_edge"]["PRIVATE"]["epsilon"] == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["visits.csv", "--statistics", "butterflies"], "is about people and places"),
        (["visits.csv", "--bipartite", "--trust", "curator"], "position and user models"),
        (["visits.csv", "--bipartite", "--trust", "user", "--statistics", "stars:2"], "places answer nothing there"),
        (["visits.csv", "--bipartite", "--bounds"], "Lower bounds are not known"),
        (["visits.csv", "--bipartite", "--statistics", "triangles"], "is not told of people and places"),
        (["random:30,60", "--bipartite"], "belong to a file of edges"),
        (["--bipartite"], "needs a file with a person and a place"),
    ],
)
def test_people_and_places_are_refused_in_one_sentence(
    run: Run, tmp_path: Path, words: list[str], sentence: str
) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(VISITS)
    done = run("estimate", *(str(path) if word == path.name else word for word in words), "--seed", "1")
    assert done.code == 2
    assert sentence in done.err
    assert done.err.splitlines()[-1].startswith("Error: ")
