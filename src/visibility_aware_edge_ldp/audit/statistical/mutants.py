"""Mutants: the real clients with one thing wrong, sent through the same audits, which must ring.  [SHOWN.2]

And bytes that the participant's program would send to campaigns: rows made by a real ledger, read as a server does.
Every position of a row is a world of its own: nothing joins positions but the ledger, whose law per position is what
is audited. Each upload comes from a new person, whose empty ledger is a copy of one that was made once; that a ledger
survives crashes is shown elsewhere (`tests/campaign/participant`).  [SHOWN.5, LEDGER.2]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness, findings
from visibility_aware_edge_ldp.audit.protocols import chain, hubs, mechanisms, neighbourhood_stage, position
from visibility_aware_edge_ldp.audit.statistical import shipped_lists
from visibility_aware_edge_ldp.audit.statistical.lower_bound import ALL, BITS, HUBS, Pace, paced
from visibility_aware_edge_ldp.audit.statistical.shipped_counts import Hubs, Owned
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import PRIVATE, Positions
from visibility_aware_edge_ldp.campaign.participant.accounts import Request
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.client.degrees import DegreeClient, class_counts
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import SameClass
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Client = TypeVar("Client", PositionClient, DegreeClient)
# Candidate triangles at one position; document 003 had about 50 at n = 300 and ε = 1.
TRIANGLES_AT_AN_EDGE = 5
# Which of a client's bits is not randomized.
BARE = 3
STAR = ((0, 3), (0, 1), (0, 2))
# A longer row holds more answers, and its roster takes longer to write into a ledger; this many are cheapest.
ROW = 20_000
LOW, HIGH = ("position", "1/2"), ("position", "1")
FEWER = Pace(4, "a twin is caught long before")
SlightlyOff = findings.replaced(
    PositionSurvey, mechanism=lambda survey, kind, number: mechanisms.LowThreshold(survey.round_price(kind, number))
)
"""Randomizes against a threshold that is 2 % too low."""


def _asked_by(kind: type[PositionSurvey], public: PublicView) -> Sequence[PositionSurvey]:
    return [findings.recast(kind, survey) for survey in shipped_lists.one_round(public)]


def _one_bare(client: PositionClient, report: PositionReport, *_: object) -> PositionReport:
    """Sends one bit in eight as it is."""
    ones = unpack(report.ones, report.count)
    ones[BARE :: shipped_lists.WIDTH] = client._view.bits[BARE :: shipped_lists.WIDTH]
    return replace(report, ones=pack(ones))


def _anew(kind: type[Client], anew: int) -> type[Client]:
    """A client that draws anew whenever it is asked for a round again, and pays once."""

    def answer(client: Any, survey: Any, number: int, coins: RandomBytes) -> Any:
        if number == anew and (survey.identity, number) in client._answers:
            return client.randomize(survey, number, coins, None)
        return kind.answer(client, survey, number, coins)

    return findings.replaced(kind, answer=answer)


OneBare = findings.altered(PositionClient, "randomize", _one_bare)
# Its second answer is drawn for every triangle that it is asked for.
AskedPerTriangle = _anew(PositionClient, 2)
Forgetful = _anew(DegreeClient, 1)


def same_for_all_users(seed: str, *labels: int | str) -> RandomBytes:
    """Random bytes that do not depend on who draws them."""
    return enumerate_randomness.fresh_coins(seed, *labels[1:])


def same_for_all_surveys(seed: str, *labels: int | str) -> RandomBytes:
    """Random bytes that do not depend on what was asked: one uniform number answers at several epsilons."""
    return enumerate_randomness.fresh_coins(seed, labels[0], *labels[2:])


def float_degrees(lists: FriendLists, public: PublicView, purse: Purse) -> shipped_lists.Answer:
    """Degrees with Laplace noise in double precision, sent as doubles."""

    def answer(survey: Any, coins: RandomBytes) -> shipped_lists.Columns:
        kind = survey.classes[0]
        counts = class_counts(lists, public, survey.classes)[0]
        noise = float_laplace(float(1 / survey.list_price(kind).epsilon), counts.size, coins)
        return low_bits(np.frombuffer((counts + noise).astype(">f8").tobytes(), ">f8").astype(np.float64))

    return answer


def float_laplace(scale: float, count: int, coins: RandomBytes) -> shipped_lists.Floats:
    """The inverse of the distribution function at uniform doubles of 53 bits, as libraries commonly do it."""
    uniform = (np.frombuffer(coins(8 * count), "<u8") >> np.uint64(11)).astype(np.float64) / 2.0**53
    uniform = np.maximum(uniform, 2.0**-53)
    upper = uniform >= 0.5
    return np.where(upper, -1.0, 1.0) * scale * np.log(np.where(upper, 2 - 2 * uniform, 2 * uniform))


def low_bits(values: shipped_lists.Floats) -> shipped_lists.Columns:
    """Two columns of a double: its whole part, and the exponent of the lowest bit that is set in it."""
    parts, exponents = np.frexp(values)
    digits = np.abs(np.ldexp(parts, 53)).astype(np.int64)
    lowest = np.log2(np.maximum(digits & -digits, 1)).astype(np.int64)
    return np.stack([np.floor(np.clip(values, -99, 99)).astype(np.int64), exponents - 53 + lowest], axis=1)


# ── campaigns ──


@dataclass(frozen=True)
class Campaigns:
    """Rows of people who hold nothing but edges, or none, and answer what some campaigns ask, one after the other.

    All positions have one class; ``reader``, ``coins`` and ``context`` are the code under audit.
    """

    kind: Visibility
    asked: tuple[chain.Question, ...]
    reader: chain.Reader = chain.as_it_is
    coins: shipped_lists.RandomBytesOf = enumerate_randomness.fresh_coins
    context: type[ParticipantContext] = ParticipantContext

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        """What the dearest campaign costs, as its charter states it; it must be what was asked for."""
        own = _contexts(self.kind, self.asked, 1)
        stated = max(context.terms.losses[self.kind] for context in own)
        dearest = max(Fraction(epsilon) for _, epsilon in self.asked) * own[0].view.policy.multiplier(self.kind)
        if not dearest - Fraction(1, 10**9) < stated <= dearest:
            raise ProtocolViolation(f"The charter states ε = {stated} where {dearest} was asked for.")
        return Guarantee(OneEdge, dearest)

    def send(self, edges: shipped_lists.Bits, seed: str) -> shipped_lists.Columns:
        """One column for each campaign."""
        return shipped_lists.in_batches(self._person, edges, ROW, seed)

    def _person(self, edges: shipped_lists.Bits, seed: str) -> shipped_lists.Columns:
        """One person's row; the last person of all has as long a row as the others, and some of it is not used."""
        # Few rosters serve all.
        width = next((width for width in (100, 2000) if edges.size <= width), ROW)
        friends, columns = np.zeros(width + 1, np.bool_), []
        friends[1 : edges.size + 1] = edges
        with chain.new_ledger() as ledger:
            for number, each in enumerate(_contexts(self.kind, self.asked, width)):
                context = self.context(each.charter, each.documents, each.number)
                coins = self.coins(seed, "person", f"campaign {number}")
                upload = chain.answered(ledger, Task(context, 1), Friends(friends, ()), coins, self.reader)
                columns.append(chain.read(context, upload))
        return np.stack(columns, axis=1)[: edges.size].view(np.int8)


