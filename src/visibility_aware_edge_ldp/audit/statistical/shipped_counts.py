"""Runs of the real clients that see more than their own list, and of the trusted centre, as bytes.

Shipments as in ``shipped_lists``. Users who count the triangles they own answer for many small worlds in one call;
a hub answers for one world at a time, a new hub for each run, and the centre answers one question after another.

Mechanisms by themselves are drawn many times too: one number, which an edge moves as far as its promise allows. They
show that the samplers draw what their laws say where no client stands between them and the audit.  [SHOWN.2]
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import fresh_coins
from visibility_aware_edge_ldp.audit.protocols.mechanisms import WorstPair
from visibility_aware_edge_ldp.audit.statistical import shipped_lists
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import Columns, Ints
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.views import Edges, FriendLists, TwoHop, WholeGraph, two_hop
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, sample_each
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import degrees as degree_wire
from visibility_aware_edge_ldp.public.surveys import neighbourhood
from visibility_aware_edge_ldp.public.surveys.curator import CuratorSurvey, curator_survey, decode_answer, encode_answer
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.hubs import SHARED, HubSurvey, decode_hub, encode_hub, hub_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

WORLDS_AT_ONCE = 1 << 16
TRIANGLE: tuple[tuple[int, int], ...] = ((0, 1), (0, 2), (1, 2))
STAR: tuple[tuple[int, int], ...] = ((0, 1), (0, 2), (0, 3))
Draw = Callable[[shipped_lists.Bits, RandomBytes], Ints]
WEIGHTS = {Visibility.PRIVATE: 1, Visibility.FRIEND_VISIBLE: 2}
"""By how many units of the bound an edge of each class moves a number."""
SENSITIVITY, BINS, BOUND = 3, 4, 2


@dataclass(frozen=True)
class Owned:
    """NEIGHBOURHOOD (a): in each world a few users with the same edges, the first of which may not be there.

    All guards but "clipped" buy their bounds by noisy degrees, which are sent too: both rounds together, each for
    ``epsilon`` per PRIVATE edge. ``drawn`` are the edges of a world, whose users are numbered from 0; ``delta`` is that
    of believed bounds, ``client`` the code under audit.
    """

    kind: Visibility
    guard: str = neighbourhood.CLIPPED
    epsilon: Fraction = Fraction(1, 2)
    delta: Fraction = Fraction(0)
    drawn: tuple[tuple[int, int], ...] = TRIANGLE
    client: type[NeighbourhoodClient] = NeighbourhoodClient

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public = shipped_lists.same_class(self.kind, 8)
        first = self._first(public)
        plan = self._plan(public, first, np.full(8, 2))
        surveys: list[shipped_lists.Priced] = [
            *([first] if first else []),
            neighbourhood.neighbourhood_survey(public, self.epsilon, plan),
        ]
        return shipped_lists.billed(surveys, self.kind, self.epsilon * len(surveys), public)

    def _first(self, public: PublicView) -> DegreeSurvey | None:
        return None if self.guard == neighbourhood.CLIPPED else degree_survey(public, self.epsilon)

    def _plan(self, public: PublicView, first: DegreeSurvey | None, noisy: Ints) -> neighbourhood.OwnerPlan:
        """One that makes a user's bound from that user's report alone, so that worlds stay apart."""
        everybody = np.ones(public.n, np.bool_)
        if first is None:
            return neighbourhood.clipped_plan(public.n, 2)
        if self.guard == neighbourhood.BELIEVED:
            return neighbourhood.believed_plan(first, noisy, everybody, self.delta)
        return neighbourhood.OwnerPlan(neighbourhood.WEIGHTED, np.clip(noisy, 2, public.n - 1), everybody, first)

    @property
    def size(self) -> int:
        """How many users a world has."""
        return 1 + max(map(max, self.drawn))

    def send(self, edges: shipped_lists.Bits, seed: str) -> Columns:
        """Every user's noisy degree, where it is bought, and noisy count."""
        return shipped_lists.in_batches(self._batch, edges, WORLDS_AT_ONCE, seed)

    def _batch(self, edges: shipped_lists.Bits, seed: str) -> Columns:
        public, graph = shipped_lists.same_class(self.kind, self.size * edges.size), self._graph(edges)
        first = self._first(public)
        noisy = _noisy_degrees(first, graph, public, seed) if first else np.empty(0, np.int64)
        survey = neighbourhood.neighbourhood_survey(public, self.epsilon, self._plan(public, first, noisy))
        known = (first, noisy) if first else None
        users = self.client(TwoHop(0, graph, public.n), public, shipped_lists.purse_for([survey]), known)
        counts = neighbourhood.decode_owned(
            neighbourhood.encode_owned(users.answer(survey, 1, fresh_coins(seed, "counts")))
        ).values
        sent = [noisy, counts] if first else [counts]
        return np.concatenate([numbers.reshape(edges.size, self.size) for numbers in sent], axis=1)

    def _graph(self, edges: shipped_lists.Bits) -> Edges:
        there = np.ones((edges.size, len(self.drawn)), np.bool_)
        there[:, 0] = edges
        ends = self.size * np.arange(edges.size)[:, None, None] + np.array(self.drawn)
        graph: Edges = ends[there].astype(np.int32)
        return graph[np.lexsort((graph[:, 1], graph[:, 0]))]


