"""POSITION, USER and NEIGHBOURHOOD inside a scope: inside, the loss is what it was; outside there is none.  [SCOPE.2]

The worlds are all graphs of a few users, edges outside the scope among them; the real clients hold whole lists.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law
from visibility_aware_edge_ldp.audit.engine.noise_laws import Floats, another_noise
from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, World, positions
from visibility_aware_edge_ldp.audit.protocols import degrees, neighbourhood_stage, position, rows_stage, rows_walk
from visibility_aware_edge_ldp.audit.protocols.rows import FOUR, SPENDING, USUAL
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.rows import TwoRoundClient
from visibility_aware_edge_ldp.public.scope import named_scope
from visibility_aware_edge_ldp.public.surveys.neighbourhood import CLIPPED, WEIGHTED
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Inside = frozenset[int]
"""The places of the positions that are asked."""
Lost = tuple[bool, Visibility, float]
"""Whether a position lies inside, its class by the policy, and what it lost."""
Walk = tuple[Iterator[Lost], Callable[[Visibility], Fraction | float]]
"""What was lost, and what a class may lose inside."""
# What a position outside may lose: nothing, but shares of it are taken.
NOTHING = 1e-9


@cache
def scoped_view(whole: Pattern, n: int, inside: Inside) -> PublicView:
    """What everybody knows where only these places are asked; every public position holds an edge."""
    pairs = positions(n)
    scope = named_scope(range(n), [pairs[place] for place in sorted(inside)])
    return small_worlds.view_of(whole, n).within(scope)


def asked_classes(whole: Pattern, inside: Inside) -> Pattern:
    """The class of each position under the policy inside the scope.  [SCOPE.1]"""
    return tuple(kind if place in inside else PUBLIC for place, kind in enumerate(whole))


def scopes(n: int) -> list[Inside]:
    """Every set of positions, but for all of them."""
    count = len(positions(n))
    return [frozenset(each) for each in chain.from_iterable(combinations(range(count), k) for k in range(count))]


def finding_of(name: str, about: str, walks: Iterable[Walk]) -> findings.Finding:
    """The finding over several walks, each with what a class may lose inside; outside nothing may be lost."""
    losses, cases = list[findings.Loss](), 0
    for walk, agreed in walks:
        most: dict[tuple[bool, Visibility], float] = {}
        for inside, kind, loss in walk:
            cases += 1
            most[inside, kind] = findings.largest([loss, most.get((inside, kind), 0.0)])
        losses += [
            findings.Loss(str(kind), float(agreed(kind)) if inside else NOTHING, loss)
            for (inside, kind), loss in most.items()
        ]
    return findings.exact_finding(name, losses, cases, about)


# ── POSITION: every coin of both rounds ──


@dataclass(frozen=True)
class PositionStage(position.Stage):
    """A conversation inside a scope: ``pattern`` are the classes inside it, ``whole`` those of the policy."""

    whole: Pattern = ()
    inside: Inside = frozenset()

    @property
    def view(self) -> PublicView:
        return scoped_view(self.whole, self.n, self.inside)


def position_stage(whole: Pattern, n: int, inside: Inside, asked: tuple[int, ...] = (1,)) -> PositionStage:
    return PositionStage(asked_classes(whole, inside), n, asked=asked, whole=whole, inside=inside)


Speak = Callable[[PositionStage, World], Law]
"""The law of all that is sent in a world."""


def audit_position(
    name: str, stages: Iterable[PositionStage], about: str, speak: Speak | None = None
) -> findings.Finding:
    """Every pair of worlds that differ at one position, inside or outside."""
    return finding_of(name, about, ((_told(stage, speak), stage.claims.__getitem__) for stage in stages))


def _told(stage: PositionStage, speak: Speak | None) -> Iterator[Lost]:
    spoken = cache(lambda world: findings.Spoken((speak or position.conversation)(stage, world)))
    for world, other, place in small_worlds.neighbours(stage.whole):
        gap = findings.gap_between(spoken(world), spoken(other))
        yield place in stage.inside, stage.whole[place], math.inf if gap.delta else gap.epsilon


def asks_everybody(stage: PositionStage, world: World) -> Law:
    """A mutant: positions outside are asked too."""
    return position.conversation(position.Stage(stage.whole, stage.n, asked=stage.asked), world)


def goes_by_a_private_list(stage: PositionStage, world: World) -> Law:
    """A mutant: the scope is the friend list of user 0, who has not published it."""
    friends = {0, *small_worlds.friends(world, stage.n, 0)}
    inside = frozenset(place for place, pair in enumerate(positions(stage.n)) if {*pair} <= friends)
    return position.conversation(position_stage(stage.whole, stage.n, inside, stage.asked), world)


def _position_stages() -> Iterator[PositionStage]:
    for whole in small_worlds.patterns_up_to_names(3):
        for inside in scopes(3):
            yield position_stage(whole, 3, inside)
            yield position_stage(whole, 3, inside, (1, 2))
    for whole in ((PRIVATE,) * 6, FOUR["two classes"], FOUR["three classes"]):
        yield position_stage(whole, 4, frozenset({0, 1, 3}))


# ── USER triangles: every first transcript, every list of all friends ──


@dataclass(frozen=True, eq=False)
class RowStage(rows_stage.Stage):
    """Both rounds inside a scope: ``pattern`` are the classes inside it, ``whole`` those of the policy."""

    whole: Pattern = ()
    inside: Inside = frozenset()

    @cached_property
    def view(self) -> PublicView:
        return scoped_view(self.whole, self.n, self.inside)

    def whole_row(self, user: int) -> rows_stage.Row:
        """The user's positions with later users, with the classes of the policy."""
        return rows_stage.Stage(self.whole, self.n, self.split).row(user)

    def lists(self, user: int) -> list[rows_stage.Friends]:
        """Every list that the user may have, friends outside the scope too."""
        return rows_stage.Stage(self.whole, self.n, self.split).lists(user)


