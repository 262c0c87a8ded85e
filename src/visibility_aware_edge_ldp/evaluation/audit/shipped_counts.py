"""Runs of the real clients that see more than their own list, and of the trusted centre, as bytes.

Shipments as in ``shipped_bytes``. Users who count the triangles they own answer for many small worlds in one call;
a hub answers for one world at a time, a new hub for each run, and the centre answers one question after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.hub import Hub
from visibility_aware_edge_ldp.client.neighbourhood import Neighbourhoods
from visibility_aware_edge_ldp.client.two_hop import Edges, TwoHop, two_hop
from visibility_aware_edge_ldp.client.user_degrees import ListHolders
from visibility_aware_edge_ldp.client.views import FriendLists, WholeGraph
from visibility_aware_edge_ldp.evaluation.audit.events import Columns, Ints
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import (
    Bits,
    Priced,
    billed,
    fresh_coins,
    in_batches,
    purse_for,
    same_class,
)
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public import degree_report
from visibility_aware_edge_ldp.public.curator_report import decode_answer, encode_answer
from visibility_aware_edge_ldp.public.curator_survey import CuratorSurvey, curator_survey
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.hub_report import decode_hub, encode_hub
from visibility_aware_edge_ldp.public.hub_survey import SHARED, HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.neighbourhood_report import decode_owned, encode_owned
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey, neighbourhood_survey
from visibility_aware_edge_ldp.public.owner_plan import (
    BELIEVED,
    CLIPPED,
    WEIGHTED,
    OwnerPlan,
    believed_plan,
    clipped_plan,
)
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

WORLDS_AT_ONCE = 1 << 16
TRIANGLE: tuple[tuple[int, int], ...] = ((0, 1), (0, 2), (1, 2))
STAR: tuple[tuple[int, int], ...] = ((0, 1), (0, 2), (0, 3))


@dataclass(frozen=True)
class Owned:
    """NEIGHBOURHOOD (a): in each world a few users with the same edges, the first of which may be missing.

    Parameters
    ----------
    kind
        The class of all positions.
    guard
        Of the plan. All but "clipped" buy their bounds by noisy degrees, which are sent too: both rounds together.
    epsilon
        The loss per PRIVATE edge by the counts, and again by the degrees where they are bought.
    delta
        Of believed bounds.
    drawn
        The edges of a world; users are numbered from 0.
    client
        The code under audit.
    """

    kind: Visibility
    guard: str = CLIPPED
    epsilon: Fraction = Fraction(1, 2)
    delta: Fraction = Fraction(0)
    drawn: tuple[tuple[int, int], ...] = TRIANGLE
    client: type[Neighbourhoods] = Neighbourhoods

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public = same_class(self.kind, 8)
        first = self._first(public)
        plan = self._plan(public, first, np.full(8, 2))
        surveys: list[Priced] = [*([first] if first else []), self._survey(public, plan)]
        return billed(surveys, self.kind, self.epsilon * len(surveys), public)

    def _first(self, public: PublicView) -> DegreeSurvey | None:
        return None if self.guard == CLIPPED else degree_survey(public, self.epsilon)

    def _survey(self, public: PublicView, plan: OwnerPlan) -> NeighbourhoodSurvey:
        return neighbourhood_survey(public, self.epsilon, plan)

    def _plan(self, public: PublicView, first: DegreeSurvey | None, noisy: Ints) -> OwnerPlan:
        """One that makes a user's bound from that user's report alone, so that worlds stay apart."""
        everybody = np.ones(public.n, np.bool_)
        if first is None:
            return clipped_plan(public.n, 2)
        if self.guard == BELIEVED:
            return believed_plan(first, noisy, everybody, self.delta)
        return OwnerPlan(WEIGHTED, np.clip(noisy, 2, public.n - 1), everybody, first)

    @property
    def size(self) -> int:
        """How many users a world has."""
        return 1 + max(map(max, self.drawn))

    def send(self, edges: Bits, seed: str) -> Columns:
        """Every user's noisy degree, where it is bought, and noisy count."""
        return in_batches(self._batch, edges, WORLDS_AT_ONCE, seed)

    def _batch(self, edges: Bits, seed: str) -> Columns:
        public, graph = same_class(self.kind, self.size * edges.size), self._graph(edges)
        first = self._first(public)
        noisy = _noisy_degrees(first, graph, public, seed) if first else np.empty(0, np.int64)
        survey = self._survey(public, self._plan(public, first, noisy))
        known = (first, noisy) if first else None
        users = self.client(TwoHop(0, graph, public.n), public, purse_for([survey]), known)
        counts = decode_owned(encode_owned(users.owned(survey, fresh_coins(seed, "counts")))).values
        sent = [noisy, counts] if first else [counts]
        return np.concatenate([numbers.reshape(edges.size, self.size) for numbers in sent], axis=1)

    def _graph(self, edges: Bits) -> Edges:
        there = np.ones((edges.size, len(self.drawn)), np.bool_)
        there[:, 0] = edges
        ends = self.size * np.arange(edges.size)[:, None, None] + np.array(self.drawn)
        graph: Edges = ends[there].astype(np.int32)
        return graph[np.lexsort((graph[:, 1], graph[:, 0]))]


