"""The charter: its bytes, its identity, its signature.  [CHARTER.1-2]"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.campaign_vectors import CASES, KEY, OTHER_KEY, charter_for, documents_of
from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign.charter import LARGEST, Charter, Round, SignedCharter
from visibility_aware_edge_ldp.campaign.invitations import NamedPage
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS
from visibility_aware_edge_ldp.campaign.signed_documents import digest
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.row_parts import PartRule

ALL = {case: charter_for(case, documents_of(case)) for case in CASES}
ONE = ALL["position, two rounds"]
# For each field another value that is a good one.
OTHERS: dict[str, Any] = {
    "title": "another",
    "issuer": signed_documents.fingerprint(OTHER_KEY),
    "epoch": "another",
    "nodes": 13,
    "roster": "0" * 64,
    "policy": "0" * 64,
    "edges": "0" * 64,
    "question": "position",
    "statistics": ("triangles",),
    "epsilon": Fraction(2),
    "shares": (Fraction(1, 3), Fraction(2, 3)),
    "mechanisms": ({}, {"kind": "another"}),
    "survey": "0" * 64,
    "rounds": (Round(1, 1), Round(2, 1)),
    "retention": 7,
    "consent": 1,
    "page": NamedPage("0" * 64, ("https://a.example",)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_charter_comes_back(case: str) -> None:
    charter = ALL[case]
    back = Charter.from_bytes(charter.data)
    assert back == charter
    assert hash(back) == hash(charter)
    assert back.identity == charter.identity == digest(charter.data)


def test_identities_differ() -> None:
    assert len({charter.identity for charter in ALL.values()}) == len(ALL)


RARE = ("question", "wave", "parts")


@pytest.mark.parametrize("name", [each.name for each in fields(Charter) if each.name not in RARE])
def test_every_field_is_in_the_identity(name: str) -> None:
    assert getattr(ONE, name) != OTHERS[name]
    assert replace(ONE, **{name: OTHERS[name]}).identity != ONE.identity


def test_the_question_is_in_the_identity() -> None:
    degrees = ALL["degrees"]
    other = replace(degrees, question="position", statistics=("edges",))
    assert other.identity != replace(degrees, statistics=("edges",)).identity


def test_parts_stand_in_the_charter_and_only_where_triangles_are_counted() -> None:
    triangles, rule = ALL["triangles"], PartRule(5, "ab" * 32)
    cut = replace(triangles, parts=rule)
    assert Charter.from_bytes(cut.data) == cut
    assert json.loads(cut.data)["parts"] == {"coin": "ab" * 32, "groups": 5}
    assert "parts" not in json.loads(triangles.data)
    assert len({triangles.identity, cut.identity, replace(cut, parts=PartRule(6, "ab" * 32)).identity}) == 3
    assert (cut.asked.name, cut.trust) == ("parts", triangles.trust)
    for case in ("4-cycles", "position, two rounds", "degrees"):
        with pytest.raises(ProtocolViolation, match="where triangles are counted"):
            replace(ALL[case], parts=rule)


def test_no_number_is_a_float() -> None:
    for charter in ALL.values():
        json.loads(charter.data, parse_float=lambda text: pytest.fail(f"{text} is a float"))


@given(st.integers(0, len(ONE.data) * 8 - 1))
def test_one_bit_of_a_signed_charter_decides(bit: int) -> None:
    signed = SignedCharter.of(ONE, KEY)
    data = bytearray(signed.data)
    data[bit >> 3] ^= 1 << bit % 8
    with pytest.raises(ProtocolViolation, match="not signed"):
        SignedCharter(bytes(data), signed.signature).opened(ONE.issuer)


def test_signing_and_opening() -> None:
    signed = SignedCharter.of(ONE, KEY)
    assert signed.opened(ONE.issuer) == ONE
    assert SignedCharter.from_hex(signed.data, signed.signature.hex()) == signed
    with pytest.raises(ProtocolViolation, match="another key"):
        SignedCharter.of(ONE, OTHER_KEY)
    with pytest.raises(ProtocolViolation, match="not signed"):
        signed.opened(signed_documents.fingerprint(OTHER_KEY))


def test_nothing_is_parsed_before_the_signature_holds() -> None:
    """Bytes that are no JSON at all are refused for their signature: no stranger reaches the parser."""
    with pytest.raises(ProtocolViolation, match="not signed"):
        SignedCharter(b"\xff{", bytes(64)).opened(ONE.issuer)
    with pytest.raises(ProtocolViolation, match="not UTF-8"):
        SignedCharter(b"\xff{", signed_documents.sign(KEY, b"\xff{")).opened(ONE.issuer)


def test_a_charter_that_is_too_large_is_refused() -> None:
    with pytest.raises(ProtocolViolation, match="more than"):
        Charter.from_bytes(b" " * (LARGEST + 1))


def test_floats_cannot_be_chartered() -> None:
    with pytest.raises(BadInput, match="float"):
        _ = replace(ONE, mechanisms=({"thresholds": 0.5}, {})).data
    with pytest.raises(BadInput, match="float"):
        _ = replace(ONE, rounds=(Round(1.5, 2), Round(2, 2))).data  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "statistic", "answered"),
    [
        ("position", "stars:4", True),
        ("position", "tail:2", False),
        ("position", "four_cliques", True),
        ("position", "eigenvector_centrality", False),  # it would name people
        ("position", "spectral_radius", False),
        ("position", "largest_degrees:3", False),
        ("degrees", "simultaneous_degrees", False),
        ("degrees", "tail:2", True),
        ("degrees", "stars:2", True),
        ("degrees", "triangles", False),
        ("triangles", "four_cycles", True),
        ("triangles", "edges", False),
        ("hubs", "triangles", True),
        ("hubs", "stars:2", False),
    ],
)
def test_what_answers_what(question: str, statistic: str, answered: bool) -> None:
    assert QUESTIONS[question].answers(statistic) is answered
