"""Document 004, Table 1: public hubs; lists clipped at 50, or noise by a user's own sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.evaluation.reproduction.cells import (
    FACEBOOK,
    POWERLAW,
    RANDOM,
    Cell,
    Figure,
    Found,
    Laboratory,
)
from visibility_aware_edge_ldp.evaluation.reproduction.claims import DOCUMENT_004, EPSILONS_004, Claim
from visibility_aware_edge_ldp.evaluation.reproduction.results import CLAIMED, HONEST, OURS, Reproduction, Row, Table
from visibility_aware_edge_ldp.mechanisms.entropy import keyed_coins, seeded_key
from visibility_aware_edge_ldp.mechanisms.many_laplaces import sample_each
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.hidden import users_with
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

HUBS = "hubs:0.2"
CAP = 50
MOST_HUB_TRIALS = 5
CAPPED, OWNED, BY_HUBS = "capped triangles", "owned triangles", "triangles by hubs"
DEGREES, CLIPPED = "degrees", "clipped 2-stars"
OTHERS = (POWERLAW, RANDOM)
LOSS = (
    "The document's ε is that of one list. An edge between two private users stands in two lists, so edges and "
    "2-stars cost 2ε per edge, and are compared at that. Triangles: one edge moves the counts of both its ends and "
    "of every common friend, 3ε together, and up to three times that because a cap may swap friends; public users "
    "who answer exactly leave no finite loss at all. So triangles are compared at the strictest reading, ε per edge. "
    "Every statistic is paid for by itself, but ours gives edges and 2-stars from one answer."
)
DIFFERENCES = (
    "Hubs: in all columns a fifth of the users, those of highest true degree, is public. That uses private data; it "
    "is assumed to be known who they are.",
    "Edges: the document's degree reports are honest at 2ε per edge, and ours are the same. What it prints is less "
    "than its own noise gives on average (0.036 % at ε = 1).",
    "Triangles, clipped: run honestly, each triangle is counted by one of its users, with noise for the three edges "
    "that one may move (cap:50). The cap itself loses triangles at every ε.",
    "Triangles, smooth: noise scaled by a user's own sensitivity tells that sensitivity, so this cannot be run "
    "honestly; bounds bought with noisy degrees stand in its place (reporters: users).",
    "Triangles, ours: sixteen public hubs count, and add noise for what is not public. What they leave out is in "
    "their interval. Where the printed error is below ours, no finite loss stands behind it.",
    "2-stars, clipped: run honestly as printed, C(min(d, 50), 2) with noise 49/ε; hubs are exact, because their "
    "lists are public. What the cap cuts off stays off at every ε.",
    "2-stars, smooth: the noise's scale is the degree itself, so this cannot be run honestly. Ours: a noisy degree, "
    "of scale 1/ε whatever the degree, gives 2-stars without bias.",
    "Power-law and random graphs: the document says that it studied them and prints no figure; these have Facebook's "
    "numbers of nodes and edges. In a random graph friends of a hub rarely know each other, hubs see a quarter of "
    "the triangles, and say so in their interval.",
)


def clipped_stars(
    world: VisibilityAwareGraph, trust: str, epsilon: Fraction, statistics: Sequence[str], *, seed: str
) -> Mapping[str, Any]:
    """2-stars as the document counts them: everybody cuts its degree at 50; hubs are exact, others noisy.

    ``epsilon`` is per edge; both of its ends report, at half of it each.
    """
    private = users_with(world.public, NON_PUBLIC).any(axis=0)
    degrees = np.where(private, np.minimum(world.graph.degrees, CAP), world.graph.degrees)
    sensitivities = np.where(private, CAP - 1, 0).astype(np.int64)
    noise = sample_each(epsilon / 2, sensitivities, keyed_coins(seeded_key(seed, trust)))
    value = float((degrees * (degrees - 1) // 2).sum() + noise.sum())
    return {name: Estimate(name, value, float("nan"), unbiased=False) for name in statistics}


def cells(trials: int) -> dict[str, Cell]:
    """What has to be measured, on Facebook at every epsilon and on the other graphs at 1."""
    made = {name: cell for graph in (FACEBOOK, *OTHERS) for name, cell in _cells(graph, trials).items()}
    few = min(trials, MOST_HUB_TRIALS)
    owned = Cell(FACEBOOK, HUBS, "neighbourhood", EPSILONS_004, ("triangles",), few, {"reporters": "users"})
    return {**made, _name(FACEBOOK, OWNED): owned}


def _cells(graph: str, trials: int) -> dict[str, Cell]:
    few, one = min(trials, MOST_HUB_TRIALS), ("triangles",)
    epsilons = EPSILONS_004 if graph == FACEBOOK else (1.0,)
    twice = tuple(2 * epsilon for epsilon in epsilons)
    made = {
        CAPPED: Cell(graph, HUBS, "neighbourhood", epsilons, one, few, {"reporters": f"cap:{CAP}"}),
        BY_HUBS: Cell(graph, HUBS, "neighbourhood", epsilons, one, few, {"reporters": "hubs"}),
        DEGREES: Cell(graph, HUBS, "user", twice, ("edges", "stars:2"), trials),
        CLIPPED: Cell(graph, HUBS, CLIPPED, twice, ("stars:2",), trials, ask=clipped_stars),
    }
    return {_name(graph, what): cell for what, cell in made.items()}


def assembled(found: Mapping[str, Found], laboratory: Laboratory) -> Reproduction:
    """The document's table beside what was found, and the graphs of which it prints nothing."""
    rows = tuple(_row(FACEBOOK, claim, found) for claim in DOCUMENT_004)
    ordered = tuple(sorted(rows, key=lambda row: row.epsilon))
    others = tuple(
        replace(_row(graph, claim, found, f"{graph}: "), figures=_measured(graph, claim, found))
        for graph in OTHERS
        for claim in DOCUMENT_004
        if claim.epsilon == 1 and claim.kind != "smooth"
    )
    tables = (
        Table("Table 1: mean relative error, a fifth of the users public", (CLAIMED, HONEST, OURS), ordered),
        Table("Power-law and random graphs, of which no figure is printed", (HONEST, OURS), others, factors=False),
    )
    return Reproduction("004", "Table 1", laboratory.graph(FACEBOOK).source, LOSS, tables, DIFFERENCES)


