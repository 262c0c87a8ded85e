"""What a participant makes of a campaign's amendments: each is checked before anything follows from it.  [CHARTER.9]"""

import time
from contextlib import suppress

from visibility_aware_edge_ldp.campaign.amendments import LARGEST, WITHDRAWAL, Amended, Person
from visibility_aware_edge_ldp.campaign.charter import Charter, date
from visibility_aware_edge_ldp.campaign.http_client import Declined, Transport, json_object
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.signed_documents import is_fingerprint, token_hash
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused

KIND = "amended"
# Clocks differ, and closing takes a while: so many seconds after a deadline a round may still be called open.
SLACK = 3_600
_SMALL = 1 << 16


def amendments(server: Transport, charter: Charter) -> Amended:
    """All that the server shows, checked; a server that knows of none at all shows none."""
    try:
        shown = server.get("/v1/amendments", LARGEST).body
    except Declined as declined:
        if declined.status != 404:
            raise
        return Amended(charter)
    return Amended.from_bytes(charter, shown)


def known(server: Transport, ledger: Ledger, charter: Charter, token: str) -> Amended:
    """The amendments, if they go on from those that this ledger has seen and this is the ledger that they speak of."""
    found = amendments(server, charter)
    with ledger.reading() as page:
        seen = page.one(KIND, charter.epoch, charter.identity)
        taken = page.heads("retired")
    _refuse_fewer(found, seen)
    named = found.ledger_for(token_hash(token))
    if named and named not in taken:
        raise Refused(
            "Your token was given to you for another device, with the ledger that was handed over to it, and this is "
            "not that ledger. Answer from that device, or take its ledger over first."
        )
    said = f"{len(found.signed)} {found.head}".encode()
    if found.signed and said != seen:
        with ledger.writing() as page:
            page.append(Entry(KIND, charter.epoch, charter.identity, content=said))
    return found


def _refuse_fewer(found: Amended, seen: bytes | None) -> None:
    """What was shown once must still be there, unchanged."""
    if seen is None:
        return
    number, head = seen.decode().split()
    heads = [each.digest for each in found.amendments]
    if heads[int(number) - 1 : int(number)] != [head]:
        raise ProtocolViolation(
            f"The server does not show amendment {number} of the campaign any more, or shows another one. Tell the "
            "issuer; nothing was answered."
        )


def refuse_late(amended: Amended, number: int) -> None:
    """A round that is open after its deadline is answered only if the issuer has signed a later one."""
    closes = amended.rounds[number - 1].closes
    if time.time() > closes + SLACK:
        raise ProtocolViolation(
            f"The server calls round {number} open, though it closed {date(closes)} and the issuer has signed no later "
            "deadline. Nothing was answered. If your device's clock is wrong, set it right."
        )


def refuse_past(server: Transport, charter: Charter) -> None:
    """A campaign whose last deadline is over asks nothing more, unless the issuer has signed a later one."""
    if time.time() > charter.rounds[-1].closes + SLACK:
        closes = amendments(server, charter).rounds[-1].closes
        if time.time() > closes + SLACK:
            raise Refused(f"The campaign {charter.title!r} closed {date(closes)}; there is nothing to answer any more.")


def withdrew(server: Transport, context: ParticipantContext) -> bool:
    """Whether the issuer has signed that this participant withdrew, as the server can show with the salt."""
    signed = {each.number: each for each in amendments(server, context.charter).amendments}
    said: object = []
    with suppress(Declined):
        said = json_object(server.get(f"/v1/amendments/{context.number}", _SMALL, own=True).body).get("amendments")
    shown = {each.get("number"): each.get("salt") for each in said or () if isinstance(each, dict)}  # type: ignore[attr-defined]
    return any(
        each.kind == WITHDRAWAL
        and is_fingerprint(salt := shown.get(number))
        and Person(context.number, bytes.fromhex(str(salt))).hidden(context.charter.identity) == each.person
        for number, each in signed.items()
    )