@lru_cache(maxsize=8)
def _contexts(kind: Visibility, asked: tuple[chain.Question, ...], width: int) -> tuple[ParticipantContext, ...]:
    return chain.contexts(range(width + 1), VisibilityPolicy.of(SameClass(kind)), asked)


class LouderSeat(ParticipantContext):
    """A mutant: answers at 1.1 times the loss that the charter states."""

    def request(self, round_number: int) -> Request:
        honest, survey = super().request(round_number), chain.first_round(self)
        losses = {kind: survey.mechanism(kind, round_number).epsilon for kind in honest.thresholds}
        louder = {kind: RandomizedResponse(Fraction(11, 10) * loss).threshold for kind, loss in losses.items()}
        return Request(honest.places, louder)


def campaign_audits(runs: int) -> tuple[findings.Audit, ...]:
    """The audits of campaigns with so many answers a side."""
    asked = [Campaigns(PRIVATE, (LOW, HIGH)), Campaigns(Visibility.FRIEND_VISIBLE, (HIGH,))]
    return (paced("campaign rows", asked, runs, ALL),)


_ROWS: list[tuple[str, str, str, list[shipped_lists.Shipment], Pace]] = [
    (
        "epsilon × 1.1",
        "position, one round",
        "Randomized response is made for 1.1 times the loss that is billed.",
        [Positions(PRIVATE, partial(_asked_by, position.Louder))],
        ALL,
    ),
    (
        "threshold 2 % off",
        "position, one round",
        "Bits are flipped against a threshold that is 2 % too low.",
        [Positions(PRIVATE, partial(_asked_by, SlightlyOff))],
        ALL,
    ),
    (
        "one bit not randomized",
        "position, each of eight bits",
        "One of the eight bits of a client is sent as it is.",
        shipped_lists.eight_bits(partial(Positions, client=OneBare)),
        BITS,
    ),
    (
        "same coins for two users",
        "position, two users together",
        "Two users draw the same coins, so the known bit of one undoes the noise of the other.",
        [Positions(PRIVATE, shipped_lists.one_round, users=2, coins=same_for_all_users)],
        ALL,
    ),
    (
        "edge re-asked per triangle",
        "position, two rounds",
        "The second answer is drawn anew for every candidate triangle (document 003).",
        [Positions(PRIVATE, shipped_lists.two_rounds, times=TRIANGLES_AT_AN_EDGE, client=AskedPerTriangle)],
        ALL,
    ),
    (
        "asked twice, new noise",
        "user degrees, asked twice",
        "The same survey asked again is answered with new noise, and paid once.",
        [shipped_lists.Pairs(PRIVATE, shipped_lists.one_degree, partial(shipped_lists.degrees, client=Forgetful), 2)],
        ALL,
    ),
    (
        "noise scaled by own degree",
        "neighbourhood (a), clipped",
        "A user's noise is as wide as its own degree, which an edge changes (document 004).",
        [Owned(PRIVATE, epsilon=Fraction(1), drawn=STAR, client=neighbourhood_stage.OwnScale)],
        ALL,
    ),
    (
        "exact public hub",
        "neighbourhood (b), shared",
        "A public hub counts triangles among its friends without noise (document 004).",
        [Hubs(epsilon=Fraction(1), client=hubs.ExactHub)],
        HUBS,
    ),
    (
        "one uniform at two epsilons",
        "position, two surveys",
        "One uniform number answers two surveys; where the answers differ, the second is the bit.",
        [
            Positions(
                PRIVATE,
                shipped_lists.two_surveys,
                coins=same_for_all_surveys,
                epsilon=shipped_lists.TWO,
            )
        ],
        ALL,
    ),
    (
        "float Laplace",
        "user degrees",
        "Laplace noise in double precision: low bits that one count can have and the other cannot.",
        [shipped_lists.Pairs(PRIVATE, shipped_lists.one_degree, float_degrees)],
        ALL,
    ),
    (
        "campaign rows, ε × 1.1",
        "campaign rows",
        "Rows are answered at 1.1 times the loss that the charter states.",
        [Campaigns(PRIVATE, (HIGH,), context=LouderSeat)],
        FEWER,
    ),
    (
        "campaign rows, re-asked edges",
        "campaign rows",
        "A second campaign about the same edges is answered with new coins, as if it were the first.",
        [Campaigns(PRIVATE, (LOW, HIGH), chain.forgets_all)],
        FEWER,
    ),
    (
        "campaign rows, one uniform reused",
        "campaign rows",
        "Two campaigns at different ε are answered with the same uniform numbers.",
        [Campaigns(PRIVATE, (LOW, HIGH), chain.forgets_all, same_for_all_surveys)],
        FEWER,
    ),
]
"""Name, what it is a mutant of, what is broken, what is sent, and how many of the runs it takes."""


def mutants(runs: int) -> tuple[findings.Audit, ...]:
    """The mutants with so many runs a side; 10^6 catch each of them, and of campaigns' a quarter."""
    return tuple(paced(name, shipments, runs, pace, broken, of) for name, of, broken, shipments, pace in _ROWS)


MUTANTS = mutants(10**6)
