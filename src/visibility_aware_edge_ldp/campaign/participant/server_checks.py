"""Whether what was answered from here is in the set that the server froze; the status of campaigns.  [CHARTER.7]

What was sent is read from the own ledger, so that nothing is believed but what the server states of a round; that is
compared with what it stated before, and its code is printed, to be compared with the one that others see.  [WITNESS.3]
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign.amendments import Amended
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.http_client import Transport, json_object
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_in
from visibility_aware_edge_ldp.campaign.participant.amended import amendments, withdrew
from visibility_aware_edge_ldp.campaign.participant.answering import Task, standing
from visibility_aware_edge_ldp.campaign.participant.consenting import agreed_context, kept_context
from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER, OtherVersion, Surroundings, enrolled, load
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger, Page
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext, heard, part_number, upload_key
from visibility_aware_edge_ldp.campaign.participant.statements import (
    FROZEN,
    RoundState,
    going_on_if,
    keep_stated,
    refuse_reopened,
    refuse_rolled_back,
    round_state,
    see_log,
    see_statement,
    server_in,
)
from visibility_aware_edge_ldp.campaign.signed_documents import is_fingerprint, shortened
from visibility_aware_edge_ldp.campaign.statements import Statement, code
from visibility_aware_edge_ldp.campaign.wire_format import leaf, proof_octets, report_in, verify
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.transcript import broadcast_size
from visibility_aware_edge_ldp.public.transcript_parts import part_octets
from visibility_aware_edge_ldp.public.visibility import Visibility

ANSWERS_FORMAT = "va-edge-ldp estimates 2"
INCLUDED, NOT_CLOSED, UNACKNOWLEDGED, LEFT_OUT = "included", "not closed yet", "not acknowledged", "not counted"
WITHDRAWN = "withdrawn"
# Clocks differ, and closing takes a while.
_SLACK = 3_600
# What answers may hold, in octets: words, numbers for each statistic, and a few for each participant.
_WORDS, _EACH_STATISTIC, _EACH_PARTICIPANT = 1 << 20, 1 << 10, 1 << 8
Sets = Mapping[int, tuple[object, object]]  # of each round, the root and how many answered
_SMALL = 1 << 16
_NOT_HELD = "The closed round does not hold your first answers as you sent them; do not answer it."


def second_task(transport: Transport, ledger: Ledger, context: ParticipantContext, first: bytes) -> Task:
    """Round 2, when it is sure that the server counts what this participant said in round 1: the upload ``first``."""
    closed = round_state(transport, 1)
    if closed.state not in FROZEN:
        raise ProtocolViolation("Round 2 is open though round 1 is not closed; do not answer it.")
    if context.question.broadcasts:
        return _on_transcript(transport, ledger, context, first, closed)
    if not proved_among(transport, context, first, closed):
        raise ProtocolViolation(_NOT_HELD)
    keep_stated(transport, ledger, context, closed)
    return Task(context, 2)


def _on_transcript(
    transport: Transport, ledger: Ledger, context: ParticipantContext, first: bytes, closed: RoundState
) -> Task:
    """The broadcast first answers: of the digest that the round pins, with the own row in it unchanged."""
    octets_sent = transport.get(*_broadcast(context)).body
    transcript = heard(context, report_in(first), octets_sent)
    pinned = {closed.transcript, round_state(transport, 2).transcript} - {""}
    if pinned != {transcript.digest}:
        raise ProtocolViolation("The transcript is not the one that the closed round names; do not answer it.")
    if context.charter.parts is not None and not proved_among(transport, context, first, closed):
        raise ProtocolViolation(_NOT_HELD)
    keep_stated(transport, ledger, context, replace(closed, transcript=transcript.digest))
    return Task(context, 2, octets_sent, transcript.digest)


def _broadcast(context: ParticipantContext) -> tuple[str, int]:
    """Where what this participant reads of the first round is, and how many octets that has."""
    survey, parts = context.terms.survey, context.charter.parts
    if parts is None:
        return "/v1/rounds/1/transcript", broadcast_size(context.view)
    number = part_number(context)
    return f"/v1/rounds/1/parts/{number}", part_octets(survey, number) + proof_octets(number, survey.parts)


def proved_among(transport: Transport, context: ParticipantContext, upload: bytes, closed: RoundState) -> int:
    """Of how many uploads these very bytes of this participant are one, by the server's proof.

    0 where it does not lead from them to the root of the closed round.
    """
    said = json_object(transport.get(f"/v1/rounds/{closed.round}/proof/{context.number}", _SMALL, own=True).body)
    index, count, siblings = said.get("index"), said.get("count"), said.get("proof")
    if type(index) is not int or type(count) is not int or not isinstance(siblings, list):
        raise ProtocolViolation("The server's proof names a place, a number of uploads and the hashes beside it.")
    if not closed.root or not all(is_fingerprint(each) for each in siblings):
        raise ProtocolViolation("The server's proof does not lead to a root.")
    own = leaf(context.number, sha256(upload).hexdigest())
    found = verify(bytes.fromhex(closed.root), own, index, count, [bytes.fromhex(each) for each in siblings])
    return count if found else 0


@dataclass(frozen=True)
class Checked:
    """How a report stands: where it is included, in the set of this root, as one of so many, and whether the answers
    name that set. ``code`` stands for the round as the server signed it; nothing where it signs nothing.
    [WITNESS.2]"""

    campaign: str
    round: int
    digest: str
    standing: str
    root: str = ""
    count: int = 0
    answers: bool = False
    code: str = ""


def check(
    home: Path,
    campaign: str | None = None,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 - frozen
) -> list[Checked]:
    """Every round that was answered from here; refuses if an acknowledged report is not in its set unchanged.

    The server that is asked, and shown the token, is that of the enrolment; whoever enrols again at another address
    names that one.

    Parameters
    ----------
    campaign
        The beginning of the campaign's identity, where several are enrolled.
    """
    enrolment, ledger = load(home, campaign), Ledger(home / LEDGER)
    server = surroundings.server(enrolment)
    context = agreed_context(server, ledger, enrolment)
    with ledger.reading() as page:
        uploads = _by_round(page, context, "upload")
        receipts = _by_round(page, context, "receipt")
    if not uploads:
        raise BadInput(f"Nothing was answered in {context.charter.title!r} from here, so there is nothing to check.")
    states, amended = [round_state(server, number) for number in uploads], amendments(server, context.charter)
    sets = _answered_sets(server, context.charter)
    for state in states:
        _refuse_overdue(amended, state, sets)
    key = server_in(see_log(server, ledger, context.charter), context.charter)
    states += [round_state(server, number) for number in context.charter.numbers if number not in uploads]
    stated = {state.round: _stated(server, ledger, context, key, state) for state in states}
    given = [_Given(state, uploads[state.round], state.round in receipts) for state in states if state.round in uploads]
    return [_checked(server, context, key, each, stated[each.state.round], sets) for each in given]


def _stated(
    server: Transport, ledger: Ledger, context: ParticipantContext, key: str, state: RoundState
) -> Statement | None:
    """What the server states of a round, compared with all that it ever stated; None of an open one, and unsigned."""
    with ledger.reading() as page:
        refuse_reopened(page, context, key, state)
    return see_statement(server, ledger, context, key, state) if key and state.state in FROZEN else None


@dataclass(frozen=True)
class _Given:
    """A round as the server describes it, what was sent for it, and whether there is a receipt."""

    state: RoundState
    upload: bytes
    acknowledged: bool


def _by_round(page: Page, context: ParticipantContext, kind: str) -> dict[int, bytes]:
    """The entries of a kind that a campaign's rounds have, by the round."""
    found = {number: page.one(kind, key=upload_key(context, number)) for number in context.charter.numbers}
    return {number: content for number, content in found.items() if content is not None}


