"""The registry of problems, and receipts."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign.canonical import decode, encode
from visibility_aware_edge_ldp.campaign.problems import BY_TYPE, PROBLEMS
from visibility_aware_edge_ldp.campaign.receipt import Receipt
from visibility_aware_edge_ldp.errors import ProtocolViolation

STATUS = {
    "bad-request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "deadline": 408,
    "conflict": 409,
    "late": 409,
    "not-open": 409,
    "not-ready": 409,
    "erased": 410,
    "length-required": 411,
    "too-large": 413,
    "media-type": 415,
    "bad-report": 422,
    "too-many": 429,
    "header-too-large": 431,
    "internal": 500,
    "store-unavailable": 503,
}


def test_the_registry() -> None:
    assert {name: problem.status for name, problem in PROBLEMS.items()} == STATUS
    assert {HTTPStatus(problem.status) for problem in PROBLEMS.values()}
    assert {problem.type for problem in PROBLEMS.values()} == {f"urn:va-edge-ldp:problem:{name}" for name in STATUS}
    assert BY_TYPE["urn:va-edge-ldp:problem:late"] is PROBLEMS["late"]


def test_a_problem_as_it_is_sent() -> None:
    sent = PROBLEMS["late"].body("Round 1 closed at noon.")
    assert decode(sent) == {
        "type": "urn:va-edge-ldp:problem:late",
        "title": "The round is closed.",
        "status": 409,
        "detail": "Round 1 closed at noon.",
    }
    assert "detail" not in decode(PROBLEMS["late"].body())


@given(st.text(st.characters()))
def test_any_detail_can_be_sent(detail: str) -> None:
    assert decode(PROBLEMS["bad-report"].body(detail + "e\u0301\ud800"))["detail"].endswith("é?")


def test_a_receipt_comes_back() -> None:
    receipt = Receipt("ab" * 32, 2, 17, "cd" * 32)
    assert Receipt.from_bytes(receipt.to_bytes()) == receipt


@pytest.mark.parametrize(
    "change",
    [{"round": 3}, {"round": "1"}, {"participant": -1}, {"digest": "AB" * 32}, {"campaign": 7}, {"more": 1}],
    ids=str,
)
def test_other_receipts_are_refused(change: dict[str, object]) -> None:
    content = {**vars(Receipt("ab" * 32, 2, 17, "cd" * 32)), **change}
    with pytest.raises(ProtocolViolation, match="receipt"):
        Receipt.from_bytes(encode(content))
