"""What two people were shown, side by side: a file of statements and the issuer's log, and the first difference.

It holds nothing about whoever wrote it: no name, no receipt, no report.  [WITNESS.2, WITNESS.4]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.charter_log import LARGEST as LARGEST_LOG
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog, LoggedCharter
from visibility_aware_edge_ldp.campaign.http_client import Transport
from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER, load
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.statements import (
    going_on_if,
    kept_log,
    kept_statements,
    refuse_changed,
    signature_in,
)
from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, encode, write_over
from visibility_aware_edge_ldp.campaign.statements import LARGEST, SignedStatement, Statement, code
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

FORMAT = "va-edge-ldp shown 1"
_MOST = LARGEST_LOG + (1 << 16)
UNSIGNED = (
    "The campaign's server signs nothing: the campaign is older than signatures, or their key is hidden from you. "
    "Compare roots with others by eye."
)


@dataclass(frozen=True)
class Shown:
    """What somebody was shown of a campaign: the issuer's log, and each statement of the server that was ever seen.

    Making one from a file checks every signature.
    """

    campaign: str
    log: CharterLog
    signed: tuple[SignedStatement, ...] = field(default=(), repr=False)

    @property
    def entry(self) -> LoggedCharter:
        """The campaign's entry of the log, which names the server's key."""
        found = self.log.of(self.campaign)
        if found is None:
            raise ProtocolViolation("The issuer's log does not name the campaign that is to be compared.")
        return found

    @property
    def statements(self) -> list[Statement]:
        """The statements, by round; each is the server's."""
        found = sorted((each.opened(self.entry.server) for each in self.signed), key=lambda each: each.round)
        if any(each.campaign != self.campaign for each in found):
            raise ProtocolViolation("A statement is about another campaign than the file that holds it.")
        return found

    @property
    def codes(self) -> dict[int, str]:
        """The code of each round; of one that was stated twice, the last."""
        return {each.round: code(each.data) for each in self.statements}

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        listed: list[Content] = [
            {"statement": decode(each.data), "signature": each.signature.hex()} for each in self.signed
        ]
        head: dict[str, Content] = {"format": FORMAT, "campaign": self.campaign, "issuer": self.log.issuer}
        return encode({**head, "log": decode(self.log.data), "statements": listed})

    @classmethod
    def from_bytes(cls, data: bytes, issuer: str) -> Shown:
        """What a file says that somebody was shown, all of it signed by this issuer and by the campaign's server."""
        content = decode(data, _MOST)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ProtocolViolation("This is not a file that `campaign check --export` wrote.")
        if content.get("issuer") != issuer:
            raise BadInput("The file is about another issuer's campaigns than yours: compare the fingerprints first.")
        log = CharterLog.from_bytes(encode(content.get("log", "")), issuer)
        listed = content.get("statements")
        found = cls(str(content.get("campaign")), log, tuple(map(_read, listed if isinstance(listed, list) else ())))
        if found.data != data:
            raise ProtocolViolation("The file holds other fields than its version has.")
        found.statements  # noqa: B018 - refuses what the server did not sign
        return found


def _read(content: Content) -> SignedStatement:
    if not isinstance(content, dict) or not isinstance(content.get("signature"), str):
        raise ProtocolViolation("A file of statements holds each with its signature.")
    try:
        signature = bytes.fromhex(str(content["signature"]))
    except ValueError:
        signature = b""
    return SignedStatement(encode(content.get("statement", "")), signature)


def shown(home: Path, campaign: str | None = None) -> Shown | None:
    """What this participant's ledger says that it was shown; None where the server signs nothing."""
    context = load(home, campaign).context
    with Ledger(home / LEDGER).reading() as page:
        log = kept_log(page, context.charter)
        signed = [each for number in context.charter.numbers for each in kept_statements(page, context, number)]
    return None if log is None else Shown(context.charter.identity, log, tuple(signed))


def observed(transport: Transport, charter: Charter) -> Shown | None:
    """What a server shows to anybody, who need not be enrolled; None where it signs nothing."""
    log, signed = None, list[SignedStatement]()
    with going_on_if("not-found"):
        log = CharterLog.from_bytes(transport.get("/v1/log", LARGEST_LOG).body, charter.issuer)
    for number in charter.numbers if log is not None else ():
        with going_on_if("not-ready"):
            reply = transport.get(f"/v1/rounds/{number}/statement", LARGEST)
            signed.append(SignedStatement(reply.body, signature_in(reply, "statement-signature")))
    found = None if log is None else Shown(charter.identity, log, tuple(signed))
    if found is not None:
        found.statements  # noqa: B018 - refuses what the server did not sign
    return found


def export(own: Shown | None, path: Path) -> None:
    """Write what was shown to a file, for somebody else to compare with."""
    if own is None:
        raise BadInput(UNSIGNED)
    try:
        write_over(path, own.data)
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({error.strerror}).") from error


def compare(own: Shown | None, path: Path) -> str:
    """That both were shown the same, in a sentence; refuses with the first difference."""
    if own is None:
        raise BadInput(UNSIGNED)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}).") from error
    return compared(own, Shown.from_bytes(data, own.log.issuer))


def compared(own: Shown, other: Shown) -> str:
    """The same of two values: first the logs of charters, then the rounds."""
    _refuse_two_logs(own.log, other.log)
    if own.campaign != other.campaign:
        raise BadInput(
            f"The file is about the campaign {other.campaign[:12]} ({other.entry.epoch!r}), and yours is "
            f"{own.campaign[:12]} ({own.entry.epoch!r}). Both stand in one log, so that everybody can know of both; if "
            "they ask the same people, an edge pays in each."
        )
    theirs = {each.round: each for each in other.statements}
    common = [each for each in own.statements if each.round in theirs]
    for each in (*own.statements, *other.statements):
        if each.round in theirs:
            refuse_changed(each, theirs[each.round], "to you", "to the other")
    if not common:
        raise BadInput("One log; but no round was closed when both were shown something. Compare again when one is.")
    rounds = sorted({each.round for each in common})
    return (
        f"Both were shown the same: {' and '.join(f'round {number}' for number in rounds)}, code "
        f"{code(common[-1].data)}; and one log, of {_charters(max(len(own.log.entries), len(other.log.entries)))}."
    )


def _refuse_two_logs(own: CharterLog, other: CharterLog) -> None:
    difference = own.first_difference(other)
    if difference is not None:
        ours, theirs = difference
        raise ProtocolViolation(
            f"The issuer shows two logs: its charter number {ours.number} is {ours.campaign[:12]} about {ours.epoch!r} "
            f"to you, and {theirs.campaign[:12]} about {theirs.epoch!r} to the other. It signed both, so that an edge "
            "may pay twice and nobody sees it. Do not answer; show both files to everybody."
        )


def charters_line(own: Shown | None, charter: Charter) -> str:
    """What the issuer's log says of charters, in a sentence; that nothing is signed where there is none."""
    if own is None:
        return UNSIGNED
    about = len({entry.campaign for entry in own.log.about(charter.epoch)})
    return f"The issuer's log names {_charters(len(own.log.entries))}, {about} about {charter.epoch!r}."


def _charters(count: int) -> str:
    return f"{count:,} charter{'s' if count != 1 else ''}"
