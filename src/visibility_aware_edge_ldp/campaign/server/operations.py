"""What the issuer amends and operators do: applied in one transaction each, and written into an append-only log.

The log is a chain: each line's ``head`` is SHA-256 of the head before it and of the line. So a line that was changed or
removed is seen by whoever kept a later head.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign.amendments import (
    DEADLINE,
    LARGEST_ONE,
    WITHDRAWAL,
    Amended,
    OutOfOrder,
    Person,
    SignedAmendment,
)
from visibility_aware_edge_ldp.campaign.consents import LARGEST_WORD, read_word, word
from visibility_aware_edge_ldp.campaign.server.messages import Refusal, Reply, Request, json_reply
from visibility_aware_edge_ldp.campaign.server.question_estimates import flagged_in
from visibility_aware_edge_ldp.campaign.server.rounds import Rounds
from visibility_aware_edge_ldp.campaign.server.stages import NotReady, State
from visibility_aware_edge_ldp.campaign.server.stores.consents import said, say
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store, change, transaction
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable, Writer
from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry
from visibility_aware_edge_ldp.campaign.server.telemetry import event
from visibility_aware_edge_ldp.campaign.signed_documents import Content, Credentials, encode
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

_START = bytes(32)
# Lines of the log that a server which starts again goes by.
ESTIMATE, STOP = "estimate", "stop the estimate"
_NOT_FROZEN = (State.WAITING, State.OPEN)


def line_head(before: bytes, number: int, made: int, what: str) -> bytes:
    """The head of one line of the log, after the head before it."""
    return hashlib.sha256(before + encode({"number": number, "made": made, "what": what})).digest()


def refuse_broken_log(lines: Any) -> list[dict[str, Any]]:
    """The lines of a log, if each follows from the one before it."""
    head = _START
    try:
        for place, each in enumerate(lines, 1):
            head = line_head(head, each["number"], each["made"], each["what"])
            if (each["number"], each["head"]) != (place, head.hex()):
                raise ProtocolViolation(f"Line {place} of the log does not follow from those before it.")
    except (LookupError, TypeError, BadInput) as error:
        raise ProtocolViolation("The server shows no log.") from error
    return list(lines)


@transaction
def log_of(store: Store) -> list[dict[str, Content]]:
    """All lines of the log, in order."""
    rows = store.database.run("SELECT number, made, what, octets FROM operations ORDER BY number")
    return [
        {"number": number, "made": made, "what": what, "head": bytes(head).hex()} for number, made, what, head in rows
    ]


@transaction
def note(store: Store, made: int, what: str) -> None:
    """One more line of the log."""
    store.database.enter(Entry.ALONE)
    rows = store.database.run("SELECT number, octets FROM operations ORDER BY number DESC LIMIT 1")
    number, before = rows[0] if rows else (0, _START)
    head = line_head(bytes(before), number + 1, made, what)
    store.database.run("INSERT INTO operations VALUES (?, ?, ?, ?)", number + 1, made, what, head)


@transaction
def amendments_of(store: Store) -> list[bytes]:
    """All amendments as they were handed in, in order."""
    rows = store.database.run("SELECT octets FROM amendments ORDER BY number")
    return [bytes(octets) for (octets,) in rows]


@change
def keep_amendment(store: Store, signed: SignedAmendment, made: int) -> dict[int, int]:
    """Keep an amendment and do what it says, both or nothing; of each round, how many reports it removed."""
    amendment, removed = signed.amendment, dict[int, int]()
    store.database.run("INSERT INTO amendments VALUES (?, ?)", amendment.number, signed.data)
    if amendment.kind == WITHDRAWAL and signed.person is not None:
        open_rounds = [stage.round for stage in store.stages() if stage.state in _NOT_FROZEN]
        for number in open_rounds:
            removed[number] = int(store.digest(number, signed.person.participant) is not None)
            for table in ("bodies", "uploads"):
                statement = f"DELETE FROM {table} WHERE round = ? AND participant = ?"  # noqa: S608 - named above
                store.database.run(statement, number, signed.person.participant)
    note(store, made, f"amendment {amendment.number} ({amendment.kind}) {amendment.digest}")
    return removed


@transaction
def last_asked(store: Store) -> int | None:
    """When answers were asked for that nobody has stopped since."""
    rows = store.database.run(
        "SELECT what, made FROM operations WHERE what IN (?, ?) ORDER BY number DESC LIMIT 1", ESTIMATE, STOP
    )
    return int(rows[0][1]) if rows and rows[0][0] == ESTIMATE else None


class Operations:
    """What is done in a campaign by others than participants; ``credentials`` are the tokens that hold now."""

    def __init__(self, rounds: Rounds, writer: Writer) -> None:
        self._rounds, self._writer = rounds, writer
        self.credentials = rounds.served.credentials

    async def start(self) -> None:
        """Read what was amended; every signature is checked again. Again after other processes' changes."""
        self._rounds.before_reading = self.start
        amended = Amended(self._rounds.charter)
        for data in await self._writer.do(amendments_of):
            amended = amended.after(SignedAmendment.from_bytes(data))
        self._hold(amended)
        await self._writer.do(lambda store: setattr(store, "withdrawn", amended.withdrawn))

    def _hold(self, amended: Amended) -> None:
        campaign = self._rounds.served.campaign
        tokens = [amended.tokens.get(number, each) for number, each in enumerate(campaign.participants)]
        self.credentials = Credentials.of(campaign.operator, tokens)
        self._rounds.amended = amended

    def admit_anybody(self, request: Request) -> None:
        """Any participant, or the operator."""
        if self.credentials.shown(request.headers.get(b"authorization")) is None:
            raise Refusal("unauthorized", headers=request.closing)

    def admit(self, request: Request, participant: int | None) -> None:
        """The participant itself, or the operator where none is named."""
        shown = self.credentials.shown(request.headers.get(b"authorization"))
        if shown is None:
            raise Refusal("unauthorized", headers=request.closing)
        is_operator, is_participant = self.credentials.is_operator, self.credentials.is_participant
        if not (is_operator(shown) if participant is None else is_participant(shown, participant)):
            raise Refusal("forbidden", headers=request.closing)

    def admits(self, headers: Mapping[bytes, bytes], participant: int) -> bool:
        """Whether it is that participant who asks, as far as this process knows."""
        shown = self.credentials.shown(headers.get(b"authorization"))
        return shown is not None and self.credentials.is_participant(shown, participant)

    async def note(self, what: str) -> None:
        """Write into the log what an operator is about to do; if that fails, it is not done."""
        made = int(self._rounds.clock())
        await self._writer.do(lambda store: note(store, made, what))

    async def log(self, request: Request) -> Reply:
        """The log, for the operator."""
        self.admit(request, None)
        return json_reply({"operations": await self._writer.do(log_of)})

    # ── amendments ──

    async def amendments(self, request: Request) -> Reply:
        """All of them, for everybody: they name nobody."""
        return Reply(200, self._rounds.amended.data)

    async def amend(self, request: Request) -> Reply:
        """Take one more from the operator, if the issuer signed it and it follows the last one."""
        self.admit(request, None)
        data = await request.body(request.checked_length(LARGEST_ONE))
        new = await asyncio.shield(asyncio.ensure_future(self._amended(data)))
        return Reply(201 if new else 200, self._rounds.amended.data)

    async def _amended(self, data: bytes) -> bool:
        """Whether an amendment is new; one that was taken, handed in again, changes nothing."""
        try:
            signed = SignedAmendment.from_bytes(data)
            async with self._rounds.turn:
                if self._is_kept(signed):
                    return False
                amended = self._rounds.amended.after(signed)
                self._refuse_unfit(signed)
                await self._apply(signed, amended)
        except NotReady as reason:
            raise Refusal("late", str(reason)) from reason
        except ProtocolViolation as reason:
            name = "out-of-order" if isinstance(reason, OutOfOrder) else "bad-amendment"
            raise Refusal(name, str(reason)) from reason
        return True

    def _is_kept(self, signed: SignedAmendment) -> bool:
        kept, number = self._rounds.amended.signed, signed.amendment.number
        return number <= len(kept) and kept[number - 1].data == signed.data

    async def _apply(self, signed: SignedAmendment, amended: Amended) -> None:
        made, amendment = int(self._rounds.clock()), signed.amendment

        def kept(store: Store) -> dict[int, int]:
            removed = keep_amendment(store, signed, made)
            store.withdrawn = amended.withdrawn  # before the next group: of this person, nothing that waits is stored
            return removed

        removed = await self._writer.do(kept)
        self._hold(amended)
        for number, reports in removed.items():
            self._rounds.received[number] -= reports
        if any(removed.values()):
            with suppress(StoreUnavailable):  # the row is gone; what of it is still in a log goes with the next one
                await self._writer.do(lambda store: store.database.erase())
        event("amended", number=amendment.number, kind=amendment.kind)

    def _refuse_unfit(self, signed: SignedAmendment) -> None:
        """What a server refuses beyond what everybody does: what comes too late, and wrong people or tokens."""
        amendment, rounds, campaign = signed.amendment, self._rounds, self._rounds.served.campaign
        if amendment.kind == DEADLINE:
            if not (rounds.takes(amendment.round) or rounds.stages[amendment.round].state is State.WAITING):
                raise NotReady(f"Round {amendment.round} takes no more reports; its deadline is not extended any more.")
            if amendment.closes <= rounds.clock():
                raise ProtocolViolation("The new deadline has gone by already.")
            return
        person = self._person(signed)
        if all(stage.state not in _NOT_FROZEN for stage in rounds.stages.values()):
            raise NotReady("All rounds are closed; nothing of a person is changed any more.")
        if person.participant in rounds.amended.withdrawn:
            raise ProtocolViolation("This person has withdrawn, and no more is changed for it.")
        if amendment.token in (campaign.operator, *campaign.participants):
            raise ProtocolViolation("The amendment gives somebody a token that was given before. Make another.")

    def _person(self, signed: SignedAmendment) -> Person:
        person, charter = signed.person, self._rounds.charter
        if person is None or person.participant >= charter.nodes:
            raise ProtocolViolation("The amendment is about one person of the roster; show the server whom.")
        if person.hidden(charter.identity) != signed.amendment.person:
            raise ProtocolViolation("The amendment was signed about somebody else than the person that is shown.")
        return person

    async def own_amendments(self, request: Request, participant: int) -> Reply:
        """Which amendments are about one person, with the salts that show it: for that person alone."""
        self.admit(request, participant)
        found = ((each.amendment.number, each.person) for each in self._rounds.amended.signed)
        own = [(number, person) for number, person in found if person and person.participant == participant]
        return json_reply({"amendments": [{"number": number, "salt": person.salt.hex()} for number, person in own]})

    # ── who consents ──

    async def consents(self, request: Request) -> Reply:
        """The frozen list, signed: for whoever has a token, as the roster is."""
        self.admit_anybody(request)
        served = self._rounds.served
        if served.consents is None:
            raise NotReady("The list of those who consent is not frozen yet.")
        signature = served.consents.signature(served.campaign.key).hex().encode()
        return Reply(200, served.consents.data, headers=((b"consents-signature", signature),))

    async def consent(self, request: Request, participant: int) -> Reply:
        """What a person said last, for that person alone."""
        self.admit(request, participant)
        given = await self._writer.do(lambda store: said(store, participant))
        return Reply(200, word(self._rounds.charter, participant, given))

    async def say_consent(self, request: Request, participant: int) -> Reply:
        """Keep what a person says; it may say something else until the list is frozen."""
        self.admit(request, participant)
        data = await request.body(request.checked_length(LARGEST_WORD))
        given = read_word(self._rounds.charter, participant, data)
        if participant in self._rounds.amended.withdrawn:
            raise Refusal("withdrawn")
        try:
            await self._writer.do(lambda store: say(store, participant, given))
        except NotReady as reason:
            raise Refusal("late", str(reason)) from reason
        return Reply(200, data)

    # ── who has not answered ──

    async def unanswered(self, request: Request, number: int) -> Reply:
        """Who is asked in a round, has not withdrawn, and has no report in it: numbers in the roster, and no more."""
        self.admit(request, None)
        rounds = self._rounds
        await self.note(f"who has not answered round {number}")
        if rounds.stages[number].state is State.WAITING:
            raise NotReady(f"Round {number} is not open yet, so nobody is asked.")
        leaves = await self._writer.do(lambda store: store.leaves(number))
        asked = np.flatnonzero(rounds.served.terms.asked(1)) if number == 1 else np.array(list(rounds.first_round))
        away = np.setdiff1d(asked, [participant for participant, _ in leaves])
        listed = [each for each in away.tolist() if each not in rounds.amended.withdrawn]
        return json_reply({"round": number, "unanswered": listed, "withdrawals": rounds.amended.withdrawals})

    # ── whose reports look implausible ──

    async def flagged(self, request: Request) -> Reply:
        """Whose reports hardly any honest participant sends: once all rounds are closed, while reports are kept."""
        self.admit(request, None)
        await self.note("whose reports are flagged")
        terms = self._rounds.served.terms
        found = await asyncio.shield(asyncio.ensure_future(self._writer.do(lambda store: flagged_in(store, terms))))
        return json_reply({"flagged": [each.as_dict() for each in found]})
