"""Statements, receipts and codes: what is signed is read back, and every changed byte is noticed.  [WITNESS.1]"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from visibility_aware_edge_ldp.campaign import charter_log, signed_documents, statements
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint, sign
from visibility_aware_edge_ldp.campaign.statements import (
    ALPHABET,
    RECEIPT,
    SALT,
    SHOWN,
    SIGNATURE,
    SignedStatement,
    Statement,
    code,
    receipt_is_signed,
    sealed,
    sign_receipt,
    sign_receipts,
)
from visibility_aware_edge_ldp.errors import ProtocolViolation

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
FIRST = Statement("a1" * 32, 1, "b2" * 32, 7, "c3" * 32, 1_000, 2_000)
SECOND = replace(FIRST, round=2, before=FIRST.digest, transcript="")


@pytest.mark.parametrize("statement", [FIRST, SECOND])
def test_what_is_signed_is_read_back(statement: Statement) -> None:
    signed = SignedStatement.of(statement, KEY)
    assert signed.opened(fingerprint(KEY)) == statement
    assert Statement.from_bytes(statement.data) == statement
    assert signed == SignedStatement.of(statement, KEY), "the same whenever it is made"


@pytest.mark.parametrize("place", range(0, len(FIRST.data), 37))
def test_a_changed_byte_is_noticed(place: int) -> None:
    signed = SignedStatement.of(FIRST, KEY)
    data = signed.data[:place] + bytes([signed.data[place] ^ 1]) + signed.data[place + 1 :]
    with pytest.raises(ProtocolViolation, match="is not signed with the key"):
        replace(signed, data=data).opened(fingerprint(KEY))


def test_another_key_or_another_purpose_is_noticed() -> None:
    for signature in (sign(OTHER, FIRST.data, statements.STATEMENT), sign(KEY, FIRST.data), b""):
        with pytest.raises(ProtocolViolation, match="is not signed with the key"):
            SignedStatement(FIRST.data, signature).opened(fingerprint(KEY))


def test_no_purpose_begins_another() -> None:
    ours = (statements.RECEIPT, statements.STATEMENT, statements._SEALED, statements._CODE, charter_log.PURPOSE)
    purposes = [*ours, signed_documents._PURPOSE]
    assert not [(a, b) for a in purposes for b in purposes if a is not b and a.startswith(b)]


@pytest.mark.parametrize(
    "changes",
    [
        {"round": 3},
        {"round": True},
        {"count": -1},
        {"count": "7"},
        {"root": ""},
        {"campaign": "A1" * 32},
        {"transcript": "c3"},
        {"closed": 1 << 60},
        {"opened": -1},
        {"before": "d4" * 32},
        {"round": 2},
    ],
    ids=str,
)
def test_what_no_server_states_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ProtocolViolation, match="A statement"):
        replace(FIRST, **changes)


def test_other_fields_and_versions_are_refused() -> None:
    for data, why in (
        (FIRST.data.replace(b"statement 1", b"statement 9"), "of a version"),
        (FIRST.data.replace(b'"count":7', b'"count":7,"counted":1'), "other fields"),
        (FIRST.data.replace(b'"count":7,', b""), "other fields"),
        (b"[]", "of a version"),
        (FIRST.data + b" ", "not canonical"),
    ):
        with pytest.raises(ProtocolViolation, match=why):
            Statement.from_bytes(data)


def test_a_receipt_is_signed_for_its_purpose() -> None:
    receipt = b'{"campaign":"x"}'
    signature = bytes.fromhex(sign_receipt(KEY, receipt))
    assert receipt_is_signed(fingerprint(KEY), receipt, signature)
    assert not receipt_is_signed(fingerprint(OTHER), receipt, signature)
    assert not receipt_is_signed(fingerprint(KEY), receipt + b" ", signature)
    assert not receipt_is_signed(fingerprint(KEY), receipt, sign(KEY, receipt))
    assert receipt_is_signed(fingerprint(KEY), receipt, sign(KEY, receipt, b"va-edge-ldp receipt 1\n"))  # as before
    assert not receipt_is_signed(fingerprint(KEY), receipt, sign(KEY, receipt, RECEIPT))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 13, 64, 100])
def test_one_signature_shows_each_receipt_of_a_group_and_no_other(count: int) -> None:
    receipts = [b"receipt %d" % number for number in range(count)]
    shown = [bytes.fromhex(each) for each in sign_receipts(KEY, receipts)]
    assert len({each[:SIGNATURE] for each in shown}) == 1
    for receipt, each in zip(receipts, shown, strict=True):
        assert len(each) in SHOWN
        assert receipt_is_signed(fingerprint(KEY), receipt, each)
        assert not receipt_is_signed(fingerprint(OTHER), receipt, each)
        for wrong in (each[:-1], each + b"\0", each + bytes(32), each[:-32], b"", each[:SIGNATURE]):
            assert not receipt_is_signed(fingerprint(KEY), receipt, wrong)
        for place in range(SIGNATURE, len(each), 7):
            changed = each[:place] + bytes([each[place] ^ 1]) + each[place + 1 :]
            assert not receipt_is_signed(fingerprint(KEY), receipt, changed)
    for receipt, each in zip(receipts, shown[1:], strict=False):
        assert not receipt_is_signed(fingerprint(KEY), receipt, each)


def test_what_is_shown_of_one_receipt_tells_nobody_elses() -> None:
    """The hash beside it is of a salt that it does not hold: the same receipt beside it gives other hashes."""
    pairs = [[bytes.fromhex(each) for each in sign_receipts(KEY, [b"mine", b"yours"])] for _ in range(20)]
    beside = {mine[-32:] for mine, _ in pairs}
    assert len(beside) == 20
    assert hashlib.sha256(b"\0yours").digest() not in beside
    assert all(yours[SIGNATURE : SIGNATURE + SALT] not in mine for mine, yours in pairs)


def test_a_seal_depends_on_salt_and_transcript() -> None:
    found = {sealed(digest * 32, salt * 32) for digest in ("ab", "cd") for salt in (b"x", b"y")}
    assert len(found) == 4
    assert hashlib.sha256(bytes.fromhex("ab" * 32)).hexdigest() not in found


def test_a_code_has_a_hundred_bits_and_covers_every_field() -> None:
    """The last two differ in the transcript alone: what a code of the root would not see."""
    others = [replace(FIRST, **{name: 8}) for name in ("count", "opened", "closed")]
    others += [replace(FIRST, **{name: "0f" * 32}) for name in ("campaign", "root", "transcript")]
    codes = [code(each.data) for each in (FIRST, SECOND, *others)]
    assert len(set(codes)) == len(codes)
    assert len(set(ALPHABET)) == 32
    assert not set("ILOU") & set(ALPHABET)
    for each in codes:
        groups = each.split("-")
        assert [len(group) for group in groups] == [4] * 5
        assert set("".join(groups)) <= set(ALPHABET)


def test_the_code_is_the_beginning_of_a_slow_hash() -> None:
    """Written out once more, as another program would."""
    found = hashlib.pbkdf2_hmac("sha256", FIRST.data, b"va-edge-ldp code 1\n", 65_536, 32)
    bits = "".join(f"{octet:08b}" for octet in found)[:100]
    letters = "".join(ALPHABET[int(bits[start : start + 5], 2)] for start in range(0, 100, 5))
    assert code(FIRST.data).replace("-", "") == letters
