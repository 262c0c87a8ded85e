"""What this server states, with the campaign's key, of closed rounds.  [WITNESS.1] [CONSENT.3]"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.campaign.server.stages import NotReady, Stage, State
from visibility_aware_edge_ldp.campaign.statements import SALT, SignedStatement, Statement, code, sealed

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.directory import ServedCampaign

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
