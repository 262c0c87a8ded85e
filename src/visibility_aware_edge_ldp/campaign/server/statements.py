"""What this server states, with the campaign's key, of closed rounds; and who consented.  [WITNESS.1] [CONSENT.3]"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.server.sql import Store, transaction
from visibility_aware_edge_ldp.campaign.server.stages import NotReady, Stage, State
from visibility_aware_edge_ldp.campaign.statements import SALT, SignedStatement, Statement, code, sealed

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter
    from visibility_aware_edge_ldp.campaign.directory import ServedCampaign

_WORD = "INSERT INTO consents VALUES (?, ?) ON CONFLICT (participant) DO UPDATE SET consents = excluded.consents"
_WAITS = State.WAITING
_STATED = (State.CLOSED, State.ESTIMATED)


def new_seal(transcript: str) -> tuple[str, bytes]:
    """A transcript's digest as a statement names it, and the new salt of that; nothing of no transcript."""
    salt = os.urandom(SALT)
    return (sealed(transcript, salt), salt) if transcript else ("", b"")


def stated(served: ServedCampaign, stages: Mapping[int, Stage], number: int) -> Statement:
    """What is to be said of a closed round: the same whenever it is asked for, before and after reports are erased."""
    stage = stages[number]
    if stage.state not in _STATED:
        raise NotReady(f"Round {number} is not closed yet, so nothing is stated of it.")
    before = stated(served, stages, number - 1).digest if number > 1 else ""
    return Statement(
        campaign=served.charter.identity,
        round=number,
        root=stage.root,
        count=stage.included,
        transcript=stage.sealed,
        opened=stage.opened,
        closed=stage.closed,
        before=before,
        consents="" if served.consents is None else served.consents.digest,
    )


def signed(served: ServedCampaign, stages: Mapping[int, Stage], number: int) -> SignedStatement:
    """The same with the server's signature, which is the same whenever it is made."""
    return SignedStatement.of(stated(served, stages, number), served.campaign.key)


def stated_reply(
    served: ServedCampaign, stages: Mapping[int, Stage], number: int, erased: bool
) -> tuple[bytes, bytes, tuple[tuple[bytes, bytes], ...]]:
    """A statement as it is sent: its bytes, their media type, and headers with the signature and the seal's salt."""
    found, salt = signed(served, stages, number), stages[number].salt
    headers = [(b"statement-signature", found.signature.hex().encode())]
    if salt and not erased:
        headers.append((b"transcript-salt", salt.hex().encode()))
    return found.data, b"application/json", tuple(headers)


def codes(served: ServedCampaign, stages: Mapping[int, Stage]) -> dict[int, str]:
    """The short code of each closed round, as participants' programs print it; none where nothing is signed."""
    numbers = [number for number, stage in stages.items() if served.campaign.key and stage.state in _STATED]
    return {number: code(stated(served, stages, number).data) for number in numbers}


# ── who consents ──


@transaction
def held_back(store: Store) -> bytes | None:
    """The list that was frozen; before there is one, the first round waits for it."""
    rows = store.database.run("SELECT octets FROM consent_list")
    if not rows:
        store.database.run("UPDATE rounds SET state = ? WHERE round = 1 AND state = ?", str(_WAITS), str(State.OPEN))
    return bytes(rows[0][0]) if rows else None


@transaction
def say(store: Store, participant: int, consents: bool) -> None:
    """What one person says, the last time counting, until the list is frozen."""
    if store.database.run("SELECT octets FROM consent_list"):
        raise NotReady("The list of those who consent is frozen.")
    store.database.run(_WORD, participant, int(consents))


@transaction
def said(store: Store, participant: int) -> bool:
    """What one person said last; who said nothing does not consent."""
    return store.database.run("SELECT consents FROM consents WHERE participant = ?", participant) == [(1,)]


@transaction
def freeze_consents(store: Store, charter: Charter, at: int) -> bytes:
    """From now on the list stands, without those who withdrew, and the first round is open."""
    kept = held_back(store)
    if kept is not None:
        return kept
    rows = store.database.run("SELECT participant FROM consents WHERE consents = 1")
    data = Consents.of(charter, at, [number for (number,) in rows if number not in store.withdrawn]).data
    store.database.run("INSERT INTO consent_list VALUES (1, ?)", data)
    store.database.run("UPDATE rounds SET state = ? WHERE round = 1", str(State.OPEN))
    store.begin(at)
    return data
