"""Any sequence of campaigns, rosters, thresholds, questions and crashes, against a model of what left.  [LEDGER.1-2]

The model is kept on the receiving side: it knows only the bytes that left. No (epoch, position, threshold) is ever
answered in two ways, no campaign's round hears two different uploads, and what all that left has cost a position,
added up anew, is never above the cap.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.new import charter_of, drafted
from visibility_aware_edge_ldp.campaign.participant import answering
from visibility_aware_edge_ldp.campaign.participant import ledger as ledgers
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_entry
from visibility_aware_edge_ldp.campaign.participant.answering import Task, quote, record
from visibility_aware_edge_ldp.campaign.participant.friends import Friends
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger, Page, create_ledger
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.mechanisms.entropy import Coins, keyed_coins, seeded_key
from visibility_aware_edge_ldp.public import codec
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.report import unpack
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PEOPLE = [f"p{number}" for number in range(20)]
OWN = "p0"
CAPS = {Visibility.PRIVATE: Fraction(2), Visibility.FRIEND_VISIBLE: Fraction(3)}
EPSILONS = ("1/2", "1", "3/2", "2")
ROSTERS = (PEOPLE[:12], PEOPLE, PEOPLE[:6] + PEOPLE[12:])
QUESTIONS = ("position", "position", "two rounds", "degrees")


class Crashed(Exception):  # noqa: N818
    """The program stops here."""


@cache
def seat(question: str, epsilon: str, roster: int, salt: str, title: str, epoch: str) -> Seat:
    documents = drafted(ROSTERS[roster], VisibilityPolicy(0.1, 0.4, salt=salt), (), epoch)
    rounds = tuple(Round(4_000_000_000 + number, 1) for number in range(2 if question == "two rounds" else 1))
    kind = "degrees" if question == "degrees" else "position"
    split = (Fraction(1, 2),) * 2 if len(rounds) == 2 else ()
    charter = charter_of(documents, "ab" * 32, kind, epsilon, ["edges"], rounds, title, epoch, 0, split)
    return Seat.of(charter, documents, OWN)


class Participant(RuleBasedStateMachine):
    """One person with one disk, asked by anybody for anything, who may be killed anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.db"
        self.ledger = create_ledger(self.path, caps_entry(CAPS))
        self.bits: dict[tuple[str, str, int], bool] = {}
        self.uploads: dict[tuple[str, int], bytes] = {}
        self.chain: dict[tuple[str, str], Fraction] = {}
        self.others: dict[tuple[str, str], dict[tuple[str, int], Fraction]] = {}
        self.backup: bytes | None = None
        self.drawn = 0

    def coins(self) -> Coins:
        """New ones for every answer, and the same ones when a sequence is run again."""
        self.drawn += 1
        return keyed_coins(seeded_key("properties", self.drawn))

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
        crash=st.sampled_from(["never", "never", "before commit", "after commit", "before the mark"]),
        rounds=st.integers(1, 2),
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
    ) -> None:
        where = seat(question, epsilon, roster, salt, title, epoch)
        given = Friends(np.array([bool(friends >> PEOPLE.index(name) & 1) and name != OWN for name in where.names]), ())
        for number in range(1, min(rounds, len(where.charter.rounds)) + 1):
            if where.questions.asks(where.number, number):
                self.answer(where, number, given, crash)

    def answer(self, where: Seat, number: int, given: Friends, crash: str) -> None:
        try:
            upload = self.made(Task(where, number), given, crash)
        except (Refused, Crashed):
            # Nothing has left. Whatever the reason was, the program is started again.
            self.ledger = Ledger(self.path)
            return
        self.left(where, number, upload)

    def made(self, task: Task, given: Friends, crash: str) -> bytes:
        with self.ledger.reading() as page:
            agreed = quote(page, task)
        with crashing_mark(crash == "before the mark"), self.ledger.writing() as page:
            upload = record(page, task, given, agreed, self.coins())
            if crash == "before commit":
                raise Crashed
        if crash == "after commit":
            raise Crashed
        return upload

    def left(self, where: Seat, number: int, upload: bytes) -> None:
        """The bytes are with everybody now."""
        assert self.uploads.setdefault((where.charter.identity, number), upload) == upload
        survey, epoch = where.questions.survey, where.charter.epoch
        if where.charter.question == "position" and number == 1:
            report = codec.decode(upload)
            for place, bit in enumerate(unpack(report.ones, report.count), where.number + 1):
                self.heard(where, place, bool(bit))
            return
        key = (survey.identity, number)
        asked = range(where.number + 1, len(where.names)) if number == 2 else range(len(where.names))
        for place in asked:
            if where.classes[place] != Visibility.PUBLIC:
                cost = where.questions.round_losses(number)[Visibility(int(where.classes[place]))]
                self.others.setdefault((epoch, where.names[place]), {})[key] = cost

    def heard(self, where: Seat, place: int, bit: bool) -> None:
        kind, name, epoch = Visibility(int(where.classes[place])), where.names[place], where.charter.epoch
        if kind in NON_PUBLIC:
            threshold = where.request(1).thresholds[kind]
            assert self.bits.setdefault((epoch, name, threshold), bit) == bit, "one position has two answers"
            cost = where.questions.round_losses(1)[kind]
            self.chain[epoch, name] = max(cost, self.chain.get((epoch, name), Fraction(0)))

    @rule()
    def back_up(self) -> None:
        self.backup = self.path.read_bytes()

    @rule()
    def restore_the_backup(self) -> None:
        """An older copy put back is refused, and the newest one is then brought back."""
        if self.backup is None:
            return
        newest = self.path.read_bytes()
        self.path.write_bytes(self.backup)
        if self.backup != newest:
            with pytest.raises(Refused, match="older copy"):
                Ledger(self.path)
        self.path.write_bytes(newest)
        self.ledger = Ledger(self.path)

    @invariant()
    def nobody_has_lost_more_than_was_allowed(self) -> None:
        for key in {*self.chain, *self.others}:
            lost = self.chain.get(key, Fraction(0)) + sum(self.others.get(key, {}).values(), Fraction(0))
            assert lost <= max(CAPS.values())
            # A position that was PRIVATE whenever it was asked about has the smaller cap; salts make both kinds.
            if all(self.class_of(key[0], key[1], salt) != Visibility.FRIEND_VISIBLE for salt in ("a", "b")):
                assert lost <= CAPS[Visibility.PRIVATE]

    def class_of(self, epoch: str, name: str, salt: str) -> Visibility:
        where = seat("position", "1", 1, salt, "One", epoch)
        return Visibility(int(where.classes[where.names.index(name)]))


