"""What the server says of a round, and the checks that a second round needs; nothing of it is believed unchecked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from visibility_aware_edge_ldp.campaign import merkle
from visibility_aware_edge_ldp.campaign.canonical import shortened
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.answers import own_transcript
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.campaign.participant.transport import Declined, Transport
from visibility_aware_edge_ldp.campaign.receipt import Receipt
from visibility_aware_edge_ldp.campaign.signing import is_fingerprint
from visibility_aware_edge_ldp.campaign.upload import report_in
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.wire import octets

STATES = ("waiting", "open", "closing", "closed", "estimated")
_SMALL = 1 << 16


@dataclass(frozen=True)
class RoundState:
    """A round as the server describes it; ``root`` and ``transcript`` are hex, or nothing before it is closed."""

    round: int
    state: str
    root: str
    transcript: str


def round_state(transport: Transport, round_number: int) -> RoundState:
    """The state of a round."""
    said = json_object(transport.get(f"/v1/rounds/{round_number}", _SMALL).body)
    state, root, transcript = said.get("state"), said.get("root") or "", said.get("transcript") or ""
    if said.get("round") != round_number or state not in STATES:
        raise ProtocolViolation(f"The server describes round {round_number} as {shortened(state)}.")
    if any(value and not is_fingerprint(value) for value in (root, transcript)):
        raise ProtocolViolation(f"The server names no digests for round {round_number}.")
    return RoundState(round_number, str(state), root, transcript)


def stored_receipt(transport: Transport, seat: Seat, round_number: int) -> Receipt | None:
    """The server's receipt for this participant, if it has one."""
    try:
        reply = transport.get(f"/v1/rounds/{round_number}/reports/{seat.number}", _SMALL, own=True)
    except Declined as declined:
        if declined.problem in ("not-found", "not-open"):
            return None
        raise
    return Receipt.from_bytes(reply.body)


def checked_receipt(data: bytes, seat: Seat, round_number: int, upload: bytes) -> Receipt:
    """The receipt, if it is for these very bytes."""
    receipt = Receipt.from_bytes(data)
    own = Receipt(seat.charter.identity, round_number, seat.number, sha256(upload).hexdigest())
    if receipt != own:
        raise ProtocolViolation("The receipt is not for what was sent; keep it, and ask the issuer what was stored.")
    return receipt


def second_task(transport: Transport, seat: Seat, first: bytes) -> Task:
    """Round 2, when it is sure that the server counts what this participant said in round 1: the upload ``first``."""
    closed = round_state(transport, 1)
    if closed.state not in ("closed", "estimated"):
        raise ProtocolViolation("Round 2 is open though round 1 is not closed; do not answer it.")
    if seat.charter.question == "triangles":
        return _on_transcript(transport, seat, first, closed)
    _refuse_without_proof(transport, seat, first, closed)
    return Task(seat, 2)


def _on_transcript(transport: Transport, seat: Seat, first: bytes, closed: RoundState) -> Task:
    """The broadcast first answers: of the digest that the round pins, with the own row in it unchanged."""
    octets_sent = transport.get("/v1/rounds/1/transcript", 2 * octets(seat.view.positions)).body
    transcript = own_transcript(seat, report_in(first), octets_sent)
    pinned = {closed.transcript, round_state(transport, 2).transcript} - {""}
    if pinned != {transcript.digest}:
        raise ProtocolViolation("The transcript is not the one that the closed round names; do not answer it.")
    return Task(seat, 2, octets_sent, transcript.digest)


def proved_among(transport: Transport, seat: Seat, upload: bytes, closed: RoundState) -> int:
    """Of how many uploads these very bytes of this participant are one, by the server's proof.

    0 where it does not lead from them to the root of the closed round.
    """
    said = json_object(transport.get(f"/v1/rounds/{closed.round}/proof/{seat.number}", _SMALL, own=True).body)
    index, count, siblings = said.get("index"), said.get("count"), said.get("proof")
    if type(index) is not int or type(count) is not int or not isinstance(siblings, list):
        raise ProtocolViolation("The server's proof names a place, a number of uploads and the hashes beside it.")
    if not closed.root or not all(is_fingerprint(each) for each in siblings):
        raise ProtocolViolation("The server's proof does not lead to a root.")
    leaf = merkle.leaf(seat.number, sha256(upload).hexdigest())
    found = merkle.verify(bytes.fromhex(closed.root), leaf, index, count, [bytes.fromhex(each) for each in siblings])
    return count if found else 0


def _refuse_without_proof(transport: Transport, seat: Seat, first: bytes, closed: RoundState) -> None:
    if not proved_among(transport, seat, first, closed):
        raise ProtocolViolation("The closed round does not hold your first answers as you sent them; do not answer it.")


def json_object(data: bytes) -> dict[str, Any]:
    """What the server says, if it is an object."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolViolation("The server's answer is not JSON.") from error
    if not isinstance(found, dict):
        raise ProtocolViolation("The server's answer is not a JSON object.")
    return found
