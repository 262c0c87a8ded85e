"""A whole campaign on this machine: all questions, absent people, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.campaign_rehearsed import processes_about, world
from visibility_aware_edge_ldp.campaign import rehearsal
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS
from visibility_aware_edge_ldp.campaign.rehearsal import rehearse
from visibility_aware_edge_ldp.campaign.rehearsal_people import PEOPLE
from visibility_aware_edge_ldp.campaign.rehearsal_processes import RehearsalFailed
from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.scope import drawn_consents
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.statistic import exact


@pytest.mark.long
@pytest.mark.parametrize(("question", "rounds"), [("position", 1), ("degrees", 1), ("triangles", 2), ("hubs", 1)])
def test_everybody_who_is_here_answers_and_the_server_counts_what_we_count(
    question: str, rounds: int, temporary: Path
) -> None:
    heard: list[tuple[float, float]] = []
    found = rehearse(world(), question, 2, absent="0.2", processes=2, progress=lambda *said: heard.append(said))
    assert found.same
    assert len(found.turnout) == rounds
    assert all(0 < each.answered <= each.asked for each in found.turnout)
    assert [each.statistic for each in found.found] == list(QUESTIONS[question].default_statistics)
    # Coins are real here. A sum of hundreds of bits or degrees is nearly normal: eight standard errors never happen.
    near = [each for each in found.found if each.statistic == "edges"]
    assert all(abs(each.estimate - each.truth) < 8 * (each.standard_error or 0) for each in near)
    assert heard[-1] == (60 * (rounds + 1),) * 2
    assert found.reports_per_second > 0
    assert found.sent > 0
    assert found.received > 1000
    assert list(temporary.iterdir()) == []
    assert processes_about(temporary) == []


@pytest.mark.long
def test_those_who_consent_are_asked_and_counted(tmp_path: Path) -> None:
    heard: list[tuple[float, float]] = []
    found = rehearse(world(), "degrees", 2, processes=2, consent_share="0.6", progress=lambda *now: heard.append(now))
    assert found.same
    people, listed = found.turnout[0], found.answers["consents"]
    assert 0 < people.answered == people.asked <= listed["people"] < listed["of"] == 60
    inside = world().inside(drawn_consents(world().graph.names, "0.6"))
    assert [each.truth for each in found.found] == [float(exact(inside.graph, each.statistic)) for each in found.found]
    assert heard[-1] == (180, 180)


@pytest.mark.long
@pytest.mark.parametrize("question", ["position", "triangles"])
def test_inside_a_scope_people_answer_less_and_are_counted_inside(question: str, tmp_path: Path) -> None:
    scope = ScopeWords("lists | group:ward", {"ward": {name: name % 4 for name in range(20)}})
    place = tmp_path / "kept"
    found = rehearse(world(20, 60), question, 2, absent="0.1", processes=2, keep=place, scope=scope)
    assert found.same
    inside = world(20, 60).inside(scope.scope(world(20, 60).public))
    assert [each.truth for each in found.found] == [float(exact(inside.graph, each.statistic)) for each in found.found]
    said = found.answers["certificate"]["scope"]
    assert said["positions_outside"] == inside.public.outside > 0
    assert "same ward" in said["inside"]
    assert {each["counted"] for each in found.answers["estimates"].values()} == {"inside the scope"}
    # People hold their whole lists, also what lies outside, which nobody is asked about.
    assert sum(len(listed(place, number)) for number in range(20)) == 2 * inside.whole.m > 2 * inside.graph.m


def test_people_who_download_parts_answer_and_are_counted(tmp_path: Path) -> None:
    """Real coins: six standard errors never happen; an honest report is hardly ever flagged."""
    place = tmp_path / "kept"
    found = rehearse(world(30, 200), "triangles", 4, absent="0.2", processes=2, keep=place, share="0.2")
    assert found.same
    assert found.charter.parts is not None
    assert found.charter.parts.groups == 5
    (triangles,) = found.found
    assert abs(triangles.estimate - triangles.truth) < 6 * (triangles.standard_error or 0)
    assert 0 < found.turnout[1].answered < found.turnout[1].asked == found.turnout[0].answered
    assert found.answers["flagged"]["reports"] == 0
    assert any("1/5 of the first answers" in note for note in found.answers["certificate"]["notes"])


def test_two_rounds_of_positions_and_what_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    found = rehearse(world(24, 60), "position", 1, ["edges"], rounds=2, processes=2, keep=place)
    assert found.same
    assert [each.answered for each in found.turnout] == [each.asked for each in found.turnout]
    # Each has a ledger of its own, which says what was answered and what it cost, and no more than was promised.
    standing = [status(place / PEOPLE / str(number))[0] for number in range(24)]
    assert sum(each.acknowledged == (1, 2) for each in standing) == found.turnout[0].asked
    assert all(lost <= each.caps[kind] for each in standing for kind, lost in each.lost.items())
    # Everybody was given its own friends, and nobody else's.
    names, graph = json.loads((place / "campaign" / "roster.json").read_text()), world(24, 60).graph
    pairs = {frozenset((names[number], int(friend))) for number in range(24) for friend in listed(place, number)}
    assert pairs == {frozenset(pair) for pair in graph.edges.tolist()}
    assert sum(len(listed(place, number)) for number in range(24)) == 2 * graph.m
    assert (place / "campaign" / "store.db").is_file()
    assert processes_about(place) == []
    with pytest.raises(BadInput, match="exists already"):
        rehearse(world(24, 60), keep=place)


def listed(place: Path, number: int) -> list[str]:
    return (place / PEOPLE / f"{number}.csv").read_text().split()


def twisted(*given: object) -> bytes:
    """Twin: counts something else."""
    return estimate_bytes(*given) + b" "  # type: ignore[arg-type]


def test_a_server_that_counts_something_else_is_noticed(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "estimate_bytes", twisted)
    assert not rehearse(world(20, 40), "degrees", processes=1).same


def test_lost_reports_are_noticed(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: a server that has acknowledged more than it kept."""
    closing = rehearsal.Operator.close
    monkeypatch.setattr(rehearsal.Operator, "close", lambda self, number: {**closing(self, number), "received": 3})
    with pytest.raises(RehearsalFailed, match="acknowledged, and the server has 3"):
        rehearse(world(20, 40), "degrees", processes=1)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_stopping_leaves_nothing(sent: signal.Signals, temporary: Path) -> None:
    words = ["campaign", "rehearse", "random:300,900", "--processes", "1", "--question", "degrees"]
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # though nobody did before
    with subprocess.Popen(
        [sys.executable, "-c", f"{listening}; from visibility_aware_edge_ldp.cli import main; main()", *words],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + 60
        while not list(temporary.glob(f"*/{PEOPLE}/*/ledger.db")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(sent)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + sent
    assert "Traceback" not in said
    assert list(temporary.iterdir()) == []
    assert processes_about(temporary) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"question": "friends"}, "not a question"),
        ({"absent": "1.5"}, "absent"),
        ({"processes": 0}, "At least one process"),
        ({"question": "triangles", "rounds": 1}, "rounds"),
        ({"question": "degrees", "statistics": ["triangles"]}, "does not answer"),
    ],
)
def test_bad_input_is_refused_before_anything_is_made(
    options: dict[str, object], sentence: str, temporary: Path
) -> None:
    with pytest.raises(BadInput, match=sentence):
        rehearse(world(20, 40), **options)  # type: ignore[arg-type]
    assert list(temporary.iterdir()) == []
