"""Runs of the real clients of POSITION and USER: what they would send, encoded to bytes and read back.

A *shipment* is many independent pairs of neighbouring worlds at once. Each world is a few users of its own, and one
position in it, the changed one, has the bit that it is told; nothing else joins the worlds. So one call of a client
that answers for many positions or users gives many independent transcripts. What a client keeps (its purse, its
stored answers) is used as it would be in the field, and its purse holds the claim and nothing more.  [SHOWN.5]
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, product
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import fresh_coins
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Bill, Guarantee, Number, OneEdge, Release
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import SameClass
from visibility_aware_edge_ldp.public.surveys import position as position_wire
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramSurvey, histogram_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, decode_rows, encode_rows, triangle_survey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Bits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Columns = npt.NDArray[np.signedinteger[Any]]
"""(runs, columns): what was sent in each run, as integers."""
RandomBytesOf = Callable[..., RandomBytes]
"""From a seed and labels (who is asked, what, when) to the coins of that answer."""
PRIVATE = Visibility.PRIVATE
KINDS = NON_PUBLIC[::-1]
WIDTH = 8
# What two surveys ask for together.
TWO = Fraction(5, 4)
WORLDS_AT_ONCE = 1 << 17
# Rows grow with the roster, so small rosters are cheaper a world; the table of the reach's noise pays from 500 users.
ROW_WORLDS_AT_ONCE = 168


class Priced(Protocol):
    """A survey, and what it costs."""

    @property
    def releases(self) -> tuple[Release, ...]: ...


class Shipment(Protocol):
    """Many worlds of which each has one position that may hold an edge."""

    @property
    def kind(self) -> Visibility:
        """The class of that position."""

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        """What its bit loses by everything that is sent, as it is billed."""

    def send(self, edges: Bits, seed: str) -> Columns:
        """For each world, given whether the edge is there, what was sent: (worlds, columns)."""


@lru_cache(maxsize=4)
def same_class(kind: Visibility, nodes: int, groups: bool = False) -> PublicView:
    """What everybody knows where every position has this class: the roster, and who is odd and even, if in groups."""
    parity = Groups("parity", ("even", "odd"), np.arange(nodes) % 2) if groups else None
    return PublicView(range(nodes), VisibilityPolicy.of(SameClass(kind)), np.empty((0, 2), np.int32), parity)


def billed(surveys: Sequence[Priced], kind: Visibility, epsilon: Fraction, public: PublicView) -> Guarantee[OneEdge]:
    """What the surveys cost an edge of this class; one that is asked again is paid once.

    It must be what was asked for: this epsilon per PRIVATE edge, as often as the policy lets the class lose it.
    """
    price = Bill(release for survey in surveys for release in survey.releases)[kind]
    asked = epsilon * public.policy.multipliers.of(kind)
    if price.epsilon != asked:
        raise ProtocolViolation(f"The bill is ε = {price.epsilon} per {kind} edge where {asked} was asked for.")
    return price


def purse_for(surveys: Sequence[Priced], lists: int = 1) -> Purse:
    """Enough for these surveys and nothing more; where an edge stands in several lists, each pays its part."""
    bill = Bill(release for survey in surveys for release in survey.releases)
    cap = {kind: bill[kind].epsilon / lists for kind in NON_PUBLIC if kind in bill}
    return Purse(cap, max(bill[kind].delta for kind in cap))


def in_batches(send: Callable[[Bits, str], Columns], edges: Bits, most: int, seed: str) -> Columns:
    """What is sent where so many worlds at most are sent at a time, each batch with a seed of its own."""
    starts = range(0, edges.size, most)
    parts = (send(edges[start : start + most], f"{seed} batch {start}") for start in starts)
    first = next(parts)
    # Filled as parts come: joining them at the end would take twice the room.
    sent = np.empty((edges.size, first.shape[1]), first.dtype)
    for start, part in zip(starts, chain([first], parts), strict=True):
        sent[start : start + most] = part
    return sent


@dataclass(frozen=True)
class Positions:
    """POSITION: in each world some users hold ``width`` positions each; one bit of the last user's may be set.

    ``surveys`` are asked one after the other, for ``epsilon`` per PRIVATE edge together, and every round so many
    ``times``: all answers count as sent. ``client`` and ``coins`` are the code under audit.
    """

    kind: Visibility
    surveys: Callable[[PublicView], Sequence[PositionSurvey]]
    users: int = 1
    width: int = 1
    changed: int = 0
    times: int = 1
    client: type[PositionClient] = PositionClient
    coins: RandomBytesOf = fresh_coins
    epsilon: Fraction = Fraction(1)

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public = same_class(self.kind, 2)
        return billed(self.surveys(public), self.kind, self.epsilon, public)

    def send(self, edges: Bits, seed: str) -> Columns:
        """One column for each answer of each position of the users."""
        each = edges.size * self.width
        # The fewest nodes that have so many positions.
        public = same_class(self.kind, (3 + math.isqrt(8 * each * self.users - 7)) // 2)
        surveys, columns = self.surveys(public), []
        for user in range(self.users):
            bits = np.zeros((edges.size, self.width), np.bool_)
            if user == self.users - 1:
                bits[:, self.changed] = edges
            client = self.client(PositionBits(user * each, bits.ravel()), public, purse_for(surveys))
            columns += self._answers(client, user, surveys, bits.shape, seed)
        return np.concatenate(columns, axis=1)

    def _answers(
        self, client: PositionClient, user: int, surveys: Sequence[PositionSurvey], shape: tuple[int, int], seed: str
    ) -> list[Columns]:
        sent = []
        rounds = ((s, r) for s, survey in enumerate(surveys) for r in range(1, survey.rounds + 1))
        for (s, r), t in product(rounds, range(self.times)):
            coins = self.coins(seed, f"user {user}", f"survey {s}", f"round {r}", f"time {t}")
            report = position_wire.decode(position_wire.encode(client.answer(surveys[s], r, coins)))
            sent.append(unpack(report.ones, report.count).view(np.int8).reshape(shape))
        return sent


Answer = Callable[[Any, RandomBytes], Columns]
"""From a survey and coins to (users, columns) that were read from the bytes of a report."""
Holders = Callable[[FriendLists, PublicView, Purse], Answer]


def degrees(lists: FriendLists, public: PublicView, purse: Purse, client: type[DegreeClient] = DegreeClient) -> Answer:
    """Holders of friend lists who report their noisy degrees."""
    holders = client(lists, public, purse)
    return lambda survey, coins: _read(holders.answer(survey, 1, coins)).T


def bins(lists: FriendLists, public: PublicView, purse: Purse, client: Callable[..., Any] = HistogramClient) -> Answer:
    """Holders of friend lists who tell the bin of their degree."""
    holders = client(lists, public, purse)
    return lambda survey, coins: _read(holders.answer(survey, 1, coins))[:, None]


def _read(report: Any) -> Columns:
    """The numbers of a report, read from its bytes."""
    return np.asarray(report.layout.decode(report.layout.encode(report)).values)


@dataclass(frozen=True)
class Pairs:
    """USER: in each world two users, perhaps friends, who both report on their lists; each in a group or not.

    ``holders`` is the code under audit, ``times`` how often each survey is asked, ``epsilon`` what all surveys
    together are asked for, per PRIVATE edge.
    """

    kind: Visibility
    surveys: Callable[[PublicView], Sequence[Any]]
    holders: Holders = degrees
    times: int = 1
    epsilon: Fraction = Fraction(1)
    groups: bool = False

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public = self.public(4)
        return billed(self.surveys(public), self.kind, self.epsilon, public)

    def public(self, nodes: int) -> PublicView:
        """What everybody knows of so many users."""
        return same_class(self.kind, nodes, self.groups)

    def send(self, edges: Bits, seed: str) -> Columns:
        """The columns of both users' reports."""
        return in_batches(self._batch, edges, WORLDS_AT_ONCE, seed)

    def _batch(self, edges: Bits, seed: str) -> Columns:
        public = self.public(2 * edges.size)
        surveys, friends = self.surveys(public), np.repeat(edges, 2)
        partners = (np.flatnonzero(friends) ^ 1).astype(np.int32)
        lists = FriendLists(0, np.concatenate([[0], np.cumsum(friends)]), partners)
        answer = self.holders(lists, public, purse_for(surveys, lists=2))
        asked = [(s, t) for s in range(len(surveys)) for t in range(self.times)]
        sent = [answer(surveys[s], fresh_coins(seed, f"survey {s}", f"time {t}")) for s, t in asked]
        return np.concatenate([columns.reshape(edges.size, -1) for columns in sent], axis=1)


