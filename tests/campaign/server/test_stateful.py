"""Any sequence of uploads, replays, conflicts, deadlines, restarts, closings and estimates, beside a model of them."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Callable
from functools import partial
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

from support.campaign_amending import Issuer
from support.campaign_inside import Answer, Clock, Inside, inside
from support.campaign_lab import FAR, Lab, new_lab, stub_estimate
from support.campaign_postgres_here import postgres_here
from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.signed_documents import new_token, token_hash

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
        self.closes = {1: FAR, 2: FAR + 100}
        self.tokens = list(self.lab.tokens)
        self.withdrawn: set[int] = set()

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
        if self.states[number] != "open" or self.clock.now >= self.closes[number]:
            return 409, "late"
        return (409, "withdrawn") if participant in self.withdrawn else (201, "")

    @rule(number=numbers, participant=people, variant=variants)
    def upload(self, number: int, participant: int, variant: int) -> None:
        body = self._body(number, participant, variant)
        expected = self._expected(number, participant, body)
        token = self.tokens[participant]
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
        answer = self.server.ask("PUT", self.lab.path(participant, number), self.tokens[other], body)
        assert answer.problem == "forbidden"

    @rule(participant=people, garbage=st.binary(max_size=80))
    def upload_garbage(self, participant: int, garbage: bytes) -> None:
        answer = self.server.ask("PUT", self.lab.path(participant), self.tokens[participant], garbage)
        assert 400 <= answer.status < 500

    @rule(number=numbers, participant=people)
    def receipt(self, number: int, participant: int) -> None:
        answer = self.server.ask("GET", self.lab.path(participant, number), self.tokens[participant])
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
        self.clock.now = max(self.clock.now, self.closes[number])
        self._look_at_deadlines()
        for each in (1, 2):
            if self.clock.now >= self.closes[each]:
                self._closed(each)
        self._look_at_deadlines()

    def _look_at_deadlines(self) -> None:
        server = self.server
        server.runner.run(server.app.rounds.check_deadlines())

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
        answer = self.server.ask("GET", f"/v1/rounds/{number}/proof/{participant}", self.tokens[participant])
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


class Amended(Campaigns):
    """The same, with an issuer who replaces tokens, extends deadlines and lets people withdraw."""

    def __init__(self) -> None:
        super().__init__()
        self.issuer = Issuer.of(self.lab.served.charter, self.lab.directory)
        self.old_tokens: list[tuple[int, str]] = []

    def _handed_in(self, kind: str, participant: int | None = None, **says: object) -> Answer:
        """The next amendment, signed without a look at what may be; the issuer's chain goes on if it was taken."""
        amendment, person = self.issuer.drafted(kind, participant, **says)
        signed = SignedAmendment.of(amendment, self.issuer.key, person)
        answer = self.server.ask("POST", "/v1/amendments", self.lab.operator, signed.data)
        if answer.status == 201:
            self.issuer.amended = self.issuer.amended.after(signed)
            assert self.server.ask("POST", "/v1/amendments", self.lab.operator, signed.data).status == 200
        return answer

    def _refused(self, participant: int) -> str:
        """Why nothing of a person is changed any more."""
        if not {"waiting", "open"} & set(self.states.values()):
            return "late"
        return "bad-amendment" if participant in self.withdrawn else ""

    @rule(participant=people)
    def withdraw(self, participant: int) -> None:
        refused, answer = self._refused(participant), self._handed_in("withdrawal", participant)
        assert answer.problem == refused
        if not refused:
            self.withdrawn.add(participant)
            for number, state in self.states.items():
                if state == "open":
                    self.kept.pop((number, participant), None)

    @rule(participant=people)
    def replace_a_token(self, participant: int) -> None:
        token, refused = new_token(), self._refused(participant)
        assert self._handed_in("token", participant, token=token_hash(token)).problem == refused
        if not refused:
            self.old_tokens.append((participant, self.tokens[participant]))
            self.tokens[participant] = token

    @precondition(lambda self: self.old_tokens)
    @rule(data=st.data(), number=numbers)
    def upload_with_an_old_token(self, data: st.DataObject, number: int) -> None:
        participant, token = data.draw(st.sampled_from(self.old_tokens))
        body = self._body(number, participant, 0)
        assert self.server.ask("PUT", self.lab.path(participant, number), token, body).problem == "unauthorized"

    @rule(number=numbers, seconds=st.sampled_from([-5, 1, 60, 150]))
    def extend(self, number: int, seconds: int) -> None:
        closes = self.closes[number] + seconds
        answer = self._handed_in("deadline", round=number, closes=closes)
        open_still = self.states[number] == "open" and self.clock.now < self.closes[number]
        if seconds < 0 or (number == 1 and closes >= self.closes[2]):
            assert answer.problem == "bad-amendment"
        elif self.states[number] != "waiting" and not open_still:
            assert answer.problem == "late"
        elif closes <= self.clock.now:
            assert answer.problem == "bad-amendment"
        else:
            assert answer.status == 201
            self.closes[number] = closes

    @invariant()
    def amendments_and_absences_are_as_in_the_model(self) -> None:
        if not hasattr(self, "server"):
            return
        shown = self.server.ask("GET", "/v1/amendments").body
        assert shown == self.issuer.amended.data
        found = self.server.ask("GET", "/v1/rounds/1/unanswered", self.lab.operator).content
        away = set(self.lab.asked) - {who for number, who in self.kept if number == 1} - self.withdrawn
        assert (set(found["unanswered"]), found["withdrawals"]) == (away, len(self.withdrawn))


