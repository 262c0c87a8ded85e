"""``va-edge-ldp ego-survey``, and ``estimate`` and ``compare`` on an ego survey."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from commands.test_common_schemas import keeps
from support import ego_surveys
from support.command import Run
from support.command_line import assert_one_sentence


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    return [str(ego_surveys.egor(tmp_path / "survey")), "--roster", str(ego_surveys.people(tmp_path))]


def test_what_matched_and_what_did_not(run: Run, words: list[str], tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("matching.csv", "edges.csv", "lists")}
    options = ("--matching", files["matching.csv"], "--edges", files["edges.csv"], "--friends", files["lists"])
    done = run("ego-survey", *words, *map(str, options))
    assert (done.code, done.err) == (0, "")
    assert "3 of 6 people of the roster were asked and named 9 alters" in done.out
    assert "in 1 of them (50%) both named each other" in done.out
    assert "'Zoe Krohl' (named by \"Sam O'Neill\") is not in the roster; did you mean 'Zoë Król'?" in done.out
    assert "keep them to yourself" in done.out
    with files["matching.csv"].open(encoding="utf-8", newline="") as rows:
        assert len(list(csv.DictReader(rows))) == 12
    assert files["edges.csv"].read_text(encoding="utf-8") == "from,to\np1,p2\np1,p4\np2,p3\n"
    assert len(list(files["lists"].iterdir())) == 4


def test_json_keeps_its_schema(run: Run, words: list[str]) -> None:
    found = run("ego-survey", *words, "--json").json
    keeps("ego-survey", found)
    assert found["alters"]["read as"] == 3
    assert [row["given"] for row in found["unmatched"]] == ["Nobody Known", "Zoe Krohl", "Jo  Ann?"]


def test_commands_take_a_survey(run: Run, words: list[str]) -> None:
    done = run("estimate", *words, "--trust", "user", "--statistics", "edges", "--truth", "--seed", "1", "--json")
    assert done.code == 0
    assert done.json["estimates"]["edges"]["truth"] == 3.0
    done = run("estimate", *words, "--ties", "both", "--statistics", "edges", "--truth", "--seed", "1", "--json")
    assert done.json["estimates"]["edges"]["truth"] == 2.0
    assert not any("Ana" in note for note in done.json["graph"]["notes"])
    assert_one_sentence(run("compare", *words, "--ties", "strong"), "Ties are either, both, perceived")


def test_estimate_with_weights(run: Run, words: list[str], tmp_path: Path) -> None:
    table = tmp_path / "wards.csv"
    table.write_text("id,ward\n" + "".join(f"p{n},{'a' if n < 3 else 'b'}\n" for n in range(1, 7)), encoding="utf-8")
    grouped = ("--groups", "ward", "--attributes", str(table))
    done = run("estimate", *words, "--weights", "weight", *grouped, "--epsilon", "50", "--seed", "1", "--json")
    assert done.json["estimates"]["edges"]["value"] == pytest.approx(3.6)
    assert list(done.json["estimates"]) == ["edges", "mean_degree", "mixing"]
    text = run("estimate", *words, "--weights", "weight", "--seed", "1").out
    assert "USER" in text
    assert "Try next" not in text or "position" not in text
    whole = run("estimate", *words, "--weights", "weight,horvitz-thompson", "--epsilon", "50", "--seed", "1", "--json")
    assert whole.json["estimates"]["edges"]["value"] == pytest.approx((1.5 * 2 + 2 + 4) / 2)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--ties", "strong"), "Ties are either, both, perceived"),
        (("--weights", "age"), "no number in the column 'age'"),
        (("--header",), "leave them out of a survey"),
    ],
)
def test_refusals_are_one_sentence(more: tuple[str, ...], said: str, run: Run, words: list[str]) -> None:
    assert_one_sentence(run("estimate", *words, *more), said)


def test_there_must_be_a_survey(run: Run, tmp_path: Path) -> None:
    assert_one_sentence(run("estimate", str(tmp_path / "none"), "--roster", "x.csv"), "There is no ego survey")
