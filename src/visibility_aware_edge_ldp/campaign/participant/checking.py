"""Whether what was answered from here is in the set that the server froze, and counted from.  [CHARTER.7]

What was sent is read from the own ledger, so that nothing is believed but the root; that is printed, to be compared
with the one that others see.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign.canonical import shortened
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.participant import enrolment as enrolments
from visibility_aware_edge_ldp.campaign.participant.answering import upload_key
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.program import Surroundings
from visibility_aware_edge_ldp.campaign.participant.rounds import RoundState, json_object, proved_among, round_state
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.campaign.participant.standing import LEDGER
from visibility_aware_edge_ldp.campaign.participant.transport import Declined, Transport
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

ANSWERS_FORMAT = "va-edge-ldp estimates 2"
INCLUDED, NOT_CLOSED, UNACKNOWLEDGED, LEFT_OUT = "included", "not closed yet", "not acknowledged", "not counted"
_FROZEN = ("closed", "estimated")
# Clocks differ, and closing takes a while.
_SLACK = 3_600
# What answers may hold, in octets: words, numbers for each statistic, and a few for each participant.
_WORDS, _EACH_STATISTIC, _EACH_PARTICIPANT = 1 << 20, 1 << 10, 1 << 8
Sets = Mapping[int, tuple[object, object]]  # of each round, the root and how many answered


@dataclass(frozen=True)
class Checked:
    """How a report stands: where it is included, in the set of this root, as one of so many, and whether the answers
    name that set."""

    campaign: str
    round: int
    digest: str
    standing: str
    root: str = ""
    count: int = 0
    answers: bool = False


@dataclass(frozen=True)
class _Sent:
    round: int
    upload: bytes = field(repr=False)
    acknowledged: bool


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
    enrolment = enrolments.load(home, campaign)
    seat, server = enrolment.seat, surroundings.server(enrolment)
    sent = _sent(Ledger(home / LEDGER), seat)
    if not sent:
        raise BadInput(f"Nothing was answered in {seat.charter.title!r} from here, so there is nothing to check.")
    states = [round_state(server, each.round) for each in sent]
    sets = _answered_sets(server, seat.charter)
    for state in states:
        _refuse_overdue(seat.charter, state, sets)
    return [_checked(server, seat, each, state, sets) for each, state in zip(sent, states, strict=True)]


def _sent(ledger: Ledger, seat: Seat) -> list[_Sent]:
    """What was answered, round by round, and whether the server has ever said that it has it."""
    found = []
    with ledger.reading() as page:
        for number in range(1, len(seat.charter.rounds) + 1):
            key = upload_key(seat, number)
            upload = page.one("upload", key=key)
            if upload is not None:
                found.append(_Sent(number, upload, page.one("receipt", key=key) is not None))
    return found


def _refuse_overdue(charter: Charter, state: RoundState, sets: Sets | None) -> None:
    late = sets is not None or time.time() > charter.rounds[state.round - 1].closes + _SLACK
    if late and state.state not in _FROZEN:
        raise ProtocolViolation(
            f"The server calls round {state.round} {state.state}, though its time is over, so that your report "
            "cannot be found in it. Tell the issuer."
        )


def _checked(server: Transport, seat: Seat, sent: _Sent, state: RoundState, sets: Sets | None) -> Checked:
    standing = NOT_CLOSED if sent.acknowledged else UNACKNOWLEDGED
    found = Checked(seat.charter.identity, sent.round, sha256(sent.upload).hexdigest(), standing)
    if state.state not in _FROZEN:
        return found
    count = _included_among(server, seat, sent.upload, state)
    if not count and sent.acknowledged:
        raise ProtocolViolation(
            f"Your report of round {state.round} is NOT in the frozen set as you sent it, though the server "
            "acknowledged it. Keep your ledger, which holds the receipt, and tell the issuer."
        )
    if not count:
        return replace(found, standing=LEFT_OUT)
    if sets is not None and sets.get(state.round) != (state.root, count):
        raise ProtocolViolation(
            f"The answers name another set of round {state.round} than the one that your report is in. Tell the issuer."
        )
    return replace(found, standing=INCLUDED, root=state.root, count=count, answers=sets is not None)


def _included_among(server: Transport, seat: Seat, upload: bytes, state: RoundState) -> int:
    """Of how many reports it is one; 0 where it is none of them."""
    try:
        return proved_among(server, seat, upload, state)
    except Declined as declined:
        if declined.problem == "not-found":
            return 0
        raise


def _answered_sets(server: Transport, charter: Charter) -> Sets | None:
    """The sets that the answers name as those that they were made from; none before there are any."""
    most = _WORDS + _EACH_STATISTIC * len(charter.statistics) + _EACH_PARTICIPANT * charter.nodes
    try:
        said = answers_in(server.get("/v1/estimates", most).body, charter)
    except Declined as declined:
        if declined.problem == "not-ready":
            return None
        raise
    rounds = said.get("rounds")
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
