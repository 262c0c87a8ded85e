"""NEIGHBOURHOOD (a): the survey of degrees and the counts of owned triangles together, on every small graph.  [WALK.5]

The real clients report their degrees and count under a plan; the noise of both rounds is put back as its exact law.
"""

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.protocols import neighbourhood_stage as twins
from visibility_aware_edge_ldp.audit.protocols.neighbourhood_stage import (
    Client,
    OwnedPair,
    OwnedStage,
    check_users,
    plan_of,
)
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.public.surveys import neighbourhood as surveys
from visibility_aware_edge_ldp.public.surveys.neighbourhood import OwnerPlan
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
EdgeList = tuple[tuple[int, int], ...]


def stage_losses(stage: OwnedStage) -> Iterator[findings.Loss]:
    """Both rounds together for each class, whatever plan the first one led to."""
    for place in stage.places:
        kind, found = stage.pattern[place], float((stage.first_losses(place) + stage.second_losses(place)).max())
        asked = stage.asked(kind)
        yield findings.as_asked(findings.Loss(str(kind), float(asked), found), asked, stage.billed(kind))


def audit_owned(name: str, stages: list[OwnedStage]) -> findings.Finding:
    """Guards that need no delta."""
    losses = [loss for stage in stages for loss in stage_losses(stage)]
    cases = sum(len(stage.pairs(place)[0]) for stage in stages for place in stage.places)
    graphs = ", ".join(dict.fromkeys(f"{stage.which} graphs of {stage.n} users" for stage in stages))
    about = f"{len(stages)} plans and policies, {graphs}; degrees and counts together"
    finding = findings.exact_finding(name, losses, cases, about)
    for stage in stages if finding.holds else ():
        check_users(stage)
    return finding


# ── what is run ──


MIXED: tuple[small_worlds.Pattern, ...] = (
    (PUBLIC, FRIEND_VISIBLE, PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC),
    (PRIVATE, PRIVATE, PRIVATE, FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE),
    (PUBLIC, PUBLIC, PRIVATE, FRIEND_VISIBLE, PRIVATE, PRIVATE),
    (FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE, FRIEND_VISIBLE, PUBLIC),
)
FIVE = ((3, 3, 3, 3, 3), (1, 2, 2, 3, 4))


def pure_stages(guard: str, first: str) -> list[OwnedStage]:
    """Four users under every plan there is, up to their names; five under some; mixes of classes; nonresponse."""
    second = "3/4" if first else "1"
    every = [plan_of(guard, *bounds) for bounds in combinations_with_replacement(range(1, 5), 4)]
    without_one = (
        [plan_of(guard, 1, 2, 2, 3, nonresponse=user) for user in range(4)] if guard == surveys.WEIGHTED else []
    )
    private = [((PRIVATE,) * 6, 4, plan) for plan in (*every, *without_one)]
    mixed = [(pattern, 4, plan_of(guard, 2, 1, 3, 2)) for pattern in MIXED]
    five = [((PRIVATE,) * 10, 5, plan_of(guard, *bounds)) for bounds in FIVE]
    small = [OwnedStage(pattern, n, plan, first, second) for pattern, n, plan in (*private, *mixed, *five)]
    return [*small, *(dearest_pair(guard, kind) for kind in NON_PUBLIC)]


def dearest_pair(guard: str, kind: Visibility = PRIVATE, client: Client = NeighbourhoodClient) -> OwnedPair:
    """Two graphs whose positions have one class, between which counts move nearly, or quite, by what is allowed."""
    plan, edges, changed = (_weighted_pair if guard == surveys.WEIGHTED else _clipped_pair)()
    n = plan.bounds.size
    return OwnedPair((kind,) * len(small_worlds.positions(n)), n, plan, "", "1", client, edges, changed)


def _clipped_pair() -> tuple[OwnerPlan, EdgeList, tuple[int, int]]:
    """With caps of 3, joining 0 and 4 closes two triangles, and 0 forgets 1 and two others: 2(3 − 1) in all."""
    return plan_of(surveys.CLIPPED, 3, 3, 3, 3, 3), ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 4), (3, 4)), (0, 4)


def _weighted_pair(common: int = 18, beside: int = 21) -> tuple[OwnerPlan, EdgeList, tuple[int, int]]:
    """Counts move by 0.86 of what is allowed. All bounds are ``common``, but for users who weigh nothing.  [WALK.5]

    v and w get an edge and share ``common`` friends, half of them with weights just below that of w, the others above
    it. Each of ``beside`` friends of v that rank above v knows as many friends of v that weigh nothing.
    """
    half, w = common // 2, common + beside
    v, light, heavy = w + 1, range(half), range(half, common)
    silent, above = range(common, w), range(v + 1, v + 1 + beside)
    edges = [(u, end) for u in (*light, *heavy) for end in (w, v)] + [(u, v) for u in silent] + [(v, z) for z in above]
    edges += [(a, b) for a in light for b in (*heavy, *above[: half - 1])] + [(y, z) for y in silent for z in above]
    bounds = np.where(np.isin(np.arange(v + 1 + beside), silent), 1, common)
    return OwnerPlan(surveys.WEIGHTED, bounds, bounds > 1), tuple(edges), (w, v)


WEIGHTED_NAME, CLIPPED_NAME = "neighbourhood (a), weighted", "neighbourhood (a), clipped"
AUDITS = tuple(
    findings.exact(name, lambda name, *guard: audit_owned(name, pure_stages(*guard)), guard, first)
    for name, guard, first in ((WEIGHTED_NAME, surveys.WEIGHTED, "1/4"), (CLIPPED_NAME, surveys.CLIPPED, ""))
)


# ── mutants: the real client with one thing wrong ──

_MUTANTS: tuple[tuple[str, str, OwnerPlan, Client], ...] = (
    (
        WEIGHTED_NAME,
        "noise scaled by the own degree (document 004)",
        plan_of(surveys.WEIGHTED, 3, 3, 3, 3),
        twins.OwnScale,
    ),
    (WEIGHTED_NAME, twins.ALONE, plan_of(surveys.WEIGHTED, 1, 2, 3, 4), twins.SureAlone),
    (
        CLIPPED_NAME,
        "a hard cap D with noise of scale D/ε (document 004)",
        plan_of(surveys.CLIPPED, 3, 3, 3, 3, 3),
        twins.ScaledByTheCap,
    ),
    (CLIPPED_NAME, twins.ALONE, plan_of(surveys.CLIPPED, 2, 2, 3, 3), twins.SureAlone),
)


def _stage(plan: OwnerPlan, client: Client) -> OwnedStage:
    n, (first, second) = len(plan.bounds), ("1/4", "3/4") if plan.guard == surveys.WEIGHTED else ("", "1")
    return OwnedStage((PRIVATE,) * len(small_worlds.positions(n)), n, plan, first, second, client)


MUTANTS = (
    *(
        findings.exact(name, audit_owned, [_stage(plan, client)], broken=broken)
        for name, broken, plan, client in _MUTANTS
    ),
    findings.exact(
        WEIGHTED_NAME,
        audit_owned,
        [dearest_pair(surveys.WEIGHTED, client=twins.LessNoise)],
        broken="noise of 5/4 of the bound, for new triangles and those of one end",
    ),
)