def _noisy_degrees(survey: DegreeSurvey, graph: Edges, public: PublicView, seed: str) -> Ints:
    both = np.concatenate([graph, graph[:, ::-1]])
    owner, friend = both[np.lexsort((both[:, 1], both[:, 0]))].T
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=public.n))])
    holders = DegreeClient(FriendLists(0, offsets, friend), public, shipped_lists.purse_for([survey], lists=2))
    report = degree_wire.decode(degree_wire.encode(holders.answer(survey, 1, fresh_coins(seed, "degrees"))))
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
    client: type[HubClient] = HubClient

    def _survey(self) -> tuple[PublicView, HubSurvey]:
        policy = VisibilityPolicy.from_types(
            {0: "hub"}, {("hub", "hub"): "public", ("hub", "other"): "public", ("other", "other"): self.kind}, "other"
        )
        public = PublicView(range(4), policy, np.array([[0, 1], [0, 2], [0, 3]], np.int32))
        return public, hub_survey(public, self.epsilon, self.shares)

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public, survey = self._survey()
        return shipped_lists.billed([survey], self.kind, self.epsilon, public)

    def send(self, edges: shipped_lists.Bits, seed: str) -> Columns:
        """The numbers of the hub's report."""
        public, survey = self._survey()
        graph = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], np.int32)
        views = [two_hop(4, graph[[0, 1, 2, 3, 4, *more]], 0) for more in ([], [5])]
        coins, sent = fresh_coins(seed, "hub"), []
        for edge in edges:
            hub = self.client(views[int(edge)], public, shipped_lists.purse_for([survey]))
            sent.append(decode_hub(encode_hub(hub.answer(survey, 1, coins))).values)
        return np.array(sent, np.int64)


@dataclass(frozen=True)
class Centres:
    """CURATOR: four users, whose first edge may not be there."""

    statistic: str
    kind: Visibility = Visibility.PRIVATE
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    client: type[Curator] = Curator
    drawn: tuple[tuple[int, int], ...] = TRIANGLE

    def _survey(self, questions: int) -> tuple[PublicView, CuratorSurvey]:
        public, asked = shipped_lists.same_class(self.kind, 4), [self.statistic] * questions
        return public, curator_survey(public, [self.epsilon] * questions, self.delta, asked)

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        public, survey = self._survey(1)
        return shipped_lists.billed([survey], self.kind, self.epsilon, public)

    def send(self, edges: shipped_lists.Bits, seed: str) -> Columns:
        """The answers; their marks are drawn apart from the graph."""
        sent = np.empty((edges.size, 1), np.int64)
        for edge in np.unique(edges):
            chosen = edges == edge
            sent[chosen, 0] = self._answers(self.drawn[0 if edge else 1 :], int(chosen.sum()), f"{seed} {edge}")
        return sent

    def _answers(self, graph: tuple[tuple[int, int], ...], questions: int, seed: str) -> list[int]:
        """One centre, asked so often: every question is a release of its own, with coins of its own."""
        public, survey = self._survey(questions)
        centre = self.client(WholeGraph(4, np.array(graph, np.int32)), public, shipped_lists.purse_for([survey]))
        coins = fresh_coins(seed, "centre")
        sent = (encode_answer(centre.answer(survey, index, coins)) for index in range(questions))
        return [decode_answer(answer).value for answer in sent]


