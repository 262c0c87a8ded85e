"""CURATOR at size: graphs of 20 to 1,000 nodes on which sensitivity is searched for, not looked up.  [LARGE.1-2]

Smooth bounds are compared with plain ones, over all positions and distances, where that can be afforded.  [SENS.1]
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss, as_asked, exact, exact_finding, recast
from visibility_aware_edge_ldp.audit.engine.noise_laws import Noised, another_noise
from visibility_aware_edge_ldp.audit.protocols.curator import RecordingQuery, loss_between
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import star_size
from visibility_aware_edge_ldp.public.surveys import curator as surveys
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Position = tuple[int, int]
PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
NOTHING, OPEN = VisibilityPolicy.nothing(), VisibilityPolicy(0, 1, 0)
MIXED = VisibilityPolicy("0.1", "0.4", "0.5")
# With more nodes the plain search over positions takes too long; at these distances it looks.
# Beyond 64 they are bounded by other means, which small epsilons need.
_PLAIN, _DISTANCES = 130, (0, 1, 2, 4, 8, 16, 32, 64, 65, *range(72, 130, 8))


@dataclass(frozen=True, eq=False)
class World:
    """A graph, a question about it, and the position whose edge comes and goes."""

    n: int
    edges: frozenset[Position]
    position: Position
    statistic: str
    policy: VisibilityPolicy = NOTHING
    epsilon: str = "1"
    delta: str = "0"

    @cached_property
    def view(self) -> PublicView:
        bare = PublicView(range(self.n), self.policy, np.zeros((0, 2), np.int32))
        pairs = large.edge_array(self.edges)
        public = pairs[bare.classes.of(pairs[:, 0], pairs[:, 1]) == PUBLIC] if len(pairs) else pairs
        return PublicView(range(self.n), self.policy, public)

    @cached_property
    def survey(self) -> surveys.CuratorSurvey:
        (asked,) = surveys.curator_survey(self.view, self.epsilon, self.delta, [self.statistic]).queries
        query = recast(RecordingQuery, asked)
        return surveys.CuratorSurvey(self.view.roster_digest, self.view.policy.digest, (query,))

    @property
    def query(self) -> RecordingQuery:
        return self.survey.queries[0]  # type: ignore[return-value]

    @property
    def kind(self) -> Visibility:
        one, other = self.position
        return Visibility(int(self.view.classes.of([one], [other])[0]))

    def graph(self, there: bool) -> large.Edges:
        return large.edge_array(self.edges | {self.position} if there else self.edges - {self.position})

    def heard(self, there: bool, tried: bool = True) -> large.Heard:
        """The centre's number, and its noise."""
        whole = WholeGraph(self.n, self.graph(there))
        prices = {kind: self.policy.multipliers.of(kind) * Fraction(self.epsilon) for kind in NON_PUBLIC}
        delta = max(self.query.price(kind).delta for kind in NON_PUBLIC)
        known = Curator(whole, self.view, Purse(prices, delta)).worked_out
        constant = self.query.has_constant_sensitivity
        if not constant:
            self.query.recorder.bounds.clear()

        def send(coins: RandomBytes) -> large.Ints:
            centre = Curator(whole, self.view, Purse(prices, delta), known)
            report = centre.answer(self.survey, 0, coins)
            return np.array([surveys.decode_answer(surveys.encode_answer(report)).value])

        def laws() -> list[large.Law]:
            if constant:
                return [self.query.constant_noise(self.view)]
            return [large.Scaled(self.query.recorder.noise, bound) for bound in self.query.recorder.bounds[:1]]

        return large.heard(send, laws, large.CLOSEST) if tried else large.Heard(send(no_noise), tuple(laws()))


def loss_of(world: World, tried: bool = True) -> Loss:
    """What the centre's answer tells of one edge, beside what was asked for and what is billed."""
    one, other = (world.heard(there, tried) for there in (True, False))
    price = world.query.price(world.kind)
    if Fraction(world.delta) and not world.query.has_constant_sensitivity:
        laws: list[Any] = [one.laws[0], other.laws[0]]
        numbers = Noised(0, laws[0].bound), Noised(int(other.centres[0] - one.centres[0]), laws[1].bound)
        loss = loss_between(laws[0].noise, world.kind, price, *numbers)
    else:
        loss = Loss(str(world.kind), 0.0, max(large.losses_between(one, other)))
    asked = world.policy.multipliers.of(world.kind) * Fraction(world.epsilon)
    return as_asked(replace(loss, claimed_delta=float(price.delta)), asked, price.epsilon)


def refuse_other_bounds(world: World, there: bool) -> None:
    """Stop the audit if the count is not the graph's, or the bound is below what some position and distance need."""
    matrix, heard = np.zeros((world.n, world.n), np.int64), world.heard(there, tried=False)
    edges = world.graph(there)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    if int(heard.centres[0]) != _count(matrix, world.statistic):
        raise another_noise()
    law: Any = heard.laws[0]
    if isinstance(law, large.Scaled) and world.n <= _PLAIN:
        beta = float(law.noise.beta)
        needed = max(math.exp(-beta * t) * _local(world, matrix, t) for t in _DISTANCES)
        if float(law.bound) < needed * (1 - 1e-9):
            raise another_noise()


