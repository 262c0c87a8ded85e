"""Whether what was answered from here is in the set that the server froze, and counted from.  [CHARTER.7]

What was sent is read from the own ledger, so that nothing is believed but the root; that is printed, to be compared
with the one that others see.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from visibility_aware_edge_ldp.campaign.participant import enrolment as enrolments
from visibility_aware_edge_ldp.campaign.participant.answering import upload_key
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.program import Surroundings
from visibility_aware_edge_ldp.campaign.participant.rounds import RoundState, is_proved, json_object, round_state
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.campaign.participant.standing import LEDGER
from visibility_aware_edge_ldp.campaign.participant.transport import Declined, Transport, checked_url
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

_FROZEN = ("closed", "estimated")
# Clocks differ, and closing takes a while.
_SLACK = 3_600


@dataclass(frozen=True)
class Checked:
    """One report that is in the frozen set: its digest, the set's root, and whether the answers name that root."""

    campaign: str
    round: int
    digest: str
    root: str
    answers: bool


def check(
    home: Path,
    campaign: str | None = None,
    url: str | None = None,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 - frozen
) -> list[Checked]:
    """Every round that was answered from here and is closed; refuses if a report is not in its set unchanged.

    Parameters
    ----------
    campaign
        The beginning of the campaign's identity, where several are enrolled.
    url
        Another address of the server than the one of the enrolment.
    """
    enrolment = enrolments.load(home, campaign)
    if url is not None:
        checked_url(url)
        enrolment = replace(enrolment, url=url)
    seat, server = enrolment.seat, surroundings.server(enrolment)
    uploads = _uploads(Ledger(home / LEDGER), seat)
    if not uploads:
        raise BadInput(f"Nothing was answered in {seat.charter.title!r} from here, so there is nothing to check.")
    states = {number: round_state(server, number) for number in uploads}
    frozen = {number: state for number, state in states.items() if state.state in _FROZEN}
    roots = _answered_roots(server)
    for number in states.keys() - frozen.keys():
        if roots is not None or time.time() > seat.charter.rounds[number - 1].closes + _SLACK:
            raise ProtocolViolation(
                f"The server calls round {number} {states[number].state}, though its time is over, so that your report "
                "cannot be found in it. Tell the issuer."
            )
    if not frozen:
        raise BadInput(f"Round {min(states)} is {states[min(states)].state}. Check again when it is closed.")
    return [_checked(server, seat, uploads[number], state, roots) for number, state in frozen.items()]


def _uploads(ledger: Ledger, seat: Seat) -> dict[int, bytes]:
    """What was sent, by round, and acknowledged: what never arrived was not promised to be counted."""
    found = {}
    with ledger.reading() as page:
        for number in range(1, len(seat.charter.rounds) + 1):
            key = upload_key(seat, number)
            upload = page.one("upload", key=key)
            if upload is not None and page.one("receipt", key=key) is not None:
                found[number] = upload
    return found


def _checked(server: Transport, seat: Seat, upload: bytes, state: RoundState, roots: dict[int, str] | None) -> Checked:
    if not _is_included(server, seat, upload, state):
        raise ProtocolViolation(
            f"Your report of round {state.round} is NOT in the frozen set as you sent it, though the server "
            "acknowledged it. Keep your ledger, which holds the receipt, and tell the issuer."
        )
    if roots is not None and roots.get(state.round) != state.root:
        raise ProtocolViolation(
            f"The answers were made from another set of round {state.round} than the one that your report is in. "
            "Tell the issuer."
        )
    return Checked(seat.charter.identity, state.round, sha256(upload).hexdigest(), state.root, roots is not None)


def _is_included(server: Transport, seat: Seat, upload: bytes, state: RoundState) -> bool:
    try:
        return is_proved(server, seat, upload, state)
    except Declined as declined:
        if declined.problem == "not-found":
            return False
        raise


def _answered_roots(server: Transport) -> dict[int, str] | None:
    """The roots of the sets that the answers name as theirs; none before there are any."""
    try:
        said = json_object(server.get("/v1/estimates").body)
    except Declined as declined:
        if declined.problem == "not-ready":
            return None
        raise
    rounds = said.get("rounds")
    if not isinstance(rounds, list) or not all(isinstance(each, dict) for each in rounds):
        raise ProtocolViolation("The server's answers do not name the rounds that they were made from.")
    return {number: str(each.get("root")) for number, each in enumerate(rounds, 1)}