def _refuse_overdue(charter: Amended, state: RoundState, sets: Sets | None) -> None:
    late = sets is not None or time.time() > charter.rounds[state.round - 1].closes + _SLACK
    if late and state.state not in FROZEN:
        raise ProtocolViolation(
            f"The server calls round {state.round} {state.state}, though its time is over, so that your report "
            "cannot be found in it. Tell the issuer."
        )


def _checked(
    server: Transport,
    context: ParticipantContext,
    key: str,
    given: _Given,
    stated: Statement | None,
    sets: Sets | None,
) -> Checked:
    """How the upload of a round stands, which the server may have acknowledged."""
    state, upload, number = given.state, given.upload, given.state.round
    standing = NOT_CLOSED if given.acknowledged else UNACKNOWLEDGED
    found = Checked(context.charter.identity, number, sha256(upload).hexdigest(), standing)
    if state.state not in FROZEN:
        if given.acknowledged:
            if withdrew(server, context):
                return replace(found, standing=WITHDRAWN)
            refuse_rolled_back(server, context, number, upload, key)
        return found
    count = 0
    with going_on_if("not-found"):
        count = proved_among(server, context, upload, state)
    if not count and given.acknowledged:
        if withdrew(server, context):
            return replace(found, standing=WITHDRAWN)
        raise ProtocolViolation(
            f"Your report of round {number} is NOT in the frozen set as you sent it, though the server "
            "acknowledged it. Keep your ledger, which holds the receipt, and tell the issuer."
        )
    found = replace(found, code="" if stated is None else code(stated.data))
    if not count:
        return replace(found, standing=LEFT_OUT)
    if stated is not None and stated.count != count:
        raise ProtocolViolation(f"The server states {stated.count:,} reports of round {number}, and proves {count:,}.")
    if sets is not None and sets.get(number) != (state.root, count):
        raise ProtocolViolation(
            f"The answers name another set of round {number} than the one that your report is in. Tell the issuer."
        )
    return replace(found, standing=INCLUDED, root=state.root, count=count, answers=sets is not None)


