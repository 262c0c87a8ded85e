"""What server and issuer said over time: kept in the own ledger, and compared with what they say now.  [WITNESS.3]

Everything that is signed is kept before it is judged, so that a lie is on the own disk when it is named.
"""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

from visibility_aware_edge_ldp.campaign.charter import Charter, date
from visibility_aware_edge_ldp.campaign.charter_log import LARGEST as LARGEST_LOG
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog, LoggedCharter
from visibility_aware_edge_ldp.campaign.http_client import Declined, Reply, Transport, json_object
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, Page
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext, upload_key
from visibility_aware_edge_ldp.campaign.signed_documents import is_fingerprint, shortened
from visibility_aware_edge_ldp.campaign.statements import (
    LARGEST,
    SHOWN,
    SIGNATURE,
    SignedStatement,
    Statement,
    receipt_is_signed,
    sealed,
)
from visibility_aware_edge_ldp.campaign.wire_format import Receipt
from visibility_aware_edge_ldp.errors import ProtocolViolation

STATES = ("waiting", "open", "closing", "closed", "estimated")
FROZEN = ("closed", "estimated")
# Kinds of entries of the ledger: logs by issuer and campaign, statements and signatures of receipts by round.
_LOG, _STATEMENT, _SIGNATURE = "log", "statement", "signature"
_SMALL = 1 << 16
_UNNAMED = (
    "The issuer's log does not name this campaign, so others may not know of it; do not answer, and ask the issuer."
)


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


@contextmanager
def going_on_if(*problems: str) -> Iterator[None]:
    """Go on after this block where the server declines for one of these problems."""
    try:
        yield
    except Declined as declined:
        if declined.problem not in problems:
            raise


# ── the issuer's log of charters ──


def fetched_log(transport: Transport, charter: Charter) -> CharterLog | None:
    """The issuer's log as this campaign's server shows it now; None where it shows none."""
    with going_on_if("not-found"):
        return CharterLog.from_bytes(transport.get("/v1/log", LARGEST_LOG).body, charter.issuer)
    return None


def see_log(transport: Transport, ledger: Ledger, charter: Charter) -> CharterLog | None:
    """The issuer's log as this campaign's server shows it now, kept and compared; None where there never was one.

    [WITNESS.4]
    """
    found = fetched_log(transport, charter)
    with ledger.reading() as page:
        fault, known = fault_of_log(page, charter, found), kept_log(page, charter) == found
    if not known:
        with ledger.writing() as page:
            keep_log(page, charter, found)
    if fault:
        raise ProtocolViolation(fault)
    return found


def keep_log(page: Page, charter: Charter, found: CharterLog | None) -> None:
    """One more log that was shown, unless the last one was the same."""
    if found is not None and found != kept_log(page, charter):
        page.append(Entry(_LOG, "", _log_key(charter), content=found.data))


def fault_of_log(page: Page, charter: Charter, found: CharterLog | None) -> str:
    """Why a log contradicts those that were seen before, or does not name the campaign; nothing where all is well."""
    own = [CharterLog.from_bytes(each.content, charter.issuer) for each in page.entries(_LOG, key=_log_key(charter))]
    if found is None:
        return "The server does not show the issuer's log any more, as it did before. Tell the issuer." if own else ""
    for entry in page.entries(_LOG):
        if entry.key.startswith(f"{charter.issuer} "):
            difference = CharterLog.from_bytes(entry.content, charter.issuer).first_difference(found)
            if difference is not None:
                return _fork(*difference)
    longest = max((len(log.entries) for log in own), default=0)  # an older log was kept, too, when it was shown
    if len(found.entries) < longest:
        return (
            f"The server shows {len(found.entries)} charters of the issuer's log; it showed {longest} before. "
            "Tell the issuer that an older log was brought back."
        )
    return "" if _entry_of(found, charter) else _UNNAMED