@dataclass(frozen=True)
class Rows:
    """USER triangles, both rounds: in each world users a, b, c; a and c are friends, a and b perhaps.

    Positions between worlds are public and empty. If b and c answered 1, a's sum tells whether a has both.
    """

    kind: Visibility
    epsilon: Fraction = Fraction(1)
    client: type[TwoRoundClient] = TwoRoundClient

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public, survey = _row_survey(self.kind, self.epsilon, 1)
        return billed([survey], self.kind, self.epsilon, public)

    def send(self, edges: Bits, seed: str) -> Columns:
        """What a and b answered for {a, b} and {b, c}, and a's reach and sum."""
        return in_batches(self._batch, edges, ROW_WORLDS_AT_ONCE, seed)

    def _batch(self, edges: Bits, seed: str) -> Columns:
        public, survey = _row_survey(self.kind, self.epsilon, edges.size)
        users = self.client(_lists(edges), public, purse_for([survey]))
        first = position_wire.decode(position_wire.encode(users.answer(survey, 1, fresh_coins(seed, "answers"))))
        said, ones = (np.frombuffer(packed, np.uint8) for packed in (first.answered, first.ones))
        first_round = FirstRound(survey, public, Transcript(survey.first.identity, said, ones))
        second = decode_rows(encode_rows(users.total(survey, first_round, fresh_coins(seed, "sums"))))
        asked = unpack(first.ones, first.count)[unpack(first.answered, first.count)].reshape(-1, 3)
        return np.stack([asked[:, 0], asked[:, 2], second.reaches[::3], second.totals[::3]], axis=1)