def _answered_sets(server: Transport, charter: Charter) -> Sets | None:
    """The sets that the answers name as those that they were made from; none before there are any."""
    most = _WORDS + _EACH_STATISTIC * len(charter.statistics) + _EACH_PARTICIPANT * charter.nodes
    found = None
    with going_on_if("not-ready"):
        found = server.get("/v1/estimates", most)
    if found is None:
        return None
    rounds = answers_in(found.body, charter).get("rounds")
    if not isinstance(rounds, list) or not all(isinstance(each, dict) for each in rounds):
        raise ProtocolViolation("The server's answers do not name the rounds that they were made from.")
    return {number: (each.get("root"), each.get("answered")) for number, each in enumerate(rounds, 1)}


def answers_in(data: bytes, charter: Charter) -> dict[str, Any]:
    """A campaign's answers, if they are of this campaign and of the version that is read here."""
    said = json_object(data)
    if said.get("format") != ANSWERS_FORMAT:
        raise ProtocolViolation(
            f"The server's answers are written as {shortened(said.get('format'))}, and this program reads "
            f"{ANSWERS_FORMAT!r}. Use the version of the program that the server has."
        )
    if said.get("campaign") != charter.identity:
        raise ProtocolViolation("The server's answers name another campaign than its charter. Tell the issuer.")
    return said


@dataclass(frozen=True)
class Status:
    """How one campaign stands on this side: which rounds ask anything of this participant, which were answered, and
    which of these have a receipt."""

    campaign: str
    title: str
    epoch: str
    question: str
    rounds: int
    asked: tuple[int, ...]
    answered: tuple[int, ...]
    acknowledged: tuple[int, ...]
    lost: Mapping[Visibility, Fraction]
    caps: Mapping[Visibility, Fraction]


def _kept(home: Path) -> tuple[list[ParticipantContext], list[str]]:
    """What is enrolled here: the campaigns that this version reads, and the identities of the others."""
    contexts, others = list[ParticipantContext](), list[str]()
    for each in enrolled(home):
        try:
            contexts.append(kept_context(Ledger(home / LEDGER), load(home, each)))
        except OtherVersion:
            others.append(each)
    return contexts, others


def of_other_versions(home: Path) -> list[str]:
    """The identities of campaigns that are enrolled here and that another version reads."""
    return _kept(home)[1]


def _status(page: Page, context: ParticipantContext) -> Status:
    charter = context.charter
    return Status(
        charter.identity,
        charter.title,
        charter.epoch,
        charter.question,
        len(charter.rounds),
        tuple(number for number in charter.numbers if context.terms.asks(context.number, number)),
        tuple(_by_round(page, context, "upload")),
        tuple(_by_round(page, context, "receipt")),
        standing(page, context),
        caps_in(page),
    )


def status(home: Path) -> list[Status]:
    """All campaigns that are enrolled here and that this version reads; asks nobody."""
    ledger = Ledger(home / LEDGER)
    contexts, _ = _kept(home)
    with ledger.reading() as page:
        return [_status(page, context) for context in contexts]