def _fork(old: LoggedCharter, new: LoggedCharter) -> str:
    return (
        f"The issuer's log does not continue the one that you saw before: entry {old.number} named the campaign "
        f"{old.campaign[:12]} about {old.epoch!r}, and names {new.campaign[:12]} about {new.epoch!r} now. The "
        "issuer signed both; your ledger keeps them. Do not answer, and tell others."
    )


def _entry_of(log: CharterLog, charter: Charter) -> LoggedCharter | None:
    """The campaign's entry, if it is about what the charter is about."""
    entry = log.of(charter.identity)
    named = entry is not None and (entry.epoch, entry.roster) == (charter.epoch, charter.roster)
    return entry if named else None


def _log_key(charter: Charter) -> str:
    return f"{charter.issuer} {charter.identity}"


def server_in(log: CharterLog | None, charter: Charter) -> str:
    """The public key that the campaign's server signs with; empty where there is no log, and nothing is signed."""
    if log is None:
        return ""
    entry = _entry_of(log, charter)
    if entry is None:
        raise ProtocolViolation(_UNNAMED)
    return entry.server


def kept_log(page: Page, charter: Charter) -> CharterLog | None:
    """The log that this campaign's server showed last."""
    content = page.one(_LOG, key=_log_key(charter))
    return None if content is None else CharterLog.from_bytes(content, charter.issuer)


# ── receipts ──


def checked_receipt(reply: Reply, context: ParticipantContext, round_number: int, upload: bytes, key: str) -> Receipt:
    """The receipt, if it is for these very bytes and signed with the key; without a key nothing is signed."""
    receipt = Receipt.from_bytes(reply.body)
    own = Receipt(context.charter.identity, round_number, context.number, sha256(upload).hexdigest())
    if receipt != own:
        raise ProtocolViolation("The receipt is not for what was sent; keep it, and ask the issuer what was stored.")
    if key and not receipt_is_signed(key, reply.body, signature_in(reply, "receipt-signature", SHOWN)):
        raise ProtocolViolation(
            "The receipt is not signed with the key that the issuer's log names, so it proves nothing. Send it again "
            "with `va-edge-ldp campaign answer`, and tell the issuer."
        )
    return receipt


def receipt_entries(context: ParticipantContext, round_number: int, reply: Reply) -> list[Entry]:
    """What the ledger keeps of a receipt: its bytes, and what shows that they are signed, where there is that."""
    epoch, key = context.charter.epoch, upload_key(context, round_number)
    signature = signature_in(reply, "receipt-signature", SHOWN)
    signed = [Entry(_SIGNATURE, epoch, key, content=signature)] if signature else []
    return [Entry("receipt", epoch, key, content=reply.body), *signed]


def held_reply(transport: Transport, context: ParticipantContext, round_number: int) -> Reply | None:
    """The server's receipt for this participant as it comes, if the server has one."""
    with going_on_if("not-found", "not-open"):
        return transport.get(f"/v1/rounds/{round_number}/reports/{context.number}", _SMALL, own=True)
    return None


def refuse_rolled_back(
    transport: Transport, context: ParticipantContext, round_number: int, upload: bytes, key: str
) -> None:
    """Refuses a round that takes reports and does not hold the one that was acknowledged, or not as it was sent."""
    reply = held_reply(transport, context, round_number)
    if reply is None:
        raise ProtocolViolation(
            f"The server acknowledged your report of round {round_number} and does not hold it any more: an older "
            "store was brought back, or it lies. Your ledger holds the receipt; tell the issuer, and send the same "
            "report again with `va-edge-ldp campaign answer`."
        )
    checked_receipt(reply, context, round_number, upload, key)


def signature_in(reply: Reply, header: str, sizes: Container[int] = (SIGNATURE,)) -> bytes:
    """A signature from a reply's header; nothing where there is none that could be one.

    A receipt's is of several sizes: what shows that it is under what was signed comes with it.
    """
    text = reply.headers.get(header, "")
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return b""
    return found if len(found) in sizes else b""


# ── statements of closed rounds ──