@lru_cache(maxsize=8)
def _row_survey(kind: Visibility, epsilon: Fraction, worlds: int) -> tuple[PublicView, RowSurvey]:
    """What everybody knows of so many worlds of three, and what is asked."""
    table: dict[Hashable, dict[str, Hashable]] = {user: {"world": user // 3} for user in range(3 * worlds)}
    policy = VisibilityPolicy.from_attributes(table, [{"same": "world", "class": str(kind)}], "public")
    public = PublicView(range(3 * worlds), policy, np.empty((0, 2), np.int32))
    return public, triangle_survey(public, epsilon)


def _lists(edges: Bits) -> FriendLists:
    """The lists of a, b, c in every world: a has b perhaps and c; b perhaps a; c has a."""
    there = np.stack([edges, np.ones_like(edges), edges, np.ones_like(edges)], axis=1)
    friends = (3 * np.arange(edges.size)[:, None] + [1, 2, 0, 0]).astype(np.int32)
    lengths = np.stack([there[:, :2].sum(axis=1), there[:, 2], there[:, 3]], axis=1).ravel()
    return FriendLists(0, np.concatenate([[0], np.cumsum(lengths)]), friends[there])


# ── what is asked ──


def asked(make: Callable[..., Any], *epsilons: Number, **options: Any) -> Callable[[PublicView], list[Any]]:
    """Surveys of one kind, one at each of these epsilons, from the public view."""
    return lambda public: [make(public, epsilon, **options) for epsilon in epsilons]


HALF, MORE = Fraction(1, 2), Fraction(3, 4)
one_round = asked(position_survey, 1)
two_rounds = asked(position_survey, 1, rounds=2)
two_surveys = asked(position_survey, HALF, MORE)
one_degree = asked(degree_survey, 1)
one_grouped = asked(group_survey, 1)
two_degrees = asked(degree_survey, HALF, MORE)


def one_bin(public: PublicView) -> list[HistogramSurvey]:
    return [histogram_survey(public, HALF, (0, 1, 2, public.n))]


def eight_bits(make: Callable[..., Positions] = Positions) -> list[Shipment]:
    """A client that holds eight bits, each of which changes in a pair of worlds of its own."""
    return [make(PRIVATE, one_round, width=WIDTH, changed=bit) for bit in range(WIDTH)]
