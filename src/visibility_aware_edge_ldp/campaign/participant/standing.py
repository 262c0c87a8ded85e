"""How things stand on the participant's side: what was answered, and what that has cost.  [LEDGER.2]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from visibility_aware_edge_ldp.campaign.participant import enrolment as enrolments
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_of
from visibility_aware_edge_ldp.campaign.participant.answering import standing, upload_key
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger, Page
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.public.visibility import Visibility

LEDGER = "ledger.db"


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


def status(home: Path) -> list[Status]:
    """All campaigns that are enrolled here and that this version reads; asks nobody."""
    ledger, unread = Ledger(home / LEDGER), of_other_versions(home)
    with ledger.reading() as page:
        known = [each for each in enrolments.enrolled(home) if each not in unread]
        return [_status(page, enrolments.load(home, each).seat) for each in known]


def of_other_versions(home: Path) -> list[str]:
    """The identities of campaigns that are enrolled here and that another version reads."""
    return [each for each in enrolments.enrolled(home) if _is_of_another_version(home, each)]


def _is_of_another_version(home: Path, campaign: str) -> bool:
    try:
        enrolments.load(home, campaign)
    except enrolments.OtherVersion:
        return True
    return False


def _status(page: Page, seat: Seat) -> Status:
    rounds = range(1, len(seat.charter.rounds) + 1)
    answered, acknowledged = (
        tuple(number for number in rounds if page.one(kind, key=upload_key(seat, number)) is not None)
        for kind in ("upload", "receipt")
    )
    charter = seat.charter
    lost = standing(page, seat)
    return Status(
        charter.identity,
        charter.title,
        charter.epoch,
        charter.question,
        len(charter.rounds),
        tuple(number for number in rounds if seat.questions.asks(seat.number, number)),
        answered,
        acknowledged,
        lost,
        caps_of(page.one("caps") or b""),
    )
