"""Any sequence of campaigns, rosters, thresholds, questions and crashes, against a model of what left.  [LEDGER.1-2]

The model is kept on the receiving side: it knows only the bytes that left. No (epoch, position, threshold) is ever
answered in two ways, no campaign's round hears two different uploads, and no question two reports. The other ends of
this participant's edges answer whatever they are asked. What all of this has cost a position, added up anew, is never
above the cap of the strictest class that it was ever asked as when something leaves.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.participant import answering
from visibility_aware_edge_ldp.campaign.participant import ledger as ledgers
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_entry
from visibility_aware_edge_ldp.campaign.participant.answering import Task, note_others, quote, record
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger, Page, create_ledger
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext, own_transcript
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PEOPLE = [f"p{number}" for number in range(20)]
OWN = "p0"
CAPS = {Visibility.PRIVATE: Fraction(1), Visibility.FRIEND_VISIBLE: Fraction(3)}
# Whether a report that is no randomized response follows from the public edges and a transcript too.
STATED = {"position": False, "degrees": False, "triangles": True, "hubs": True}
EPSILONS = ("1/8", "1/4", "1/2", "1")
ROSTERS = (PEOPLE[:12], PEOPLE, PEOPLE[:6] + PEOPLE[12:])
QUESTIONS = ("position", "position", "two rounds", "degrees", "triangles", "triangles", "hubs", "seen by a hub")
ROUNDS = {"two rounds": 2, "triangles": 2}
KINDS = {"two rounds": "position", "seen by a hub": "hubs"}


Position = tuple[str, str]
"""An epoch and a name."""
Question = tuple[object, ...]


class Crashed(Exception):  # noqa: N818
    """The program stops here."""


@cache
def context(
    question: str, epsilon: str, roster: int, salt: str, title: str, epoch: str, more_edges: bool
) -> ParticipantContext:
    names, kind = ROSTERS[roster], KINDS.get(question, question)
    policy = VisibilityPolicy(0.1, 0.4, salt=salt)
    if kind == "hubs":
        policy = VisibilityPolicy.from_profiles({OWN if question == "hubs" else "p1": "public"}, "any")
    documents = drafted(names, policy, public_edges(names, policy, more_edges), epoch)
    rounds = tuple(Round(4_000_000_000 + number, 1) for number in range(ROUNDS.get(question, 1)))
    split = (Fraction(1, 2),) * 2 if question == "two rounds" else ()
    statistics = ["triangles"] if kind in ("triangles", "hubs") else ["edges"]
    charter = charter_of(documents, "ab" * 32, kind, epsilon, statistics, rounds, title, epoch, 0, split)
    return ParticipantContext.of(charter, documents, OWN)


def public_edges(names: list[str], policy: VisibilityPolicy, more: bool) -> np.ndarray:
    """The first public positions, or some more of them, are edges."""
    pairs = np.transpose(np.triu_indices(len(names), 1))
    public = pairs[policy.bind(names).of(pairs[:, 0], pairs[:, 1]) == Visibility.PUBLIC]
    return public[: 7 if more else 5]


def transcript(where: ParticipantContext, first: bytes, variant: int) -> bytes:
    """Everybody has answered round 1: this participant as it did, the others by chance."""
    sent, pairs = codec.decode(report_in(first)), np.transpose(np.triu_indices(len(where.names), 1))
    answered = where.view.classes.of(pairs[:, 0], pairs[:, 1]) != Visibility.PUBLIC
    ones = answered & (np.random.default_rng(variant).random(answered.size) < 0.4)
    ones[sent.start : sent.start + sent.count] = unpack(sent.ones, sent.count)
    return b"".join(np.packbits(each, bitorder="little").tobytes() for each in (answered, ones))


class Participant(RuleBasedStateMachine):
    """One person with one disk, asked by anybody for anything, who may be killed anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.db"
        self.ledger = create_ledger(self.path, caps_entry(CAPS))
        self.bits: dict[tuple[str, str, int], bool] = {}
        self.uploads: dict[tuple[str, int], bytes] = {}
        self.reports: dict[tuple[str, Question], bytes] = {}
        self.chain: dict[Position, Fraction] = {}
        self.charges: dict[Position, dict[Question, Fraction]] = {}
        self.between: dict[str, dict[Question, Fraction]] = {}
        self.asked_as: dict[Position, set[Visibility]] = {}
        self.backup: bytes | None = None
        self.drawn = 0

    def random_bytes(self) -> RandomBytes:
        """New ones for every answer, and the same ones when a sequence is run again."""
        self.drawn += 1
        return keyed_random_bytes(seeded_key("properties", self.drawn))

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(
        question=st.sampled_from(QUESTIONS),
        epsilon=st.sampled_from(EPSILONS),
        roster=st.integers(0, 2),
        salt=st.sampled_from(["a", "b"]),
        title=st.sampled_from(["One", "Two"]),
        epoch=st.sampled_from(["spring", "spring", "summer"]),
        friends=st.integers(0, 2**20 - 1),
        crash=st.sampled_from([*["never"] * 5, "before commit", "after commit", "before the mark"]),
        rounds=st.integers(1, 2),
        more_edges=st.booleans(),
        variant=st.integers(0, 1),
    )
    def campaign(
        self,
        question: str,
        epsilon: str,
        roster: int,
        salt: str,
        title: str,
        epoch: str,
        friends: int,
        crash: str,
        rounds: int,
        more_edges: bool,
        variant: int,
    ) -> None:
        where = context(question, epsilon, roster, salt, title, epoch, more_edges)
        given = Friends(np.array([bool(friends >> PEOPLE.index(name) & 1) and name != OWN for name in where.names]), ())
        seen = SeenEdges(np.array([(1, 2), (2, 3), (3, 4)], np.int32), ())
        if not where.terms.asks(where.number, 1):
            self.noted(where)
            self.others_answer(where)
            return
        for number in range(1, min(rounds, len(where.charter.rounds)) + 1):
            task = self.task(where, number, variant)
            if task is not None:
                self.answer(task, seen if question == "hubs" else given, crash)

    def noted(self, where: ParticipantContext) -> None:
        """Nothing is asked of this participant."""
        with self.ledger.writing() as page:
            note_others(page, where)

    def task(self, where: ParticipantContext, number: int, variant: int) -> Task | None:
        """The round to answer; a second one only after the first."""
        first = self.uploads.get((where.charter.identity, 1))
        if number == 1 or where.charter.question == "position":
            return Task(where, number)
        if first is None:
            return None
        octets = transcript(where, first, variant)
        return Task(where, number, octets, own_transcript(where, report_in(first), octets).digest)

    def answer(self, task: Task, given: Friends | SeenEdges, crash: str) -> None:
        try:
            upload = self.made(task, given, crash)
        except (Refused, Crashed):
            # Nothing has left. Whatever the reason was, the program is started again.
            self.ledger = Ledger(self.path)
            return
        self.left(task, upload)

    def made(self, task: Task, given: Friends | SeenEdges, crash: str) -> bytes:
        with self.ledger.reading() as page:
            agreed = quote(page, task)
        with crashing_mark(crash == "before the mark"), self.ledger.writing() as page:
            upload = record(page, task, given, agreed, self.random_bytes())
            if crash == "before commit":
                raise Crashed
        if crash == "after commit":
            raise Crashed
        return upload

    def left(self, task: Task, upload: bytes) -> None:
        """The bytes are with everybody now; and so is, or will be, what others say in this campaign."""
        where, number, epoch = task.context, task.round, task.epoch
        is_new = (where.charter.identity, number) not in self.uploads
        assert self.uploads.setdefault((where.charter.identity, number), upload) == upload
        if not is_new:
            return
        self.others_answer(where)
        if where.charter.question in ("position", "triangles") and number == 1:
            report = codec.decode(report_in(upload))
            for place, bit in enumerate(unpack(report.ones, report.count), where.number + 1):
                self.heard(where, place, bool(bit))
        else:
            self.charged(task, upload)
        self.check(where)
        between = sum(self.between.get(epoch, {}).values(), Fraction(0))
        assert between <= CAPS[Visibility.PRIVATE]

    def charged(self, task: Task, upload: bytes) -> None:
        where, number, epoch = task.context, task.round, task.epoch
        made_on = (task.transcript_digest, where.charter.edges) if STATED[where.charter.question] else ()
        key = (where.terms.survey.identity, number, *made_on)
        report = report_in(upload)
        assert self.reports.setdefault((epoch, key), report) == report, "one question has two reports"
        losses = where.terms.round_losses(number)
        if where.charter.question == "hubs":
            self.between.setdefault(epoch, {})[key] = losses[Visibility.PRIVATE]
            return
        for place in range(where.number + 1 if number == 2 else 0, len(where.names)):
            self.charge(where, place, number, key)

    def others_answer(self, where: ParticipantContext) -> None:
        """Holders of this participant's other positions answer all rounds, once a campaign, and hubs count them."""
        rows = where.charter.question in ("position", "triangles")
        if not rows and where.charter.question != "hubs":
            return
        for place in range(where.number if rows else len(where.names)):
            if rows:
                self.heard(where, place, None)
            if not rows or len(where.charter.rounds) == 2:
                number = 2 if rows else 1
                made_on = (where.charter.identity,) if where.charter.question == "triangles" else (where.charter.edges,)
                self.charge(where, place, number, ("others", where.terms.survey.identity, *made_on))

    def charge(self, where: ParticipantContext, place: int, number: int, key: Question) -> None:
        kind, position = Visibility(int(where.classes[place])), (where.charter.epoch, where.names[place])
        if kind in NON_PUBLIC:
            self.asked_as.setdefault(position, set()).add(kind)
            self.charges.setdefault(position, {})[key] = where.terms.round_losses(number)[kind]

    def heard(self, where: ParticipantContext, place: int, bit: bool | None) -> None:
        kind, name, epoch = Visibility(int(where.classes[place])), where.names[place], where.charter.epoch
        if kind in NON_PUBLIC:
            threshold = where.request(1).thresholds[kind]
            if bit is not None:
                assert self.bits.setdefault((epoch, name, threshold), bit) == bit, "one position has two answers"
            cost = where.terms.round_losses(1)[kind]
            self.asked_as.setdefault((epoch, name), set()).add(kind)
            self.chain[epoch, name] = max(cost, self.chain.get((epoch, name), Fraction(0)))

    def check(self, where: ParticipantContext) -> None:
        """No position that this campaign is about has lost more than the strictest class allows that it ever had."""
        for name in where.names:
            key = (where.charter.epoch, name)
            lost = self.chain.get(key, Fraction(0)) + sum(self.charges.get(key, {}).values(), Fraction(0))
            if where.classes[where.names.index(name)] != Visibility.PUBLIC:
                assert lost <= CAPS[max(self.asked_as[key])]

    @rule(restore=st.booleans())
    def back_up(self, restore: bool) -> None:
        """An older copy put back is refused, and the newest one is then brought back."""
        if not restore or self.backup is None:
            self.backup = self.path.read_bytes()
            return
        newest = self.path.read_bytes()
        self.path.write_bytes(self.backup)
        if self.backup != newest:
            with pytest.raises(Refused, match="older copy"):
                Ledger(self.path)
        self.path.write_bytes(newest)
        self.ledger = Ledger(self.path)


