"""The base of all clients: verify, pay, randomize, store, in this order; tests/conformance tests every client."""

from __future__ import annotations

from typing import Any

import pytest

from support.protocol_subjects import ENOUGH, SUBJECTS, VIEW, no_bytes
from visibility_aware_edge_ldp.client.reporter import Client, Purse, who_takes_part
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes

SUBJECT = SUBJECTS["degrees"]
REPORT = SUBJECT.client("degrees", ENOUGH).answer(SUBJECT.survey, 1, keyed_random_bytes(bytes(32)))


class Noted(Client[Any, None, Any]):
    """Notes what it does, and fails where it is told to."""

    def __init__(self, purse: Purse, failing: str = "") -> None:
        super().__init__(None, VIEW, purse)
        self.done, self.failing = list[str](), failing

    def _do(self, what: str) -> None:
        self.done.append(what)
        if what == self.failing:
            raise ProtocolViolation(what)

    def verify(self, survey: Any, round_number: int) -> Any:
        self._do("verify")
        return super().verify(survey, round_number)

    def prices(self, survey: Any, round_number: int) -> Any:
        self._do("pay")
        return super().prices(survey, round_number)

    def randomize(self, survey: Any, round_number: int, random_bytes: Any, present: Any) -> Any:
        self._do("randomize")
        return REPORT


def test_the_order_is_verify_pay_randomize_store() -> None:
    client = Noted(ENOUGH)
    assert client.answer(SUBJECT.survey, 1, no_bytes) is client.answer(SUBJECT.survey, 1, no_bytes) is REPORT
    assert client.done == ["verify", "pay", "randomize"]
    with pytest.raises(ProtocolViolation, match="was asked for"):
        client.answer(SUBJECT.survey, 2, no_bytes)
    assert "pay" not in client.done[3:]


@pytest.mark.parametrize("failing", ["verify", "pay", "randomize"])
def test_what_fails_is_not_stored(failing: str) -> None:
    client = Noted(ENOUGH, failing)
    with pytest.raises(ProtocolViolation, match=failing):
        client.answer(SUBJECT.survey, 1, no_bytes)
    assert not client._answers


def test_nothing_is_randomized_that_was_not_paid_for() -> None:
    client = Noted(Purse({}))
    with pytest.raises(Refused):
        client.answer(SUBJECT.survey, 1, no_bytes)
    assert client.done == ["verify", "pay"]


def test_all_take_part_unless_it_is_said() -> None:
    assert who_takes_part(None, 3).tolist() == [True] * 3
    some = who_takes_part(None, 2)
    some[0] = False
    kept = who_takes_part(some, 2)
    assert kept.tolist() == [False, True]
    some[1] = False
    assert kept.tolist() == [False, True], "it is a copy"