def _noisy_degrees(survey: DegreeSurvey, graph: Edges, public: PublicView, seed: str) -> Ints:
    both = np.concatenate([graph, graph[:, ::-1]])
    owner, friend = both[np.lexsort((both[:, 1], both[:, 0]))].T
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=public.n))])
    holders = ListHolders(FriendLists(0, offsets, friend), public, purse_for([survey], lists=2))
    report = degree_report.decode(degree_report.encode(holders.degrees(survey, fresh_coins(seed, "degrees"))))
    values: Ints = report.values[0]
    return values


@dataclass(frozen=True)
class Hubs:
    """NEIGHBOURHOOD (b): a public hub with three friends, two edges among them and perhaps a third.

    ``shares`` is how positions are shared between hubs, ``client`` the code under audit.
    """

    kind: Visibility = Visibility.PRIVATE
    shares: str = SHARED
    epsilon: Fraction = Fraction(4)
    client: type[Hub] = Hub

    def _survey(self) -> tuple[PublicView, HubSurvey]:
        policy = VisibilityPolicy.from_types(
            {0: "hub"}, {("hub", "hub"): "public", ("hub", "other"): "public", ("other", "other"): self.kind}, "other"
        )
        public = PublicView(range(4), policy, np.array([[0, 1], [0, 2], [0, 3]], np.int32))
        return public, hub_survey(public, self.epsilon, self.shares)

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public, survey = self._survey()
        return billed([survey], self.kind, self.epsilon, public)

    def send(self, edges: Bits, seed: str) -> Columns:
        """The numbers of the hub's report."""
        public, survey = self._survey()
        graph = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], np.int32)
        views = [two_hop(4, graph[[0, 1, 2, 3, 4, *more]], 0) for more in ([], [5])]
        coins, sent = fresh_coins(seed, "hub"), []
        for edge in edges:
            hub = self.client(views[int(edge)], public, purse_for([survey]))
            sent.append(decode_hub(encode_hub(hub.answer(survey, coins))).values)
        return np.array(sent, np.int64)


@dataclass(frozen=True)
class Centres:
    """CURATOR: four users, whose first edge may be missing."""

    statistic: str
    kind: Visibility = Visibility.PRIVATE
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    client: type[Curator] = Curator
    drawn: tuple[tuple[int, int], ...] = TRIANGLE

    def _survey(self, questions: int) -> tuple[PublicView, CuratorSurvey]:
        public, asked = same_class(self.kind, 4), [self.statistic] * questions
        return public, curator_survey(public, [self.epsilon] * questions, self.delta, asked)

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public, survey = self._survey(1)
        return billed([survey], self.kind, self.epsilon, public)

    def send(self, edges: Bits, seed: str) -> Columns:
        """The answers; their marks are drawn apart from the graph."""
        sent = np.empty((edges.size, 1), np.int64)
        for edge in np.unique(edges):
            chosen = edges == edge
            sent[chosen, 0] = self._answers(self.drawn[0 if edge else 1 :], int(chosen.sum()), f"{seed} {edge}")
        return sent

    def _answers(self, graph: tuple[tuple[int, int], ...], questions: int, seed: str) -> list[int]:
        """One centre, asked so often: every question is a release of its own, with coins of its own."""
        public, survey = self._survey(questions)
        centre = self.client(WholeGraph(4, np.array(graph, np.int32)), public, purse_for([survey]))
        coins = fresh_coins(seed, "centre")
        sent = (encode_answer(centre.answer(survey, index, coins)) for index in range(questions))
        return [decode_answer(answer).value for answer in sent]
