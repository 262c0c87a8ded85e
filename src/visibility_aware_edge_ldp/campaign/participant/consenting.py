"""Consenting, where a campaign asks only about people who both do; and the list that is answered by.  [CONSENT.1-3]

One's own words and every list that was shown are in the ledger: a server that adds somebody, or shows two lists, is
named by the program of whoever sees it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from visibility_aware_edge_ldp.campaign.charter import Charter, date
from visibility_aware_edge_ldp.campaign.consents import LARGEST_WORD, Consents, opened, word
from visibility_aware_edge_ldp.campaign.http_client import LARGEST, Transport
from visibility_aware_edge_ldp.campaign.participant import statements
from visibility_aware_edge_ldp.campaign.participant.accounts import CONSENTS, number
from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER, Enrolment, Surroundings, load
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, Page
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, Refused

_WORD = "consent"
_YES, _NO = b"1", b"0"


def consent(
    home: Path,
    agree: Callable[[list[str]], bool],
    campaign: str | None = None,
    yes: bool = True,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 - frozen
) -> Enrolment:
    """Say that one consents in a campaign, or does not any more; the last word before the list is frozen counts.

    ``agree`` is shown what may be asked and what it may cost; without its yes nothing is said.
    """
    enrolment, ledger = load(home, campaign), Ledger(home / LEDGER)
    charter, place = enrolment.charter, enrolment.context.number
    if not charter.consent:
        raise BadInput("This campaign asks for nobody's consent beforehand; answer it, or do not.")
    if not agree(consent_lines(enrolment.context, yes)):
        raise Refused("You declined. Nothing was said.")
    with ledger.writing() as page:
        page.refuse_retired()
        if yes:  # before it is sent: what the server then says of this person is no lie
            page.append(Entry(_WORD, charter.epoch, charter.identity, content=_YES))
    said = word(charter, place, yes)
    reply = surroundings.server(enrolment).put(f"/v1/consents/{place}", said)
    if reply.body != said or len(reply.body) > LARGEST_WORD:
        raise ProtocolViolation("The server does not repeat what you said. Say it again, and tell the issuer.")
    if not yes:  # after it was taken: until then the server may have the other word
        with ledger.writing() as page:
            page.append(Entry(_WORD, charter.epoch, charter.identity, content=_NO))
    return enrolment


def consent_lines(context: ParticipantContext, yes: bool = True) -> list[str]:
    """What is consented to, and what follows from it."""
    charter = context.charter
    most = ", ".join(f"{number(loss)} for a {kind} edge" for kind, loss in context.terms.losses.items())
    lines = [
        f"Campaign   {charter.title} ({charter.identity[:12]})",
        f"Issuer     {charter.issuer}",
        f"About      your friendships in the data epoch {charter.epoch!r}; you are {context.names[context.number]!r}",
        f"Asks       {context.question.formats[0].asks}",
    ]
    if not yes:
        return [*lines, "Then       nothing is asked about any position of yours, whoever would answer"]
    return [
        *lines,
        "Consent    of both: a position is asked about only if you and the other person consent",
        f"Costs      at most ε = {most}; what it is you are told before you answer",
        f"Until      {date(charter.consent)}, or until the campaign's operator ends it before: so long you may change "
        "your mind; then the list of those who consented is shown to everybody who has a token",
    ]


def agreed_context(server: Transport, ledger: Ledger, enrolment: Enrolment) -> ParticipantContext:
    """The context to answer in: where consent is asked for, by the list that the server has frozen, signed and shown.

    Refuses another list than the one that was shown before, and one that names this person without its word.
    """
    charter = enrolment.charter
    if not charter.consent:
        return enrolment.context
    with statements.going_on_if("not-ready"):
        consents = _seen(server, ledger, charter)
        with ledger.reading() as page:
            _refuse_added(page, charter, consents, enrolment.context.number)
        return replace(enrolment.context, consents=consents)
    raise Refused(
        f"Until {date(charter.consent)} people say whether they consent (va-edge-ldp campaign consent); the campaign "
        "asks afterwards, and only about two people who both did. Come again then."
    )


def kept_context(ledger: Ledger, enrolment: Enrolment) -> ParticipantContext:
    """The same by the list that was shown last, where one was; asks nobody."""
    with ledger.reading() as page:
        kept = _kept(page, enrolment.charter)
    return enrolment.context if kept is None else replace(enrolment.context, consents=kept)


def _seen(server: Transport, ledger: Ledger, charter: Charter) -> Consents:
    reply = server.get("/v1/consents", LARGEST, own=True)
    with ledger.reading() as page:
        log = statements.kept_log(page, charter)
    key = statements.server_in(log or statements.see_log(server, ledger, charter), charter)
    found = opened(charter, key, reply.body, statements.signature_in(reply, "consents-signature"))
    with ledger.writing() as page:
        before = _kept(page, charter)
        if before != found:
            page.append(Entry(CONSENTS, charter.epoch, charter.identity, content=found.data))
    if before is not None and before != found:
        raise ProtocolViolation(
            "The server shows another list of who consented than it did before, and signed both. Your ledger keeps "
            "them; do not answer, and tell the issuer and others."
        )
    return found


def _kept(page: Page, charter: Charter) -> Consents | None:
    """The first list that was shown."""
    found = page.entries(CONSENTS, charter.epoch, charter.identity)
    return Consents.from_bytes(charter, found[0].content) if found else None


def _refuse_added(page: Page, charter: Charter, consents: Consents, place: int) -> None:
    said = page.one(_WORD, charter.epoch, charter.identity) == _YES
    if place in consents.people and not said:
        raise ProtocolViolation(
            "The server's list says that you consented, and by your ledger you did not: others are asked about "
            "their friendship with you. Do not answer; your ledger keeps the signed list; tell the issuer and others."
        )
