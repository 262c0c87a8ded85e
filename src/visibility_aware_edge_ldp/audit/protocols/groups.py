"""The whole protocol of groups, every noise in a window walked, as that of degrees.  [AUDIT.4-6], [GROUPS.2]"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.protocols import degrees
from visibility_aware_edge_ldp.client.degrees import Ints
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeReport, DegreeSurvey, degree_report
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, GroupSurvey, group_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


@dataclass(frozen=True)
class Stage(degrees.Stage):
    """A stage of degrees whose users are in groups: ``members`` has the group of each."""

    members: tuple[int, ...] = (0, 0, 1)
    client: degrees.Client = GroupClient

    @cached_property
    def view(self) -> PublicView:
        labels = tuple("abcd"[: max(self.members) + 1])
        found = small_worlds.view_of(self.pattern, self.n, self.guard)
        return replace(found, groups=Groups("letter", labels, np.array(self.members, np.int64)))

    @cached_property
    def survey(self) -> DegreeSurvey:
        return self.question(group_survey(self.view, self.epsilon))


def _stages() -> Iterator[Stage]:
    for pattern in small_worlds.patterns_up_to_names(3):
        for members in ((0, 0, 1), (0, 1, 0), (1, 0, 0)):
            yield Stage(pattern, 3, "4", 1, members=members)
    yield Stage((PRIVATE,) * 3, 3, "4", 1, members=(0, 1, 2))
    yield Stage((PRIVATE, PRIVATE, FRIEND_VISIBLE), 3, "2", 1, ("3", "1/2"), frozenset({2}), members=(0, 1, 1))
    yield Stage((PRIVATE,) * 3, 3, "1", 5)
    yield Stage((PRIVATE,) * 6, 4, "6", 1, members=(0, 1, 0, 1))


AUDITS = (
    findings.exact(
        "user groups",
        lambda name, about: small_worlds.audit_lists(name, _stages(), about, small_worlds.by_row(degrees.report_law)),
        "all graphs and patterns of 3 users in 2 groups, some in 3, some of 4; noise in a window, tails by proof",
    ),
)


# ── mutants: the real client or survey with one thing wrong ──


def _one_exact(client: GroupClient, report: DegreeReport, survey: DegreeSurvey, *_: object) -> DegreeReport:
    """The first count is sent as it is."""
    values = np.concatenate([client.counts(survey)[:1], report.values[1:]])
    return degree_report(report.survey, report.start, report.answered, values, GroupReport)


def _by_length(client: GroupClient, counts: Ints, *_: object) -> Ints:
    """Whoever has two friends or more counts them all in the last group: its list decides who is in which."""
    many = len(counts) // max(len(client._public.non_public), 1)
    cells = counts.reshape(-1, many, counts.shape[1])
    moved = np.zeros_like(cells)
    moved[:, -1] = cells.sum(axis=1)
    return np.where(np.diff(client._view.offsets) > 1, moved, cells).reshape(counts.shape)


FullPrice = findings.replaced(
    GroupSurvey, mechanism=lambda survey, kind: DiscreteLaplace(survey.multipliers.of(kind) * survey.epsilon)
)
"""Both ends of an edge spend all of its epsilon."""
OneExact = findings.altered(GroupClient, "randomize", _one_exact)
ByPrivateEdge = findings.altered(GroupClient, "counts", _by_length)
MUTANTS = findings.exact_mutants(
    partial(small_worlds.audit_lists, speak=degrees.report_law),
    [
        (
            "user groups, one count without noise",
            "Of all counts of a user, one is sent as it is.",
            [Stage((PRIVATE,) * 3, 3, "4", 1, client=OneExact)],
        ),
        (
            "user groups, both ends at full ε",
            "Each end of an edge spends the whole epsilon, so that the edge loses twice what is claimed.",
            [Stage((PRIVATE,) * 3, 3, "4", 1, question=partial(findings.recast, FullPrice))],
        ),
        (
            "user groups, a group by a private edge",
            "Which group a friend is counted in depends on how many friends there are, which an edge changes.",
            [Stage((PRIVATE,) * 3, 3, "4", 3, client=ByPrivateEdge)],
        ),
    ],
)
