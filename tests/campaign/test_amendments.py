"""Amendments: what is signed and chained, what is refused, and that they name nobody.  [CHARTER.9]"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.campaign_amending import Issuer
from support.campaign_lab import FAR, new_lab
from visibility_aware_edge_ldp.campaign.amendments import (
    LONGEST_EXTENSION,
    Amended,
    Amendment,
    OutOfOrder,
    Person,
    SignedAmendment,
    signed_by,
)
from visibility_aware_edge_ldp.campaign.charter import DAY, Charter
from visibility_aware_edge_ldp.campaign.signed_documents import decode, encode, fingerprint, new_key, sign
from visibility_aware_edge_ldp.errors import ProtocolViolation


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Charter, Path]:
    folder = tmp_path_factory.mktemp("amended") / "town"
    return new_lab(folder, 6, "triangles", (FAR, FAR + 100)).served.charter, folder


@pytest.fixture
def issuer(made: tuple[Charter, Path]) -> Issuer:
    return Issuer.of(*made)


def test_every_kind_goes_there_and_back(issuer: Issuer) -> None:
    issuer.replaces_token(3)
    issuer.replaces_token(4, "device", ledger="ab" * 32)
    issuer.signs("withdrawal", 5)
    issuer.signs("deadline", round=2, closes=FAR + 500)
    read = Amended.from_bytes(issuer.charter, issuer.amended.data)
    assert list(read.amendments) == list(issuer.amended.amendments)
    assert (read.head, read.withdrawals) == (issuer.amended.head, 1)
    assert [each.closes for each in read.rounds] == [FAR, FAR + 500]
    assert [each.closes for each in issuer.charter.rounds] == [FAR, FAR + 100], "the charter stays as it was"
    assert (issuer.amended.withdrawn, set(issuer.amended.tokens)) == ({5}, {3, 4})
    assert (read.withdrawn, read.tokens) == (frozenset(), {}), "whom they are about, others do not read"
    for signed in issuer.amended.signed:
        assert SignedAmendment.from_bytes(signed.data) == signed


def test_the_bytes_are_those_of_the_documentation(issuer: Issuer) -> None:
    person = Person(7, bytes(range(32)))
    campaign = issuer.charter.identity
    said = b"va-edge-ldp person 1\n" + bytes.fromhex(campaign) + bytes(range(32)) + b"\0\0\0\0\0\0\0\x07"
    assert person.hidden(campaign) == hashlib.sha256(said).hexdigest()
    amendment = Amendment(campaign, 1, campaign, "withdrawal", person.hidden(campaign))
    text = (
        f'{{"campaign":"{campaign}","format":"va-edge-ldp amendment 1","kind":"withdrawal","number":1,'
        f'"person":"{amendment.person}","previous":"{campaign}"}}'
    )
    assert amendment.data.decode() == text
    signature = sign(issuer.key, text.encode()).hex()
    assert SignedAmendment.of(amendment, issuer.key, person).public["signature"] == signature


def test_a_second_salt_is_another_hash(issuer: Issuer) -> None:
    campaign = issuer.charter.identity
    assert Person(3).hidden(campaign) != Person(3).hidden(campaign)
    assert "salt" not in repr(Person(3))


def test_what_the_issuer_did_not_sign_is_refused(issuer: Issuer) -> None:
    amendment, person = issuer.drafted("withdrawal", 2)
    other = SignedAmendment.of(amendment, new_key(), person)
    right = SignedAmendment.of(amendment, issuer.key, person)
    changed = replace(right, amendment=replace(amendment, kind="token", token="ab" * 32))
    for forged in (other, changed, replace(right, signature=""), replace(right, signature=right.signature.upper())):
        with pytest.raises(ProtocolViolation, match="not signed by the campaign's issuer"):
            issuer.amended.after(forged)
    assert issuer.amended.after(right).withdrawals == 1
    assert signed_by(issuer.key, issuer.charter) == issuer.key
    with pytest.raises(ProtocolViolation, match="another key"):
        signed_by(new_key(), issuer.charter)


def test_one_of_another_campaign_is_refused(issuer: Issuer, tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "other", 6)
    charter = replace(lab.served.charter, issuer=fingerprint(issuer.key))
    foreign = Issuer(charter, issuer.key).signs("withdrawal", 1)
    with pytest.raises(ProtocolViolation, match="for another campaign"):
        issuer.amended.after(foreign)


def test_what_does_not_follow_the_last_one_is_refused(issuer: Issuer) -> None:
    empty, first = issuer.amended, issuer.signs("withdrawal", 1)
    second = issuer.signs("withdrawal", 2)
    with pytest.raises(OutOfOrder, match="the next is number 1"):
        empty.after(second)
    with pytest.raises(OutOfOrder, match="the next is number 3"):
        issuer.amended.after(first)
    fork = replace(second.amendment, previous="ab" * 32)
    with pytest.raises(OutOfOrder):
        empty.after(first).after(SignedAmendment.of(fork, issuer.key))
    swapped = encode([second.public, first.public])
    with pytest.raises(OutOfOrder):
        Amended.from_bytes(issuer.charter, swapped)


@pytest.mark.parametrize(
    ("number", "closes", "why"),
    [
        (1, FAR, "never shortened"),
        (1, FAR - 1, "never shortened"),
        (1, FAR + 100, "after the next round"),
        (2, FAR + 100 + LONGEST_EXTENSION + 1, f"{LONGEST_EXTENSION // DAY} days after"),
        (3, FAR + 1, "there is no 3"),
    ],
)
def test_deadlines_have_limits(issuer: Issuer, number: int, closes: int, why: str) -> None:
    with pytest.raises(ProtocolViolation, match=why):
        issuer.signs("deadline", round=number, closes=closes)


def test_extensions_do_not_add_up_beyond_the_limit(issuer: Issuer) -> None:
    issuer.signs("deadline", round=2, closes=FAR + 100 + LONGEST_EXTENSION)
    with pytest.raises(ProtocolViolation, match="and no later"):
        issuer.signs("deadline", round=2, closes=FAR + 101 + LONGEST_EXTENSION)


def test_a_token_is_given_once(issuer: Issuer) -> None:
    signed, _ = issuer.replaces_token(1)
    with pytest.raises(ProtocolViolation, match="given before"):
        issuer.signs("token", 2, token=signed.amendment.token)


def test_a_device_names_its_ledger(issuer: Issuer) -> None:
    signed, _ = issuer.replaces_token(1, "device", ledger="cd" * 32)
    plain, _ = issuer.replaces_token(2)
    assert issuer.amended.ledger_for(signed.amendment.token) == "cd" * 32
    assert issuer.amended.ledger_for(plain.amendment.token) == ""


@pytest.mark.parametrize(
    "change",
    [
        {"format": "va-edge-ldp amendment 2"},
        {"kind": "roster"},
        {"kind": 1},
        {"person": "ab"},
        {"number": 0},
        {"number": "1"},
        {"campaign": "x" * 64},
        {"closes": 5},
    ],
)
def test_what_is_no_amendment_is_refused(issuer: Issuer, change: dict[str, Any]) -> None:
    amendment, _ = issuer.drafted("withdrawal", 1)
    with pytest.raises(ProtocolViolation):
        Amendment.from_content({**amendment.content, **change})


@pytest.mark.parametrize("person", [{"participant": -1}, {"participant": 1 << 31}, {"salt": "00"}, {"more": 1}])
def test_what_is_no_person_is_refused(issuer: Issuer, person: dict[str, Any]) -> None:
    content: Any = decode(issuer.signs("withdrawal", 1).data)
    content["person"] |= person
    with pytest.raises(ProtocolViolation):
        SignedAmendment.from_content(content)


def test_what_is_no_list_is_refused(issuer: Issuer) -> None:
    with pytest.raises(ProtocolViolation, match="are a list"):
        Amended.from_bytes(issuer.charter, b"{}")
    with pytest.raises(ProtocolViolation, match="nothing else"):
        Amended.from_bytes(issuer.charter, b'[{"amendment":1}]')