@dataclass(frozen=True)
class Drawn:
    """One number a world, by a mechanism that is told whether the edge is there."""

    kind: Visibility
    claimed: Guarantee[OneEdge]
    draw: Draw = field(repr=False)

    def send(self, edges: shipped_lists.Bits, seed: str) -> Columns:
        """What was drawn."""
        return self.draw(edges, fresh_coins(seed, "mechanism"))[:, None]


def randomized_response(kind: Visibility, mechanism: type[RandomizedResponse] = RandomizedResponse) -> Drawn:
    """The bit itself."""
    loss = Fraction(WEIGHTS[kind])
    answer = mechanism(loss).randomize
    return Drawn(kind, Guarantee(OneEdge, loss), lambda edges, coins: answer(edges, coins).astype(np.int64))


def _laplace(kind: Visibility, noise: Callable[[int, RandomBytes], Ints]) -> Drawn:
    """A count that a PRIVATE edge moves by the sensitivity."""
    moved = SENSITIVITY * WEIGHTS[kind]
    price = Guarantee[OneEdge](OneEdge, Fraction(WEIGHTS[kind]))
    return Drawn(kind, price, lambda edges, coins: edges.astype(np.int64) * moved + noise(len(edges), coins))


def discrete_laplace(kind: Visibility) -> Drawn:
    """By the sampler of one law."""
    return _laplace(kind, DiscreteLaplace(Fraction(1), SENSITIVITY).sample_many)


def many_laplaces(kind: Visibility) -> Drawn:
    """By the sampler that takes a sensitivity for each number."""
    return _laplace(kind, lambda count, coins: sample_each(Fraction(1), np.full(count, SENSITIVITY), coins))


def hadamard_response(kind: Visibility) -> Drawn:
    """The bin of a degree that the edge changes."""
    answer = HadamardResponse(Fraction(1), BINS).randomize
    return Drawn(kind, Guarantee(OneEdge, Fraction(1)), lambda edges, coins: answer(edges.astype(np.int64), coins))


def smooth(noise: SmoothNoise, kind: Visibility) -> Drawn:
    """A value and its bound, both moved by an edge as far as a smooth bound allows."""
    pair = WorstPair(noise, WEIGHTS[kind], BOUND, Decimal(1))
    laws = [noise.law(bound) for bound in pair.bounds]

    def draw(edges: shipped_lists.Bits, coins: RandomBytes) -> Ints:
        drawn = np.empty(len(edges), np.int64)
        for edge, law in enumerate(laws):
            chosen = np.flatnonzero(edges == bool(edge))
            drawn[chosen] = law.sample_many(chosen.size, coins) if chosen.size else 0
        return drawn + edges * pair.shift

    return Drawn(kind, Guarantee(OneEdge, *noise.price(pair.weight)), draw)


def many_powers(kind: Visibility, narrower: float = 1.0) -> Drawn:
    """As power noise on a smooth bound, by the sampler that takes a bound for each number, which users' sums use."""
    noise = SmoothPower(Fraction(1))
    pair = WorstPair(noise, WEIGHTS[kind], BOUND, Decimal(1))
    # Clients round their bounds up; here the wider one is rounded down, so that no more is moved than is paid for.
    bounds = np.nextafter(np.array([float(bound) for bound in pair.bounds]) / narrower, [np.inf, 0.0])

    def draw(edges: shipped_lists.Bits, coins: RandomBytes) -> Ints:
        return noise.sample_each(bounds[edges.astype(np.int64)], coins) + edges * pair.shift

    return Drawn(kind, Guarantee(OneEdge, *noise.price(pair.weight)), draw)