def _row(graph: str, claim: Claim, found: Mapping[str, Found], prefix: str = "") -> Row:
    what = f"{prefix}{claim.statistic}{', ' if claim.kind else ''}{claim.kind}"
    figures = {CLAIMED: Figure(claim.value), **_measured(graph, claim, found)}
    return Row(claim.epsilon, _loss(claim), what, figures)


def _loss(claim: Claim) -> float:
    """Per edge: two lists for what degrees tell, and the strictest reading for triangles."""
    return claim.epsilon if claim.statistic == "triangles" else 2 * claim.epsilon


def _measured(graph: str, claim: Claim, found: Mapping[str, Found]) -> dict[str, Figure]:
    """The honest form of what the document does, where there is one, and ours."""
    sources = {
        ("edges", ""): (DEGREES, DEGREES),
        ("triangles", "clipped"): (CAPPED, BY_HUBS),
        ("triangles", "smooth"): (OWNED, BY_HUBS),
        ("stars:2", "clipped"): (CLIPPED, DEGREES),
        ("stars:2", "smooth"): (None, DEGREES),
    }
    pair = zip((HONEST, OURS), sources[claim.statistic, claim.kind], strict=True)
    key = _loss(claim), claim.statistic
    return {column: found[_name(graph, source)][key] for column, source in pair if source is not None}


def _name(graph: str, what: str) -> str:
    return f"{what}, {graph}"
