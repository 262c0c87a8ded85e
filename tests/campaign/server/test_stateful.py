"""Any sequence of uploads, replays, conflicts, deadlines, restarts, closings and estimates, beside a model of them."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from support.campaign_inside import Clock, Inside, inside
from support.campaign_lab import FAR, Lab, new_lab, stub_estimate
from support.campaign_postgres_here import postgres_here

PEOPLE = 6
# What is checked here is not whether a disk keeps its promises, so that none need turn.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
people = st.integers(0, PEOPLE - 2)  # the last one's row is empty
variants = st.integers(0, 3)
numbers = st.sampled_from([1, 2])


class Campaigns(RuleBasedStateMachine):
    """A campaign of triangles, in two rounds, with two reports at least in each."""

    lab: Lab
    urls: itertools.count[int]
    address = "sqlite:///{folder}/{number}.db"
    new_database = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.clock = Clock()
        self.kept: dict[tuple[int, int], bytes] = {}  # what was acknowledged
        self.states = {1: "open", 2: "waiting"}
        self.answers: bytes | None = None
        self.roots = {1: "", 2: ""}
        self.forgotten = False

    @initialize()
    def begin(self) -> None:
        number = next(self.urls)
        self.url = (
            self.new_database() if self.new_database else self.address.format(folder=self.folder.name, number=number)
        )
        self._start()

    def _start(self) -> None:
        self._context = inside(self.lab, self.url, self.clock)
        self.server: Inside = self._context.__enter__()

    def teardown(self) -> None:
        if hasattr(self, "_context"):
            self._context.__exit__(None, None, None)
        self.folder.cleanup()

    @rule()
    def restart(self) -> None:
        self._context.__exit__(None, None, None)
        self._start()

    def _body(self, number: int, participant: int, variant: int) -> bytes:
        heard = self.server.app.rounds.broadcast
        return self.lab.report(participant, number, variant, heard.digest if heard else "ab" * 32)

    def _expected(self, number: int, participant: int, body: bytes) -> tuple[int, str]:
        if self.states[number] == "waiting":
            return 409, "not-open"
        if number == 2 and (1, participant) not in self.kept:
            return 403, "forbidden"
        first = self.kept.get((number, participant))
        if first is not None:
            return (200, "") if first == body else (409, "conflict")
        if self.states[number] != "open" or self.clock.now >= FAR + 100 * (number - 1):
            return 409, "late"
        return 201, ""

    @rule(number=numbers, participant=people, variant=variants)
    def upload(self, number: int, participant: int, variant: int) -> None:
        body = self._body(number, participant, variant)
        expected = self._expected(number, participant, body)
        token = self.lab.tokens[participant]
        answer = self.server.ask("PUT", self.lab.path(participant, number), token, body)
        assert (answer.status, answer.problem) == expected
        if answer.status == 201:
            self.kept[number, participant] = body

    @rule(data=st.data(), participant=people, variant=variants)
    def upload_to_an_open_round(self, data: st.DataObject, participant: int, variant: int) -> None:
        """Reports that are let in, which uploads to any round at any time seldom are."""
        takes = [number for number, state in self.states.items() if state == "open"] or [1]
        self.upload(data.draw(st.sampled_from(takes)), participant, variant)

    @precondition(lambda self: self.kept)
    @rule(data=st.data(), variant=variants)
    def upload_again(self, data: st.DataObject, variant: int) -> None:
        """A second report of somebody who has reported: the same bytes or others."""
        number, participant = data.draw(st.sampled_from(sorted(self.kept)))
        self.upload(number, participant, variant)

    @rule(number=numbers, participant=people, other=people)
    def upload_with_anothers_token(self, number: int, participant: int, other: int) -> None:
        if participant == other:
            return
        body = self._body(number, participant, 0)
        answer = self.server.ask("PUT", self.lab.path(participant, number), self.lab.tokens[other], body)
        assert answer.problem == "forbidden"

    @rule(participant=people, garbage=st.binary(max_size=80))
    def upload_garbage(self, participant: int, garbage: bytes) -> None:
        answer = self.server.ask("PUT", self.lab.path(participant), self.lab.tokens[participant], garbage)
        assert 400 <= answer.status < 500

    @rule(number=numbers, participant=people)
    def receipt(self, number: int, participant: int) -> None:
        answer = self.server.ask("GET", self.lab.path(participant, number), self.lab.tokens[participant])
        assert answer.status == (200 if (number, participant) in self.kept else 404)

    def _count(self, number: int) -> int:
        return sum(key[0] == number for key in self.kept)

    @rule(number=numbers)
    def close(self, number: int) -> None:
        answer = self.server.operator(f"/v1/rounds/{number}/close")
        if self.states[number] == "waiting" or (self.states[number] == "open" and self._count(number) < 2):
            assert answer.problem == "not-ready"
            return
        assert answer.status == 200
        self._closed(number)

    def _closed(self, number: int) -> None:
        if self.states[number] == "open":
            self.states[number] = "closed"
            if number == 1 and self._count(1) >= 2:
                self.states[2] = "open"

    @rule(number=numbers)
    def time_passes(self, number: int) -> None:
        """Up to the deadline of a round; time does not go back."""
        self.clock.now = max(self.clock.now, FAR + 100 * (number - 1))
        self.server.runner.run(self.server.app.rounds.check_deadlines())
        for each in (1, 2):
            if self.clock.now >= FAR + 100 * (each - 1):
                self._closed(each)
        self.server.runner.run(self.server.app.rounds.check_deadlines())

    @rule()
    def estimate(self) -> None:
        answer = self.server.operator("/v1/estimate")
        ready = all(
            state in ("closed", "estimated") and self._count(number) >= 2 for number, state in self.states.items()
        )
        if not ready:
            assert answer.problem == "not-ready"
            return
        reports = {number: {p: body for (r, p), body in self.kept.items() if r == number} for number in (1, 2)}
        assert answer.body == stub_estimate(None, None, reports)
        self.answers = answer.body
        self.states = dict.fromkeys((1, 2), "estimated")

    @precondition(lambda self: self.answers is not None)
    @rule(number=numbers, participant=people)
    def proof(self, number: int, participant: int) -> None:
        answer = self.server.ask("GET", f"/v1/rounds/{number}/proof/{participant}", self.lab.tokens[participant])
        assert answer.status == (200 if (number, participant) in self.kept else 404)

    @invariant()
    def rounds_are_as_in_the_model(self) -> None:
        if not hasattr(self, "server"):
            return
        for number in (1, 2):
            said = self.server.ask("GET", f"/v1/rounds/{number}").content
            assert (said["state"], said["received"]) == (self.states[number], self._count(number))
            assert (said["root"] != "") == (self.states[number] in ("closed", "estimated"))
            assert said["root"] == (self.roots[number] or said["root"]), "a frozen root does not change"
            self.roots[number] = said["root"]
        answer = self.server.ask("GET", "/v1/estimates")
        assert answer.body == self.answers if self.answers else answer.problem == "not-ready"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return new_lab(tmp_path_factory.mktemp("stateful") / "lab", PEOPLE, "triangles", (FAR, FAR + 100), fewest=2)


def _machine(lab: Lab, **attributes: object) -> Callable[[], Campaigns]:
    """A function that makes machines: Hypothesis reads the source of what it is given, and Python 3.11 parses that of
    a class anew, which fails now and then where another parse comes between (python/cpython#106905)."""
    machine = type("Machine", (Campaigns,), {"lab": lab, "urls": itertools.count(), **attributes})
    return lambda: machine()


def _examples(count: int, *phases: Phase) -> settings:
    return settings(
        max_examples=count,
        stateful_step_count=16,
        deadline=None,
        derandomize=True,
        database=None,
        phases=phases or tuple(Phase),
        report_multiple_bugs=False,
    )


@pytest.mark.long
def test_500_sequences_agree_with_the_model(lab: Lab) -> None:
    run_state_machine_as_test(_machine(lab), settings=_examples(500))


@pytest.mark.long
def test_sequences_on_postgresql_agree_with_the_model(lab: Lab) -> None:
    with postgres_here() as server:
        machine = _machine(lab, new_database=staticmethod(server.new_database))
        run_state_machine_as_test(machine, settings=_examples(12))


def test_a_server_that_takes_the_last_upload_is_caught(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a second upload replaces the first."""
    from visibility_aware_edge_ldp.campaign.server import sql
    from visibility_aware_edge_ldp.campaign.server.store import Outcome

    honest = sql._outcome

    def last_wins(*args: object) -> Outcome:
        found = honest(*args)  # type: ignore[arg-type]
        return Outcome.SAME if found is Outcome.OTHER else found

    monkeypatch.setattr(sql, "_outcome", last_wins)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(_machine(lab), settings=_examples(200, Phase.generate))


def test_a_server_that_reopens_is_caught(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a late report is let in while nothing has been estimated."""
    from visibility_aware_edge_ldp.campaign.server import rounds, sql
    from visibility_aware_edge_ldp.campaign.server.stages import State

    monkeypatch.setattr(sql, "_TAKES_NONE", {})
    monkeypatch.setattr(rounds.Rounds, "takes", lambda self, number: self.stages[number].state is not State.WAITING)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(_machine(lab), settings=_examples(200, Phase.generate))
