"""Golden vectors: what was written once is read for ever, and what must be refused is refused in one clear sentence."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from support import campaign_answer_vectors as answer_vectors
from support.campaign_attacks import STAGES, Vector, honest, malicious, whole
from support.campaign_lies import lies
from support.campaign_vectors import CASES, FILES, OTHER_KEY, stored
from visibility_aware_edge_ldp.campaign import policy_text, signed_documents, wire_format
from visibility_aware_edge_ldp.campaign import signed_documents as signing
from visibility_aware_edge_ldp.campaign.charter import LARGEST, Charter, SignedCharter
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog
from visibility_aware_edge_ldp.campaign.documents import Documents
from visibility_aware_edge_ldp.campaign.http_client import Reply
from visibility_aware_edge_ldp.campaign.participant import server_checks
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext, own_transcript
from visibility_aware_edge_ldp.campaign.participant.statements import signature_in
from visibility_aware_edge_ldp.campaign.statements import SHOWN, SignedStatement, code, receipt_is_signed
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import Receipt, report_in
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

ATTACKS = stored("campaign_malicious.json")


def consider(vector: Vector, reached: list[str]) -> None:
    """What a program does with what it is sent, in order; ``reached`` tells how far it got."""
    reached.append("bytes")
    if "bytes" in vector:
        signed_documents.decode(bytes.fromhex(vector["bytes"]), LARGEST)
    reached.append("charter")
    data = vector["charter"].encode()
    charter = SignedCharter.from_hex(data, vector["signature"]).opened(vector["pinned"])
    reached.append("documents")
    texts = (vector[name].encode() for name in ("roster", "policy", "edges"))
    documents = Documents.from_bytes(charter, *texts)
    reached.append("question")
    terms = Terms(charter, documents.view)
    reached.append("upload")
    first = report_in(bytes.fromhex(vector["first"])) if "first" in vector else None
    sent = bytes.fromhex(vector["upload"])
    terms.check_upload(vector["participant"], vector["round"], sent, first, vector.get("transcript", ""))


@pytest.mark.parametrize("name", FILES)
def test_what_is_written_today_is_what_was_written_then(name: str) -> None:
    assert FILES[name]() == stored(name)


def test_the_attacks_are_those_that_are_made() -> None:
    assert malicious() == ATTACKS
    assert {each["stage"] for each in ATTACKS} == set(STAGES)
    assert len({each["name"] for each in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("case", CASES)
def test_an_honest_campaign_is_taken(case: str) -> None:
    for number in range(1, CASES[case][2] + 1):
        reached: list[str] = []
        consider(honest(case, 0, number), reached)
        assert tuple(reached) == STAGES


@pytest.mark.parametrize("vector", ATTACKS, ids=[each["name"] for each in ATTACKS])
def test_an_attack_is_refused(vector: Vector) -> None:
    reached: list[str] = []
    with pytest.raises((ProtocolViolation, BadInput), match=re.escape(vector["says"])) as refusal:
        consider(whole(vector), reached)
    assert reached[-1] == vector["stage"]
    said = str(refusal.value)
    assert said.endswith((".", "…")), said
    assert "\n" not in said
    assert len(said) < 350


def test_a_forged_signature_does_not_verify_by_luck() -> None:
    vector = honest("degrees")
    message = vector["charter"].encode()
    assert signing.verify(vector["pinned"], message, bytes.fromhex(vector["signature"]))
    assert not signing.verify(signing.fingerprint(OTHER_KEY), message, bytes.fromhex(vector["signature"]))


def test_statements_receipts_and_the_log_are_read_for_ever() -> None:
    kept, *cases = stored("campaign_statements.json")
    log = CharterLog.from_bytes(kept["log"].encode(), kept["issuer"])
    assert len(log.entries) == len(cases)
    for each, entry in zip(cases, log.entries, strict=True):
        assert entry.server == each["server"]
        for shown in (each["signature"], each["signature alone"]):
            assert receipt_is_signed(each["server"], each["receipt"].encode(), bytes.fromhex(shown))
        for said in each["rounds"]:
            signed = SignedStatement(said["statement"].encode(), bytes.fromhex(said["signature"]))
            assert signed.opened(each["server"]).campaign == entry.campaign
            assert code(signed.data) == said["code"]


@pytest.mark.parametrize("kept", stored("campaign_uploads.json"), ids=lambda each: f"{each['case']}, {each['round']}")
def test_receipts_and_roots(kept: Vector) -> None:
    asked = [int(name) for name in kept["uploads"]]
    digests = [signed_documents.digest(bytes.fromhex(data)) for data in kept["uploads"].values()]
    receipts = [Receipt.from_bytes(text.encode()) for text in kept["receipts"]]
    assert [(each.participant, each.digest) for each in receipts] == list(zip(asked, digests, strict=True))
    last, proof = wire_format.leaf(asked[-1], digests[-1]), [bytes.fromhex(each) for each in kept["proof of the last"]]
    assert wire_format.verify(bytes.fromhex(kept["root"]), last, len(asked) - 1, len(asked), proof)


@pytest.mark.parametrize("name", answer_vectors.FILES)
def test_what_is_drawn_and_answered_today_is_what_was_then(name: str) -> None:
    assert answer_vectors.FILES[name]() == stored(name)


def test_vectors_cover_every_rule_of_a_policy_and_every_part_of_a_scope() -> None:
    policies = [json.loads(each["policy"]) for each in stored("campaign_answers.json")]
    assert {each["rule"]["kind"] for each in policies} == set(policy_text._KINDS)
    words = " ".join(each["scope"]["words"] for each in policies if "scope" in each)
    assert all(part in words for part in ("lists", "public", "group:", ",missing=", "file:", "&", "|"))
    assert any("groups" in each for each in policies)


class Sends:
    """A server that sends this, whatever it is asked for."""

    def __init__(self, text: str) -> None:
        self._reply = Reply(200, {}, text.encode())

    def get(self, path: str, most: int = 0, own: bool = False) -> Reply:
        return self._reply


def believes(vector: Vector) -> bool:
    """Whether this package's program believes what a server sent."""
    sent, what = vector["sent"], vector["what"]
    transport: Any = Sends(sent)
    if what == "problem":
        found = wire_format.problem_in(vector["media_type"], sent.encode())
        return found is not None and found.name == vector["problem"]
    try:
        if what == "receipt":
            digest = signed_documents.digest(bytes.fromhex(vector["upload"]))
            own = Receipt(vector["campaign"], vector["round"], vector["participant"], digest)
            return Receipt.from_bytes(sent.encode()) == own
        if what == "signed receipt":
            shown = signature_in(Reply(200, {"receipt-signature": sent}, b""), "receipt-signature", SHOWN)
            return receipt_is_signed(vector["server"], vector["receipt"].encode(), shown)
        if what == "proof":
            context: Any = SimpleNamespace(number=vector["participant"])
            closed = server_checks.RoundState(1, "closed", vector["root"], "")
            return server_checks.proved_among(transport, context, bytes.fromhex(vector["upload"]), closed) > 0
        if what == "state":
            server_checks.round_state(transport, vector["round"])
        elif what == "transcript":
            heard = _context(vector)
            read = own_transcript(heard, bytes.fromhex(vector["first"]), bytes.fromhex(sent))
            read.rows_answered(heard.view)
        else:
            kept = next(each for each in stored("campaign_charters.json") if each["case"] == vector["case"])
            server_checks.answers_in(sent.encode(), Charter.from_bytes(kept["charter"].encode()))
    except ProtocolViolation:
        return False
    return True


def _context(vector: Vector) -> ParticipantContext:
    case = next(each for each in stored("campaign_answers.json") if each["case"] == vector["case"])
    charter = Charter.from_bytes(case["charter"].encode())
    texts = (case[name].encode() for name in ("roster", "policy", "edges"))
    return ParticipantContext(charter, Documents.from_bytes(charter, *texts), vector["participant"])


def test_lies_are_those_that_are_made_and_are_told_from_truth() -> None:
    kept = stored("campaign_lies.json")
    assert lies() == kept
    assert [f"{each['what']}: {each['name']}" for each in kept if believes(each) is not each["believed"]] == []
    for what in {each["what"] for each in kept}:
        assert {each["believed"] for each in kept if each["what"] == what} == {True, False}