def _count(matrix: large.Ints, statistic: str) -> int:
    degrees = matrix.sum(axis=1)
    if statistic == "edges":
        return int(matrix.sum()) // 2
    if statistic == "max_degree":
        return int(degrees.max())
    if statistic == "triangles":
        return int(np.trace(matrix @ matrix @ matrix)) // 6
    return sum(math.comb(int(degree), star_size(statistic) or 0) for degree in degrees)


def _local(world: World, matrix: large.Ints, distance: int) -> float:
    """A bound from below on what one position can change after so many private changes at cost 1 elsewhere.

    Where nothing is public: of all positions, those whose ends share most or have most friends.
    """
    n, w = world.n, world.policy.multipliers.steps
    costs = {PRIVATE: 1, FRIEND_VISIBLE: w}
    if world.policy not in (NOTHING,):
        distance = 0  # of other policies the graph itself
    classes = np.triu(np.asarray(world.view.classes.rows(0, n), np.int64), 1)
    worth = np.array([0.0, 1 / costs[FRIEND_VISIBLE], 1.0])[classes + classes.T]
    np.fill_diagonal(worth, 0)
    degrees = matrix.sum(axis=1)[:, None] - matrix
    if world.statistic == "triangles":
        shared = matrix @ matrix
        one_sided = degrees + degrees.T - 2 * shared
        cheap = np.minimum(distance, one_sided)
        changed: Any = np.minimum(shared + cheap + (distance - cheap) // 2, n - 2)
    else:
        k = (star_size(world.statistic) or 0) - 1
        grown = np.minimum(degrees + distance, n - 2)
        changed = np.vectorize(math.comb)(grown, k) + np.vectorize(math.comb)(degrees.T, k)
    return float((changed * worth).max())


# ── worlds ──


def books(statistic: str, n: int, pages: int, **more: Any) -> World:
    """Three nodes with so many common neighbours, the last two of them joined: the edge 0-1 moves number and bound."""
    edges = large.joined(((0, 1, 2), range(3, pages + 3))) | {(1, 2)}
    return World(n, frozenset(edges), (0, 1), statistic, **more)


def half_open(n: int, pages: int, **more: Any) -> World:
    """One node that everybody knows, and one whom so many know: each of the others makes a triangle by one change."""
    edges = large.joined(((0,), range(2, n)), ((1,), range(2, pages + 2)))
    return World(n, frozenset(edges), (0, 1), "triangles", **more)


def star(statistic: str, n: int, arms: int, **more: Any) -> World:
    """One node with so many neighbours, and one more comes."""
    return World(n, frozenset((0, v) for v in range(1, arms + 1)), (0, arms + 1), statistic, **more)


def crowd(statistic: str, n: int, share: float, seed: int, policy: VisibilityPolicy, **more: Any) -> World:
    """A random graph; the busiest node's position with another."""
    coins = large.Dice(seed)
    rows, columns = np.triu_indices(n, 1)
    there = coins.shares(rows.size) < share
    edges = frozenset(zip(rows[there].tolist(), columns[there].tolist(), strict=True))
    classes = PublicView(range(n), policy, np.zeros((0, 2), np.int32)).classes.of(rows, columns)
    hidden = np.flatnonzero(np.asarray(classes) != PUBLIC)
    place = int(hidden[coins.between(hidden.size)])
    return World(n, edges, (int(rows[place]), int(columns[place])), statistic, policy, **more)


def worlds(statistic: str, delta: str = "0") -> Iterator[World]:
    """Structured ones near where the bound's smoothness is used up, random ones, and one of 1,000 nodes."""
    more = {"delta": delta}
    if statistic in surveys.CONSTANT or statistic.startswith("stars"):
        for n, arms in ((20, 10), (120, 60), (120, 30), (1000, 400 if delta == "0" else 30)):
            yield star(statistic, n, arms, **more)
        if delta == "0":
            yield star(statistic, 120, 30, epsilon="1/10")
        yield star(statistic, 120, 50, policy=OPEN.guarded("3", "1"), **more)
    else:
        for n, pages in ((24, 8), (120, 30), (120, 60), (120, 100), (400, 30)):
            yield books(statistic, n, pages, **more)
        if delta == "0":
            yield half_open(120, 30, epsilon="1/10")
        for pages in (60, 110):
            yield books(statistic, 120, pages, policy=OPEN.guarded("3", "1"), **more)
    yield crowd(statistic, 100, 0.2, 1, MIXED.guarded("3", "1"), **more)
    yield crowd(statistic, 1000 if statistic in surveys.CONSTANT else 600, 0.05, 2, NOTHING, **more)


def audit_curator(name: str, statistic: str, delta: str, about: str) -> Finding:
    """The largest losses over all worlds of a question."""
    found = list(worlds(statistic, delta))
    finding = exact_finding(name, [loss_of(world) for world in found], len(found), about)
    for world, there in product(found if finding.holds else (), (True, False)):
        refuse_other_bounds(world, there)
    return finding


_ASKED = (
    *((each, "0") for each in (*surveys.CONSTANT, "triangles", "stars:2", "stars:3")),
    *((each, "1e-6") for each in ("triangles", "stars:2")),
)
_WORDS = {"stars:2": "2-stars", "stars:3": "3-stars", "max_degree": "max degree"}
AUDITS: dict[str, tuple[Audit, ...]] = {
    "curator": tuple(
        exact(
            f"curator {_WORDS.get(each, each)}{', with delta' if delta != '0' else ''}, at size",
            audit_curator,
            each,
            delta,
            "stars, books and random graphs of 20 to 1,000 nodes",
        )
        for each, delta in _ASKED
    )
}