def row_stage(whole: Pattern, inside: Inside, split: rows_stage.Split = USUAL) -> RowStage:
    n = 3 if len(whole) == 3 else 4
    return RowStage(asked_classes(whole, inside), n, split, whole=whole, inside=inside)


def row_losses(stage: RowStage, client: type[TwoRoundClient] = TwoRoundClient) -> Iterator[Lost]:
    """The loss of both rounds for every transcript, every list and every neighbour of it."""
    told = rows_walk.second_losses(stage.survey.total_noise, stage.survey.reach_noise)
    for user in stage.asked:
        lists, row = stage.lists(user), stage.row(user)
        laws = {friends: rows_walk.first_law(stage, user, friends) for friends in lists}
        for answers in stage.transcripts(user):
            own = rows_walk.as_bytes(tuple(answers[place] for place, _, _ in row))
            first = stage.first_round(answers)
            numbers = {friends: rows_walk.second_report(stage, user, friends, first, client) for friends in lists}
            for each in stage.whole_row(user):
                for kind, joined, without in rows_walk.neighbouring_lists([each], lists):
                    answer = math.log(laws[joined][own] / laws[without][own])
                    more, less = told(numbers[joined], numbers[without])
                    yield each[0] in stage.inside, kind, max(answer + more, less - answer)


def audit_rows(name: str, stages: list[RowStage], client: type[TwoRoundClient] = TwoRoundClient) -> findings.Finding:
    """The largest losses of both rounds, inside and outside."""
    about = "both rounds inside a scope: every first transcript, every list of up to 4 users with friends outside"
    return finding_of(name, about, ((row_losses(stage, client), stage.agreed) for stage in stages))


def _row_stages() -> list[RowStage]:
    three = ((PRIVATE,) * 3, (PRIVATE, FRIEND_VISIBLE, PRIVATE), (PUBLIC, PRIVATE, PRIVATE))
    small = [row_stage(whole, inside) for whole in three for inside in scopes(3) if inside]
    return [*small, row_stage(FOUR["all private"], frozenset({0, 1, 3})), _CAUGHT]


# ── NEIGHBOURHOOD: degrees and counts of owned triangles ──