@contextmanager
def crashing_mark(crash: bool) -> Iterator[None]:
    """The program stops between the commit and the mark."""
    honest = ledgers._write_mark

    def stop(*anything: object) -> None:
        raise Crashed

    ledgers._write_mark = stop if crash else honest  # type: ignore[assignment]
    try:
        yield
    finally:
        ledgers._write_mark = honest


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
    run(Participant, 20)


class SendsFirst(Participant):
    """Twin: the bytes leave before the commit."""

    def made(self, task: Task, given: Friends, crash: str) -> bytes:
        with self.ledger.reading() as page:
            agreed = quote(page, task)
        with self.ledger.writing() as page:
            upload = record(page, task, given, agreed, self.coins())
            self.left(task.seat, task.round, upload)
            if crash != "never":
                raise Crashed
        return upload


def test_sending_before_the_commit_is_caught() -> None:
    with pytest.raises(AssertionError):
        run(SendsFirst, 60)


class Forgets(Participant):
    """Twin: the ledger is keyed by campaign."""

    def made(self, task: Task, given: Friends, crash: str) -> bytes:
        honest = Page.entries

        def own(page: Page, kind: str | None = None, epoch: str | None = None, key: str | None = None) -> list[object]:
            found = honest(page, kind, epoch, key)
            return [each for each in found if each.kind not in ("level", "charge", "memo")]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answering.Page, "entries", own)
            return super().made(task, given, crash)


def test_a_ledger_by_campaign_is_caught() -> None:
    with pytest.raises(AssertionError):
        run(Forgets, 60)
