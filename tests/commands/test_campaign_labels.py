"""What the campaign commands read and print: times, rosters, places, and answers in sentences."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from visibility_aware_edge_ldp.campaign.http_client import NotReached
from visibility_aware_edge_ldp.commands.campaign_labels import (
    ADDRESS,
    answer_row,
    dear_lines,
    moment,
    names_in,
    noise_lines,
    operator_at,
    printable,
    promise_lines,
    read_text,
    round_line,
    span,
    too_dear_lines,
)
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE, FRIEND_VISIBLE = Visibility.PRIVATE, Visibility.FRIEND_VISIBLE


@pytest.mark.parametrize(
    ("text", "seconds"), [("45", 45), ("45s", 45), ("90m", 5_400), ("36h", 129_600), (" 14 d ", 14 * 86_400)]
)
def test_spans(text: str, seconds: int) -> None:
    assert span(text) == seconds


@pytest.mark.parametrize("text", ["", "d", "1.5d", "-1d", "14 days", "²"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(BadInput, match="A span of time"):
        span(text)


def test_moments_are_dates_in_utc_or_spans_from_now() -> None:
    assert moment("1d", 1_000.9) == 1_000 + 86_400
    assert moment("1970-01-02", 0) == 86_400
    assert moment("1970-01-02T01:00+01:00", 0) == 86_400
    with pytest.raises(BadInput, match="in the past; 1970-01-02 has gone by"):
        moment("1970-01-02", 86_400)
    with pytest.raises(BadInput, match="A date is written"):
        moment("tomorrow", 0)


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("r.txt", " ann \n\nbob\n", ["ann", "bob"]),
        ("r.txt", "1\n2\n", [1, 2]),
        ("r.txt", "1\n02\n", ["1", "02"]),
        ("r.csv", "Name,age\nann,3\n,4\nbob,5\n", ["ann", "bob"]),
        ("r.CSV", "ann\nbob\n", ["ann", "bob"]),
        ("r.json", '["ann", 7]', ["ann", 7]),
    ],
)
def test_rosters(name: str, text: str, names: list[str | int], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert names_in(path) == names


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is not JSON"), ("{}", "JSON list of names"), ("[true]", "JSON list")]
)
def test_rosters_that_are_no_lists(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=said):
        names_in(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"The token .*none cannot be read"):
        read_text(tmp_path / "none", "token")


def test_a_server_is_found_by_its_address_or_its_directory(tmp_path: Path) -> None:
    assert operator_at("https://survey.example.org", None).token == ""
    with pytest.raises(BadInput, match="neither a server's address nor"):
        operator_at(str(tmp_path), None)
    (tmp_path / "charter.json").touch()
    with pytest.raises(NotReached, match="No server serves"):
        operator_at(str(tmp_path), None)
    (tmp_path / ADDRESS).write_text("http://127.0.0.1:9\n")
    assert (operator_at(str(tmp_path), None).url, operator_at(str(tmp_path), None).token) == ("http://127.0.0.1:9", "")
    (tmp_path / "operator.token").write_text("own\n")
    (tmp_path / "other.token").write_text("other\n")
    assert operator_at(str(tmp_path), None).token == "own"
    assert operator_at(str(tmp_path), tmp_path / "other.token").token == "other"


def test_what_would_move_the_cursor_is_written_out() -> None:
    assert printable("ε = 1") == "ε = 1"
    assert printable("a\x1b[2J") == "'a\\x1b[2J'"


def test_costs_are_said_with_what_to_do() -> None:
    losses = {PRIVATE: Fraction(3, 2), FRIEND_VISIBLE: Fraction(2)}
    assert promise_lines(losses)[0].endswith("a PRIVATE position loses at most ε = 1.5 against all reports together")
    assert [line.rsplit("enrols with ")[1] for line in dear_lines(losses)] == ["--cap PRIVATE=1.5."]
    assert dear_lines({PRIVATE: Fraction(1)}) == []
    (line,) = too_dear_lines(losses, {PRIVATE: Fraction(1), FRIEND_VISIBLE: Fraction(2)})
    assert "more than the 1 that is allowed" in line
    assert line.endswith("enrol again with --cap PRIVATE=1.5.")


@pytest.mark.parametrize(
    ("found", "row"),
    [
        ({"value": 5.0, "standard_error": None, "interval": None}, ("5", "none", "none")),
        ({"value": 5.0, "standard_error": 2.0, "interval": [1.0, None]}, ("5", "2", "[1, …]")),
        ({"value": [1, 2, 3], "standard_error": [1.0, None, 3.0]}, ("3 values", "1 to 3", "see --json")),
        ({"value": [1, 2], "standard_error": None}, ("2 values", "none", "see --json")),
    ],
)
def test_a_row_of_answers(found: dict[str, Any], row: tuple[str, ...]) -> None:
    assert answer_row("edges", found) == ("edges", *row)


def test_numbers_that_noise_hides_are_named_once() -> None:
    assert noise_lines({"edges": (100.0, 1.0)}) == []
    (line,) = noise_lines({"edges": (100.0, 1.0), "triangles": (1.0, 50.0), "stars:2": (0.0, 9.0)})
    assert line.startswith("Noise: triangles, stars:2 cannot be told from nothing")


def test_a_round_in_one_line() -> None:
    state = {"round": 1, "state": "open", "received": 4, "asked": 1_000, "root": None}
    assert round_line(state) == "Round 1    open: 4 of 1,000 have answered"
    assert round_line({**state, "state": "closed", "root": "ab" * 32}).endswith(f"have answered; root {'ab' * 8}")
    assert round_line({"round": 2, "state": "waiting"}) == "Round 2    waits for the round before it"
    with pytest.raises(ProtocolViolation, match="does not say how the round stands"):
        round_line({"round": 1, "state": "open"})
