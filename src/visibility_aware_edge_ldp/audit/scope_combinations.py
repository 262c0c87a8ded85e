"""Groups, public hubs and a trusted centre inside a scope: inside, the loss is what it was; outside there is none.

The worlds are all graphs of a few users, edges outside the scope among them.  [SCOPE.2]
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, World, positions
from visibility_aware_edge_ldp.audit.protocols import curator, degrees, groups, hubs
from visibility_aware_edge_ldp.audit.protocols.scope import Inside, Lost, finding_of, scoped_view, uncut
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.degrees import Ints, class_counts
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.scope import named_scope
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, SHARED
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.truth.graph import Graph

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
HIDDEN = (PRIVATE,) * 3
MIXED = (FRIEND_VISIBLE, PRIVATE, PRIVATE)


# ── groups inside a scope ──


@dataclass(frozen=True)
class GroupStage(groups.Stage):
    """Groups inside a scope: ``whole`` are the classes of the policy, ``pattern`` those inside."""

    whole: Pattern = ()
    inside: Inside = frozenset()

    @cached_property
    def view(self) -> PublicView:
        grouped = groups.Stage(self.whole, self.n, self.epsilon, self.window, members=self.members).view.groups
        return replace(scoped_view(self.whole, self.n, self.inside), groups=grouped)

    def losses(self) -> Iterator[Lost]:
        """What both ends' reports lose of an edge, inside or outside."""
        spoken = cache(lambda user, held: findings.Spoken(degrees.report_law(self, user, held)))
        for world, other, place in small_worlds.neighbours(self.whole):
            both = findings.NO_GAP
            for user in positions(self.n)[place]:
                held = (small_worlds.friends(graph, self.n, user) for graph in (world, other))
                both += findings.gap_between(*(spoken(user, each) for each in held))
            loss = math.inf if both.delta and not self.closed else both.epsilon
            yield place in self.inside, self.whole[place], loss


def group_stage(whole: Pattern, inside: Inside, client: type[GroupClient] = GroupClient) -> GroupStage:
    kinds = tuple(kind if place in inside else PUBLIC for place, kind in enumerate(whole))
    return GroupStage(kinds, 3, "4", 1, members=(0, 0, 1), client=client, whole=whole, inside=inside)


def audit_groups(name: str, stages: Iterable[GroupStage], about: str) -> findings.Finding:
    """The counts of both ends of every position, inside and outside."""
    return finding_of(name, about, ((stage.losses(), stage.agreed) for stage in stages))


def _group_stages() -> Iterator[GroupStage]:
    for whole, inside in product((HIDDEN, MIXED), map(frozenset, ({0, 1}, {0, 2}, {1}))):
        yield group_stage(whole, inside)
    yield group_stage((PUBLIC, PRIVATE, PRIVATE), frozenset({0, 1}))


def _whole_lists(client: GroupClient, survey: DegreeSurvey) -> Ints:
    """How many friends of each class and group there are, outside the scope too."""
    everywhere = replace(client._public, policy=client._public.policy.without_scope)
    return class_counts(client._view, everywhere, survey.classes, everywhere.groups)


WholeLists = findings.replaced(uncut(GroupClient), counts=_whole_lists)


# ── public hubs inside a scope ──


@dataclass(frozen=True, eq=False)
class HubSetting(hubs.Setting):
    """Public hubs whose survey is asked inside a scope: their own positions, and ``asked_ones`` of the others'."""

    asked_ones: tuple[hubs.Position, ...] = ()

    @cached_property
    def view(self) -> PublicView:
        own = [pair for pair in positions(self.n) if pair[0] < self.publics]
        whole = hubs.Setting(self.publics, self.n, self.edges, self.hubs, self.open_ones).view
        return whole.within(named_scope(range(self.n), [*own, *self.asked_ones]))

    def may_lose(self, epsilon: int) -> Callable[[Visibility], Fraction]:
        """What an edge inside may lose: as much as the best guarded class that is asked."""
        kinds = {self.kind(pair) for pair in self.asked_ones}
        return lambda _: epsilon * min(map(self.view.policy.multipliers.of, kinds))

    def losses(self, epsilon: int, kind: str, client: type[HubClient]) -> Iterator[Lost]:
        """What the reports of all hubs lose of every position in every private graph."""
        survey = self.survey(epsilon, kind)
        said = hubs.all_said(self, survey, client)
        if client is HubClient:
            hubs.check_hubs(survey, said.values())
        for world, pair in product(said, self.hidden):
            if pair not in world:
                loss = hubs.loss_between(survey, said[world], said[world | {pair}])
                yield pair in self.asked_ones, self.kind(pair), loss


