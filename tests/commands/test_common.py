"""What commands share: how graphs are opened, and what is said at the end."""

from __future__ import annotations

import re
import shlex

import pytest

from command import Run
from support.command_line import TOURS


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


NEXT = re.compile(r"^  (va-edge-ldp [^#]*?)  +# .", re.MULTILINE)


@pytest.mark.long
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
    assert "by a factor of 2.72 at most" in run(*TOURS[0]).out
    words = ("estimate", "tiny.txt", "--statistics", "edges", "--epsilon")
    assert "An edge loses ε = 9 in all, which hides little" in run(*words, "9").out
    assert "nothing is hidden" in run(*words, "1", "--policy", "fractions:1").out