@contextmanager
def crashing_mark(crash: bool) -> Iterator[None]:
    """The program stops between the commit and the mark."""
    honest = ledgers.write_mark

    def stop(*anything: object) -> None:
        raise Crashed

    ledgers.write_mark = stop if crash else honest  # type: ignore[assignment]
    try:
        yield
    finally:
        ledgers.write_mark = honest


def run(machine: type[RuleBasedStateMachine], examples: int, steps: int = 12) -> None:
    """Without shrinking: a twin is caught by the first sequence that catches it."""
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=quiet,
        phases=[Phase.generate],
    )
    run_state_machine_as_test(machine, settings=chosen)


def test_any_sequence() -> None:
    run(Participant, 40)


class SendsFirst(Participant):
    """Twin: the bytes leave before the commit."""

    def made(self, task: Task, given: Friends | SeenEdges, crash: str) -> bytes:
        with self.ledger.reading() as page:
            agreed = quote(page, task)
        with self.ledger.writing() as page:
            upload = record(page, task, given, agreed, self.random_bytes())
            self.left(task, upload)
            if crash != "never":
                raise Crashed
        return upload


def test_sending_before_the_commit_is_caught() -> None:
    with pytest.raises(AssertionError):
        run(SendsFirst, 60)


class Forgets(Participant):
    """Twin: the ledger is keyed by campaign."""

    def made(self, task: Task, given: Friends | SeenEdges, crash: str) -> bytes:
        honest = Page.entries

        def own(page: Page, kind: str | None = None, epoch: str | None = None, key: str | None = None) -> list[object]:
            found = honest(page, kind, epoch, key)
            return [each for each in found if each.kind not in ("level", "charge", "memo", "other", "noted")]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answering.Page, "entries", own)
            return super().made(task, given, crash)


def test_a_ledger_by_campaign_is_caught() -> None:
    with pytest.raises(AssertionError):
        run(Forgets, 60)


class OneEnd(Participant):
    """Twin: the ledger charges what this participant answers, and leaves the other end's answers to the other end."""

    def made(self, task: Task, given: Friends | SeenEdges, crash: str) -> bytes:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answering, "_others_due", lambda page, where: {})
            return super().made(task, given, crash)

    def noted(self, where: ParticipantContext) -> None:
        pass


def test_charging_one_end_alone_is_caught() -> None:
    with pytest.raises(AssertionError):
        run(OneEnd, 60)


class Relabels(Participant):
    """Twin: a position has the cap of the class that the present charter gives it."""

    def made(self, task: Task, given: Friends | SeenEdges, crash: str) -> bytes:
        honest = answering.account_of
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answering, "account_of", lambda *read: replace(honest(*read), asked={}))
            return super().made(task, given, crash)


def test_caps_by_the_present_class_are_caught() -> None:
    with pytest.raises(AssertionError):
        run(Relabels, 60)
