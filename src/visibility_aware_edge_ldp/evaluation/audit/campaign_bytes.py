"""Bytes that the participant's program would send to campaigns: rows made by a real ledger, read as a server does.

Every position of a row is a world of its own: nothing joins positions but the ledger, whose law per position is what
is audited. Each upload comes from a new person, whose empty ledger is a copy of one that was made once; that a ledger
survives crashes is shown elsewhere (`tests/campaign/participant`).  [SHOWN.5, LEDGER.2]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from visibility_aware_edge_ldp.campaign.participant.accounts import Request
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friends import Friends
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import (
    Question,
    Reader,
    answered,
    as_it_is,
    first_round,
    forgets_all,
    new_ledger,
    seats,
)
from visibility_aware_edge_ldp.evaluation.audit.events import Columns
from visibility_aware_edge_ldp.evaluation.audit.exact_campaign import read
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import (
    Bits,
    CoinsOf,
    Shipment,
    fresh_coins,
    in_batches,
)
from visibility_aware_edge_ldp.evaluation.audit.statistical_audits import ALL, Pace, paced
from visibility_aware_edge_ldp.evaluation.audit.statistical_twins import same_for_all_surveys
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import SameClass
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE, FRIEND_VISIBLE = Visibility.PRIVATE, Visibility.FRIEND_VISIBLE
# A longer row holds more answers, and its roster takes longer to write into a ledger; this many are cheapest.
ROW = 20_000
LOW, HIGH = ("position", "1/2"), ("position", "1")
FEWER = Pace(4, "a twin is caught long before")


@dataclass(frozen=True)
class Campaigns:
    """Rows of people who hold nothing but edges, or none, and answer some campaigns one after the other.

    Parameters
    ----------
    kind
        The class of all positions.
    asked
        What the campaigns ask.
    reader, coins, seat
        The code under audit.
    """

    kind: Visibility
    asked: tuple[Question, ...]
    reader: Reader = as_it_is
    coins: CoinsOf = fresh_coins
    seat: type[Seat] = Seat

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        """What the dearest campaign costs, as its charter states it; it must be what was asked for."""
        own = _seats(self.kind, self.asked, 1)
        stated = max(seat.questions.losses[self.kind] for seat in own)
        dearest = max(Fraction(epsilon) for _, epsilon in self.asked) * own[0].view.policy.multiplier(self.kind)
        if not dearest - Fraction(1, 10**9) < stated <= dearest:
            raise ProtocolViolation(f"The charter states ε = {stated} where {dearest} was asked for.")
        return Guarantee(OneEdge, dearest)

    def send(self, edges: Bits, seed: str) -> Columns:
        """One column for each campaign."""
        return in_batches(self._person, edges, ROW, seed)

    def _person(self, edges: Bits, seed: str) -> Columns:
        """One person's row; the last person of all has as long a row as the others, and some of it is not used."""
        width = _width(edges.size)
        friends, columns = np.zeros(width + 1, np.bool_), []
        friends[1 : edges.size + 1] = edges
        with new_ledger() as ledger:
            for number, each in enumerate(_seats(self.kind, self.asked, width)):
                seat = _as(self.seat, each)
                coins = self.coins(seed, "person", f"campaign {number}")
                columns.append(read(seat, answered(ledger, Task(seat, 1), Friends(friends, ()), coins, self.reader)))
        return np.stack(columns, axis=1)[: edges.size].view(np.int8)


def _width(worlds: int) -> int:
    """How long a row is made for so many worlds: few rosters serve all."""
    return next((width for width in (100, 2000) if worlds <= width), ROW)


@lru_cache(maxsize=8)
def _seats(kind: Visibility, asked: tuple[Question, ...], width: int) -> tuple[Seat, ...]:
    return seats(range(width + 1), VisibilityPolicy.of(SameClass(kind)), asked)


def _as(kind: type[Seat], seat: Seat) -> Seat:
    return seat if kind is Seat else kind(seat.charter, seat.documents, seat.number)


class LouderSeat(Seat):
    """A broken twin: answers at 1.1 times the loss that the charter states."""

    def request(self, round_number: int) -> Request:
        honest, survey = super().request(round_number), first_round(self)
        losses = {kind: survey.mechanism(kind, round_number).epsilon for kind in honest.thresholds}
        louder = {kind: RandomizedResponse(Fraction(11, 10) * loss).threshold for kind, loss in losses.items()}
        return Request(honest.places, louder)


def audits(runs: int) -> tuple[Audit, ...]:
    """The audits with so many answers a side."""
    return (paced("campaign rows", [Campaigns(PRIVATE, (LOW, HIGH)), Campaigns(FRIEND_VISIBLE, (HIGH,))], runs, ALL),)


def twins(runs: int) -> tuple[Audit, ...]:
    """The twins; a quarter of the runs catches each of them."""
    cases: Sequence[tuple[str, str, Shipment]] = [
        (
            "campaign rows, ε × 1.1",
            "Rows are answered at 1.1 times the loss that the charter states.",
            Campaigns(PRIVATE, (HIGH,), seat=LouderSeat),
        ),
        (
            "campaign rows, re-asked edges",
            "A second campaign about the same edges is answered with new coins, as if it were the first.",
            Campaigns(PRIVATE, (LOW, HIGH), forgets_all),
        ),
        (
            "campaign rows, one uniform reused",
            "Two campaigns at different ε are answered with the same uniform numbers.",
            Campaigns(PRIVATE, (LOW, HIGH), forgets_all, same_for_all_surveys),
        ),
    ]
    return tuple(paced(name, [shipment], runs, FEWER, broken) for name, broken, shipment in cases)


AUDITS = audits(10**6)
TWINS = twins(10**6)
