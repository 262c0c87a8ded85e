"""NEIGHBOURHOOD at size: counts of owned triangles under every guard.  [LARGE.1-2], [OWNER.2-4]"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

import numpy as np

from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact
from visibility_aware_edge_ldp.audit.engine.noise_laws import another_noise
from visibility_aware_edge_ldp.audit.protocols.neighbourhood_stage import sent_counts
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import neighbourhood as surveys
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import NeighbourhoodSurvey, OwnerPlan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Position = tuple[int, int]
PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
NOTHING = VisibilityPolicy.nothing()
# So seldom believed bounds may be short, of the second round alone; with so much the margin above them is 0.
_DELTA = Fraction(1, 4)
# Weights are cut to 2^-40 and sums to whole units: a count may be lower by one, and by what doubles err.
_ROUNDED = 1.01


@dataclass(frozen=True, eq=False)
class World:
    """Bounds of all users under a guard, the edges but one, and the position whose edge comes and goes."""

    guard: str
    bounds: tuple[int, ...]
    edges: frozenset[Position]
    position: Position
    policy: VisibilityPolicy = NOTHING
    epsilon: str = "1"
    nonresponse: frozenset[int] = frozenset()

    @property
    def n(self) -> int:
        return len(self.bounds)

    @cached_property
    def view(self) -> PublicView:
        policy = self.policy
        bare = PublicView(range(self.n), policy, np.zeros((0, 2), np.int32))
        pairs = large.edge_array(self.edges)
        public = pairs[bare.classes.of(pairs[:, 0], pairs[:, 1]) == PUBLIC] if len(pairs) else pairs
        return PublicView(range(self.n), policy, public)

    @cached_property
    def survey(self) -> NeighbourhoodSurvey:
        reported = ~np.isin(np.arange(self.n), list(self.nonresponse))
        first, delta = (
            (degree_survey(self.view, "1/4"), _DELTA) if self.guard == surveys.BELIEVED else (None, Fraction(0))
        )
        plan = OwnerPlan(self.guard, np.array(self.bounds), reported, first, delta)
        return surveys.neighbourhood_survey(self.view, self.epsilon, plan)

    @property
    def kind(self) -> Visibility:
        one, other = self.position
        return Visibility(int(self.view.classes.of([one], [other])[0]))

    @property
    def asked(self) -> Fraction:
        """Counts are as well guarded as the best guarded class."""
        return Fraction(self.epsilon) * min(self.policy.multipliers.of(kind) for kind in self.view.non_public)

    def send(self, there: bool, coins: RandomBytes) -> large.Ints:
        edges = self.edges | {self.position} if there else self.edges - {self.position}
        return sent_counts(self.survey, self.view, large.edge_array(edges), coins)

    def heard(self, there: bool, tried: bool) -> large.Heard:
        scales = self.survey.plan.sensitivities.tolist()
        laws = [DiscreteLaplace(self.survey.loss, scale) if scale else None for scale in scales]
        if not tried:
            return large.Heard(self.send(there, no_noise), tuple(laws))
        return large.heard(lambda coins: self.send(there, coins), lambda: laws)


def loss_of(world: World, tried: bool = True) -> float:
    """What the counts of all users tell of one edge."""
    return max(large.losses_between(*(world.heard(there, tried) for there in (True, False))))


def case_of(world: World) -> large.Case:
    """A world in which every noise was tried."""
    return large.Case(world.kind, loss_of(world), world.asked, world.survey.price(world.kind).epsilon)


def refuse_other_counts(world: World, there: bool) -> None:
    """Stop the audit if somebody counts other triangles than the theorem says."""
    plan, n = world.survey.plan, world.n
    edges = world.edges | {world.position} if there else world.edges - {world.position}
    friends = np.zeros((n, n), np.bool_)
    for u, v in edges:
        friends[u, v] = friends[v, u] = True
    rank = np.empty(n, np.int64)
    rank[np.lexsort((np.arange(n), plan.bounds))] = np.arange(n)
    degrees = friends.sum(axis=1)
    if plan.guard == surveys.CLIPPED:
        remembered = np.zeros_like(friends)
        for user in range(n):
            own = np.flatnonzero(friends[user])
            remembered[user, own[np.argsort(-rank[own])[: plan.bounds[user]]]] = True
        friends = remembered & remembered.T
    weights = np.minimum(1.0, plan.bounds / np.maximum(degrees, 1)) if plan.guard == surveys.WEIGHTED else np.ones(n)
    weights = np.where(plan.reported, weights, 0.0) if plan.guard == surveys.WEIGHTED else weights
    classes = np.asarray(world.view.classes.rows(0, n), np.int64)
    counts = np.zeros(n)
    for u, v in zip(*np.nonzero(np.triu(friends, 1)), strict=True):
        for w in np.flatnonzero(friends[u] & friends[v] & (np.arange(n) > v)):
            if PUBLIC == classes[u, v] == classes[u, w] == classes[v, w]:
                continue
            owner = max((int(u), int(v), int(w)), key=lambda user: rank[user])
            counts[owner] += sorted((weights[u], weights[v], weights[w]))[1]  # the middle one of the three
    if np.abs(world.send(there, no_noise) - counts * plan.unit).max() > _ROUNDED:
        raise another_noise()


# ── worlds that use a claim up, as far as one is known ──


def book(guard: str, pages: int, bound: int, n: int, **more: object) -> World:
    """Two users with so many common friends: as many triangles come with their edge."""
    between = large.joined(((0, 1), range(2, pages + 2)))
    return World(guard, (bound,) * n, frozenset(between), (0, 1), **more)  # type: ignore[arg-type]


def clique(guard: str, size: int, bound: int, n: int, **more: object) -> World:
    """Everybody knows everybody but for two, whose edge makes both their weights fall."""
    inside = set(combinations(range(size), 2)) - {(size - 2, size - 1)}
    return World(guard, (bound,) * n, frozenset(inside), (size - 2, size - 1), **more)  # type: ignore[arg-type]


def forgetting(bound: int, n: int, **more: object) -> World:
    """Two users, one with a full list: their edge makes it forget a friend, and both positions are in full triangles.

    If the other forgot one too, what it loses would belong to the owners of what is new, and cancel.
    """
    shared = range(1, bound)
    v, w = bound, bound + 1
    edges = large.joined(((v, w), shared), ((0,), (v, *shared)))
    return World(surveys.CLIPPED, (bound,) * n, frozenset(edges), (v, w), **more)  # type: ignore[arg-type]


def moved(world: World, coins: large.Dice) -> World:
    """Another world: an edge more or less, mostly at one of the two ends or a friend of theirs."""
    one = int(coins.pick(world.position)) if coins.share() < 0.5 else coins.between(world.n)
    other = coins.between(world.n)
    position = (min(one, other), max(one, other))
    if one == other or position == world.position or world.view.classes.of([position[0]], [position[1]])[0] == PUBLIC:
        return world
    return replace(world, edges=world.edges ^ {position})


def random_world(guard: str, n: int, share: float, seed: int, policy: VisibilityPolicy) -> World:
    coins = large.Dice(seed)
    edges = frozenset(pair for pair in combinations(range(n), 2) if coins.share() < share)
    bounds = tuple(coins.whole(2, max(3, int(share * n)), n).tolist())
    view = PublicView(range(n), policy, np.zeros((0, 2), np.int32))
    hidden = [pair for pair in combinations(range(n), 2) if view.classes.of([pair[0]], [pair[1]])[0] != PUBLIC]
    return World(guard, bounds, edges, hidden[coins.between(len(hidden))], policy)


MIXED, OPEN = VisibilityPolicy("0.1", "0.4", "0.5"), VisibilityPolicy(0, 1, 0)


def worlds(guard: str) -> Iterator[World]:
    """Structured, random and searched ones, of one guard."""
    for n in (40, 1000):
        if guard == surveys.BELIEVED:
            yield book(guard, 20, 20, n)
        elif guard == surveys.WEIGHTED:
            yield clique(guard, 34, 8, n)
            yield book(guard, 30, 30, n)
        else:
            yield forgetting(12, n)
    if guard == surveys.CLIPPED:
        yield forgetting(9, 60, policy=OPEN.guarded("3", "1"))
    else:
        yield book(guard, 25, 25, 60, policy=OPEN.guarded("3", "1"))
    if guard != surveys.BELIEVED:
        for seed, policy in ((1, MIXED.guarded("3", "1")), (2, NOTHING)):
            start = random_world(guard, 30, 0.4, seed, policy)
            yield large.climb(start, lambda each: loss_of(each, tried=False), moved, 150, seed)[0]
    if guard == surveys.WEIGHTED:
        yield replace(random_world(guard, 300, 0.05, 3, MIXED), nonresponse=frozenset(range(0, 300, 7)))
        for policy, seed in ((NOTHING, 5), (OPEN.guarded("3", "1"), 6)):
            start = clique(guard, 24, 10, 26, policy=policy)
            yield large.climb(start, lambda each: loss_of(each, tried=False), moved, 250, seed)[0]


def audit_counts(name: str, guard: str, about: str) -> Finding:
    """The largest losses over all worlds of a guard."""
    found = list(worlds(guard))
    finding = large.finding_of(name, [case_of(world) for world in found], about)
    for world, there in product(found if finding.holds else (), (True, False)):
        refuse_other_counts(world, there)
    return finding


_NAMES = {surveys.WEIGHTED: "weighted", surveys.CLIPPED: "clipped", surveys.BELIEVED: "believed"}
AUDITS: dict[str, tuple[Audit, ...]] = {
    "neighbourhood": tuple(
        exact(f"neighbourhood (a), {words}, at size", audit_counts, guard, "counts of 24 to 1,000 users, given a plan")
        for guard, words in _NAMES.items()
    )
}