HubCase = tuple[HubSetting, int, str]
"""A setting, ε, and the kind of hubs."""


def audit_hubs(
    name: str, cases: Iterable[HubCase], about: str, client: type[HubClient] = HubClient
) -> findings.Finding:
    """The reports of all hubs together, inside and outside."""
    walks = ((setting.losses(epsilon, kind, client), setting.may_lose(epsilon)) for setting, epsilon, kind in cases)
    return finding_of(name, about, walks)


def _both_see(users: int) -> tuple[hubs.Position, ...]:
    return tuple((hub, user) for hub in (0, 1) for user in range(2, 2 + users))


_THREE = HubSetting(2, 5, _both_see(3), (0, 1), asked_ones=((2, 3), (2, 4)))
_FOUR = HubSetting(2, 6, _both_see(4)[:7], (0, 1), ((2, 3),), asked_ones=((2, 3), (2, 4), (3, 4), (3, 5)))
HUB_CASES: tuple[HubCase, ...] = (*((_THREE, e, kind) for e in (1, 4) for kind in (SHARED, PLAIN)), (_FOUR, 4, SHARED))


# ── a trusted centre inside a scope ──


@dataclass(frozen=True, eq=False)
class Question(curator.Question):
    """A question about the graph inside a scope; ``cut``: the centre is given no other edges."""

    inside: Inside = frozenset()
    cut: bool = True

    @cached_property
    def view(self) -> PublicView:
        whole = small_worlds.view_of(self.pattern, self.n)
        return scoped_view(self.pattern, self.n, self.inside) if self.cut else whole

    def centre(self, world: World, kind: type[Curator] = Curator) -> Curator:
        graph = Graph(tuple(range(self.n)), small_worlds.edges_of(world, self.n))
        held = VisibilityAwareGraph(graph, self.view.policy).graph.edges
        room = dict.fromkeys(NON_PUBLIC, curator.ASKED * self.agreed(FRIEND_VISIBLE))
        return kind(WholeGraph(self.n, held), self.view, Purse(room, curator.ASKED * max(self.deltas)))

    @property
    def deltas(self) -> list[Any]:
        return [bill.delta for bill in self.bills.values()]

    @property
    def pairs(self) -> Iterator[tuple[World, World, int]]:
        return small_worlds.neighbours(self.pattern)

    def losses(self) -> Iterator[Lost]:
        """What an answer loses of every position, inside or outside."""
        for loss, (_, _, place) in zip(curator.question_losses(self), self.pairs, strict=True):
            yield place in self.inside, self.pattern[place], loss.found if loss.holds else math.inf


def audit_centre(name: str, questions: Iterable[Question], about: str) -> findings.Finding:
    """What an answer tells of positions inside and outside."""
    return finding_of(name, about, ((each.losses(), each.agreed) for each in questions))


def _questions() -> Iterator[Question]:
    for whole, statistic in product((HIDDEN, MIXED), ("edges", "triangles", "stars:2")):
        for inside in map(frozenset, ({0, 1}, {1, 2}, {0})):
            yield Question(whole, 3, statistic, inside=inside)
    yield Question((PRIVATE,) * 6, 4, "triangles", inside=frozenset({0, 1, 3}))


# ── what is run ──

GROUPS, HUBS, CENTRE = (f"scope, {what}" for what in ("user groups", "neighbourhood (b)", "curator"))
_FORGETS = "it forgets to leave out what it holds outside the scope"
AUDITS = (
    findings.exact(
        GROUPS,
        lambda name, about: audit_groups(name, _group_stages(), about),
        "every graph of 3 users, several scopes; noise in a window, tails by proof",
    ),
    findings.exact(HUBS, audit_hubs, HUB_CASES, "two hubs of both kinds, every private graph of three and four users"),
    findings.exact(
        CENTRE,
        lambda name, about: audit_centre(name, _questions(), about),
        "edges, triangles and 2-stars inside some scopes, every graph of 3 nodes and some of 4",
    ),
)
MUTANTS = (
    findings.exact(GROUPS, audit_groups, [group_stage(HIDDEN, frozenset({0, 1}), WholeLists)], "", broken=_FORGETS),
    findings.exact(HUBS, audit_hubs, HUB_CASES[:1], "", uncut(HubClient), broken=_FORGETS),
    findings.exact(
        CENTRE,
        audit_centre,
        [Question(HIDDEN, 3, "edges", inside=frozenset({0, 1}), cut=False)],
        "",
        broken="it is asked about the whole graph, and not about the graph inside",
    ),
)