def see_statement(
    transport: Transport, ledger: Ledger, context: ParticipantContext, key: str, state: RoundState
) -> Statement:
    """The server's statement of a closed round: signed, kept, and the same as ever and as the round's state."""
    reply = transport.get(f"/v1/rounds/{state.round}/statement", LARGEST)
    signed = SignedStatement(reply.body, signature_in(reply, "statement-signature"))
    statement = signed.opened(key)
    with ledger.writing() as page:
        before = kept_statements(page, context, state.round)
        earlier = kept_statements(page, context, state.round - 1)
        if signed not in before:
            page.append(Entry(_STATEMENT, "", upload_key(context, state.round), content=signed.signature + signed.data))
    for other in before:
        refuse_changed(other.opened(key), statement, "it said before", "now")
    _refuse_misstated(context, state, statement, reply.headers.get("transcript-salt", ""))
    if earlier and statement.before != earlier[-1].opened(key).digest:
        raise ProtocolViolation(
            f"The server's statement of round {state.round} names another round before it than the one that you saw. "
            "Tell the issuer."
        )
    return statement


def keep_stated(transport: Transport, ledger: Ledger, context: ParticipantContext, closed: RoundState) -> None:
    """Keep what the server states of the first round: it binds the transcript that is answered about.  [WITNESS.3]"""
    with ledger.reading() as page:
        log = kept_log(page, context.charter)
    # Whoever enrolled with an older program has not seen a log yet.
    key = server_in(log or see_log(transport, ledger, context.charter), context.charter)
    if key:
        see_statement(transport, ledger, context, key, closed)


def kept_statements(page: Page, context: ParticipantContext, round_number: int) -> list[SignedStatement]:
    """All statements of a round that were ever seen, the first one first."""
    found = [entry.content for entry in page.entries(_STATEMENT, key=upload_key(context, round_number))]
    return [SignedStatement(each[SIGNATURE:], each[:SIGNATURE]) for each in found]


def difference_in(one: Statement, other: Statement) -> str:
    """The first field in which two statements differ, and what it is in each; empty where they are equal."""
    names = ("campaign", "round", "root", "transcript", "count", "before", "opened", "closed", "consents")
    name = next((each for each in names if getattr(one, each) != getattr(other, each)), "")
    return name and f"{name} {_shown(getattr(one, name))} / {_shown(getattr(other, name))}"


def _shown(value: object) -> str:
    return str(value)[:16] or "none"


def refuse_changed(one: Statement, other: Statement, first: str, second: str) -> None:
    """Refuses two statements of one round that differ: one of them is a lie, and both are signed."""
    difference = difference_in(one, other)
    if difference:
        raise ProtocolViolation(
            f"The server states two things of round {one.round} ({first} / {second}): {difference}. It signed both, "
            "which proves to everybody that it lies. Do not answer; tell the issuer and others."
        )


def _refuse_misstated(context: ParticipantContext, state: RoundState, statement: Statement, salt: str) -> None:
    consents = "" if context.consents is None else context.consents.digest
    said = (statement.campaign, statement.round, statement.root, statement.consents)
    seal = sealed(state.transcript, bytes.fromhex(salt)) if is_fingerprint(salt) and state.transcript else ""
    opens = not state.transcript or seal == statement.transcript
    if said != (context.charter.identity, state.round, state.root, consents) or not opens:
        what = "root or transcript" if statement.consents == consents else "list of who consented"
        raise ProtocolViolation(
            f"The server's statement of round {state.round} is about another {what} than the one that it shows you. "
            "Your ledger keeps the statement; do not answer, and tell the issuer."
        )


def refuse_reopened(page: Page, context: ParticipantContext, key: str, state: RoundState) -> None:
    """Refuses a round that the server has stated to be closed, and calls something else now."""
    before = kept_statements(page, context, state.round)
    if before and state.state not in FROZEN:
        raise ProtocolViolation(
            f"The server calls round {state.round} {state.state}, though it signed that it was closed on "
            f"{date(before[0].opened(key).closed)}: an older store was brought back, or it lies. Tell the issuer."
        )