class Together(Amended):
    """The same, asked of two processes in turn, which share the store and each do nothing while the other is asked."""

    def _start(self) -> None:
        opened = partial(open_store, shared=True)
        self._context = contextlib.ExitStack()
        both = [self._context.enter_context(inside(self.lab, self.url, self.clock, opened=opened)) for _ in range(2)]
        self._asked = itertools.cycle(both)

    @property
    def server(self) -> Inside:  # type: ignore[override]
        return next(self._asked)

    @invariant()
    def rounds_are_as_in_the_model(self) -> None:
        """How many reports the other has taken is not known at once; it is read again before it is compared."""
        for _ in range(2 if hasattr(self, "_asked") else 0):
            server = self.server
            server.runner.run(server.app.rounds._recount())
        super().rounds_are_as_in_the_model()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return new_lab(tmp_path_factory.mktemp("stateful") / "lab", PEOPLE, "triangles", (FAR, FAR + 100), fewest=2)


def _machine(lab: Lab, base: type[Campaigns] = Campaigns, **attributes: object) -> Callable[[], Campaigns]:
    """A function that makes machines: Hypothesis reads the source of what it is given, and Python 3.11 parses that of
    a class anew, which fails now and then where another parse comes between (python/cpython#106905)."""
    machine = type("Machine", (base,), {"lab": lab, "urls": itertools.count(), **attributes})
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


@pytest.mark.long
def test_amended_sequences_agree_with_the_model(lab: Lab) -> None:
    run_state_machine_as_test(_machine(lab, Amended), settings=_examples(100))


@pytest.mark.long
def test_amended_sequences_on_postgresql_agree_with_the_model(lab: Lab) -> None:
    with postgres_here() as server:
        machine = _machine(lab, Amended, new_database=staticmethod(server.new_database))
        run_state_machine_as_test(machine, settings=_examples(8))


@pytest.mark.long
def test_sequences_on_two_processes_agree_with_the_model(lab: Lab) -> None:
    with postgres_here() as server:
        machine = _machine(lab, Together, new_database=staticmethod(server.new_database))
        run_state_machine_as_test(machine, settings=_examples(12))


@pytest.mark.long
def test_a_server_that_counts_the_withdrawn_is_caught(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: nobody is taken for withdrawn where reports are stored."""
    from visibility_aware_edge_ldp.campaign.server.stores import sql

    honest = sql._outcome
    monkeypatch.setattr(sql, "_outcome", lambda upload, states, kept, withdrawn: honest(upload, states, kept, False))
    with pytest.raises(AssertionError):
        run_state_machine_as_test(_machine(lab, Amended), settings=_examples(3000, Phase.generate))


def test_a_server_that_takes_old_tokens_is_caught(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: amendments are kept, and the tokens of the directory hold as before."""
    from visibility_aware_edge_ldp.campaign.amendments import Amended as Chain

    monkeypatch.setattr(Chain, "tokens", {})
    with pytest.raises(AssertionError):
        run_state_machine_as_test(_machine(lab, Amended), settings=_examples(3000, Phase.generate))


def test_a_server_that_takes_the_last_upload_is_caught(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a second upload replaces the first."""
    from visibility_aware_edge_ldp.campaign.server.stores import sql
    from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome

    honest = sql._outcome

    def last_wins(*args: object) -> Outcome:
        found = honest(*args)  # type: ignore[arg-type]
        return Outcome.SAME if found is Outcome.OTHER else found

    monkeypatch.setattr(sql, "_outcome", last_wins)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(_machine(lab), settings=_examples(200, Phase.generate))


def test_a_server_that_reopens_is_caught(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a late report is let in while nothing has been estimated."""
    from visibility_aware_edge_ldp.campaign.server import rounds
    from visibility_aware_edge_ldp.campaign.server.stages import State
    from visibility_aware_edge_ldp.campaign.server.stores import sql

    monkeypatch.setattr(sql, "_TAKES_NONE", {})
    monkeypatch.setattr(rounds.Rounds, "takes", lambda self, number: self.stages[number].state is not State.WAITING)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(_machine(lab), settings=_examples(200, Phase.generate))
