"""What commands share: how graphs are opened, and what is said at the end."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command import Run
from support.command_line import TOURS
from visibility_aware_edge_ldp.commands import common
from visibility_aware_edge_ldp.public.statistic import FAMILIES, PLAIN


def test_what_was_changed_on_the_way_in_is_said_on_the_side(run: Run) -> None:
    done = run("estimate", "loops.txt", "--trust", "position", "--statistics", "edges")
    assert done.code == 0
    assert re.fullmatch(
        r"(Note: .*\n){2}loops.txt: 3 people, 2 ties; first: a – b\nNote: .*nothing but noise.*\n", done.err
    )
    assert "self-loop" in done.err
    quiet = run("estimate", "loops.txt", "--trust", "position", "--statistics", "edges", "--json")
    assert quiet.err == ""
    assert len(quiet.json["graph"]["notes"]) == 2
    assert "node ids" in run("estimate", "gaps.txt", "--trust", "position", "--statistics", "edges").err


@pytest.fixture
def ties(tmp_path: Path) -> Callable[[str], str]:
    """Writes a file of edges and tells its path."""

    def write(text: str) -> str:
        file = tmp_path / "ties.csv"
        file.write_text(text)
        return str(file)

    return write


def test_a_header_is_found_and_said(run: Run, ties: Callable[[str], str]) -> None:
    done = run("estimate", ties("ego,alter\nann,bob\nbob,cem\n"), "--trust", "user", "--statistics", "edges")
    said = "Note: the first line was read as a header\nties.csv: 3 people, 2 ties; first: ann – bob\n"
    assert done.err.startswith(said)


def test_what_may_be_a_header_is_refused_and_can_be_told(run: Run, ties: Callable[[str], str]) -> None:
    unclear = ties("ann,bob\ncem,dua\n")
    refused = run("estimate", unclear, "--statistics", "edges")
    assert refused.code == 2
    assert "--header or --no-header" in refused.err
    assert "4 people, 2 ties" in run("estimate", unclear, "--no-header", "--statistics", "edges").err
    file = ties("ann|bob|3\ncem|dua|4\n")
    done = run("estimate", file, "--delimiter", "|", "--columns", "1,2", "--no-header", "--statistics", "edges")
    assert "4 people, 2 ties; first: ann – bob" in done.err


def test_known_graphs_have_no_columns(run: Run) -> None:
    done = run("estimate", "random:30,60", "--columns", "a,b")
    assert done.code == 2
    assert "belong to a file of edges" in done.err


def test_the_highest_degrees_only(run: Run) -> None:
    said = run("estimate", "random:30,60", "--top", "10", "--statistics", "edges", "--json").json
    assert said["graph"]["nodes"] == 10


NEXT = re.compile(r"^  (va-edge-ldp [^#]*?)  +# .", re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("words", TOURS, ids=" ".join)
def test_the_last_lines_say_what_it_means_and_what_can_be_typed_next(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert done.code == 0
    begin = "Try next:" if words[0] == "estimate" else "What it means: "
    assert done.out.count(begin) == 1
    tour = done.out[done.out.index(begin) :]
    steps = NEXT.findall(tour)
    assert 1 <= len(steps) <= 3
    assert len(tour.splitlines()) <= 6
    for step in steps:
        # Options are read before help is shown, and a graph that is not there cannot be asked for.
        program, *rest = shlex.split(step)
        assert run(*rest, "--help").code == 0, step
        assert program == "va-edge-ldp"


@pytest.mark.long
@pytest.mark.parametrize("words", [TOURS[0], TOURS[1], TOURS[2]], ids=" ".join)
def test_what_can_be_typed_next_really_runs(run: Run, words: list[str]) -> None:
    for step in NEXT.findall(run(*words).out):
        command, *rest = shlex.split(step)[1:]
        brief = ["--trials", "1", "--epsilons", "1", "--statistics", "edges"] if command == "compare" else []
        done = run(command, *rest, *brief)
        assert (done.code, "Traceback" in done.err) == (0, False), done.err


@pytest.mark.long
def test_the_tour_names_the_report_and_says_how_much_is_hidden(run: Run) -> None:
    assert "Open a folder/report.html in a browser" in run(*TOURS[3]).out
    assert "by a factor of 2.72 at most" in run(*TOURS[0], "--certificate").out
    words = ("estimate", "tiny.txt", "--statistics", "edges", "--certificate", "--epsilon")
    assert "An edge loses ε = 9 in all, which hides little" in run(*words, "9").out
    assert "nothing is hidden" in run(*words, "1", "--policy", "fractions:1").out


def test_the_help_names_every_statistic() -> None:
    options = (*common.StatisticsOption.__metadata__, *common.GroupsOption.__metadata__)
    words = " ".join(option.help or "" for option in options)
    assert [name for name in (*PLAIN, *FAMILIES) if not re.search(rf"\b{name}\b", words)] == []