@dataclass(frozen=True, eq=False)
class OwnedStage(neighbourhood_stage.OwnedStage):
    """Both rounds of all users inside a scope; ``pattern`` are the classes of the policy."""

    inside: Inside = frozenset()

    @cached_property
    def view(self) -> PublicView:
        return scoped_view(self.pattern, self.n, self.inside)

    @cached_property
    def degrees(self) -> Floats:
        first = self.degree_survey
        if first is None:
            return np.zeros((len(self.worlds), 0, self.n))
        rates = np.array([float(first.mechanism(kind).rate) for kind in first.classes])[:, None]
        client: type[DegreeClient] = uncut(DegreeClient) if self.client is not NeighbourhoodClient else DegreeClient
        each = [degrees.real_degrees(first, self.view, world, client) for world in self.worlds]
        if any((found.rates != rates).any() for found in each):
            raise another_noise()
        return np.asarray(np.array([found.values for found in each]) * rates, np.float64)

    def losses(self) -> Iterator[Lost]:
        """Of degrees and counts together, for every pair of worlds."""
        for place in self.places:
            for loss in (self.first_losses(place) + self.second_losses(place)).tolist():
                yield place in self.inside, self.pattern[place], loss


def owned_stage(guard: str, inside: Inside, whole: Pattern = (PRIVATE,) * 6, **options: Any) -> OwnedStage:
    plan, first = neighbourhood_stage.plan_of(guard, 2, 1, 3, 2), "1/4" if guard == WEIGHTED else ""
    return OwnedStage(whole, 4, plan, first, "3/4", inside=inside, **options)


def audit_owned(name: str, stages: list[OwnedStage]) -> findings.Finding:
    """The largest losses of both rounds, inside and outside."""
    about = "degrees and counts inside a scope: all graphs of 4 users, whose friends see what lies outside"
    finding = finding_of(name, about, ((stage.losses(), stage.asked) for stage in stages))
    for stage in stages if finding.holds else ():
        neighbourhood_stage.check_users(stage)
    return finding


def _owned_stages() -> list[OwnedStage]:
    mixed = (PUBLIC, FRIEND_VISIBLE, PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC)
    some = [frozenset(each) for each in ((0, 1, 3), (0, 1, 2, 3, 4), (1, 2, 5))]
    return [
        *(owned_stage(guard, inside) for guard in (WEIGHTED, CLIPPED) for inside in some),
        *(owned_stage(WEIGHTED, inside, mixed) for inside in some),
    ]


# ── what is run ──


def uncut(kind: type[Any]) -> type[Any]:
    """A mutant: the client forgets to leave out what it holds outside the scope."""
    return findings.replaced(kind, cut=lambda client, view, public: view)


_CAUGHT = row_stage((PRIVATE,) * 3, frozenset({0, 2}), SPENDING)
_PRIVATE = position_stage((PRIVATE,) * 3, 3, frozenset({0, 1}))
_FORGETS = "A client forgets to leave out its friends outside the scope."
POSITION, USER, NEIGHBOURHOOD = (f"scope, {trust}" for trust in ("position", "user triangles", "neighbourhood (a)"))
AUDITS = (
    findings.exact(
        POSITION,
        lambda name: audit_position(
            name,
            _position_stages(),
            "every scope of 3 nodes, one round and two, and some of 4; every graph and pattern",
        ),
    ),
    findings.exact(USER, lambda name: audit_rows(name, _row_stages())),
    findings.exact(NEIGHBOURHOOD, lambda name: audit_owned(name, _owned_stages())),
)
MUTANTS = (
    *(
        findings.exact(POSITION, audit_position, [_PRIVATE], broken, speak, broken=broken)
        for broken, speak in (
            ("positions outside the scope are asked too", asks_everybody),
            ("the scope is the friend list of somebody who has not published it", goes_by_a_private_list),
        )
    ),
    findings.exact(USER, audit_rows, [_CAUGHT], uncut(TwoRoundClient), broken=_FORGETS),
    findings.exact(
        NEIGHBOURHOOD,
        audit_owned,
        [owned_stage(WEIGHTED, frozenset({0, 1, 3}), client=uncut(NeighbourhoodClient))],
        broken=_FORGETS,
    ),
)
