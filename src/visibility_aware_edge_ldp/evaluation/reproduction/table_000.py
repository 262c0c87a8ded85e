"""Document 000, slides 36 and 37: visibility-aware against uniform, half public, two rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean

from visibility_aware_edge_ldp.evaluation.reproduction.cells import FACEBOOK, TOP, Cell, Figure, Found, Laboratory
from visibility_aware_edge_ldp.evaluation.reproduction.claims import (
    DOCUMENT_000,
    EPSILONS,
    FIVE,
    MEAN_IMPROVEMENT,
    claimed,
)
from visibility_aware_edge_ldp.evaluation.reproduction.results import CLAIMED, HONEST, OURS, Reproduction, Row, Table
from visibility_aware_edge_ldp.evaluation.reproduction.table_003 import with_its_edges

POLICIES = {"uniform": "nothing", "aware": "fractions:0.5,0,0.5"}
WORDS = {"uniform": "uniform", "aware": "visibility-aware"}
METHODS = {HONEST: {"rounds": 2, "estimator": "ipw_capped"}, OURS: {}}
GRAPHS = (TOP, FACEBOOK)
# On the whole graph bias is all that can be seen of the document's estimator, so one trial shows it.
MOST_TRIALS = {(TOP, HONEST): 20, (TOP, OURS): 20, (FACEBOOK, HONEST): 1, (FACEBOOK, OURS): 2}
GAINS = ((TOP, HONEST), (TOP, OURS), (FACEBOOK, OURS))
LOSS = (
    "A position has one holder and answers at ε/2 in each of two rounds: ε per edge for one statistic, and 5ε for "
    "the five of slide 37, each of which is run by itself. Here ε is the loss of an edge for all five together, in "
    "every measured column, and the same for uniform and visibility-aware."
)
DIFFERENCES = (
    "Run honestly: the slides give no formula for false positives, so this is document 003's estimator (ipw_capped) "
    "on a transcript with one answer per position and round.",
    "The graph: slide 35 names all 4,039 nodes. False triangles outnumber the true ones there, and the estimator is "
    "off by thousands of per cent at ε ≤ 1, whatever is public. The slides' examples have n = 300 (Appendix A), so "
    "300 nodes are shown too.",
    "The uniform column: on neither graph do errors fall as slowly as in slide 36; much of the improvement printed "
    "there is the baseline's.",
    "Detection: slide 23 uses p(ε) in both rounds; each round has ε/2.",
    "Visibility: half of the positions are public here, edges or not; the slides publish half of the true edges, "
    "which is itself a release.",
    "Slide 37: ours, and everybody's edges, compare the standard errors that estimates carry (wide ones for max "
    "degree), because ratios of a few trials' errors say little; the document's estimator carries none, so its "
    "measured errors are compared, and one trial on Facebook is too few for that.",
    "The gain: with half of the positions exact, the variance of the edge count is half, so its error falls by 29 %, "
    "and not by 54 %, at any ε.",
)


def cells(trials: int) -> dict[str, Cell]:
    """What has to be measured."""
    return {
        _name(graph, method, kind): Cell(
            graph, policy, "position", EPSILONS, FIVE, min(trials, MOST_TRIALS[graph, method]), options
        )
        for graph in GRAPHS
        for method, options in METHODS.items()
        for kind, policy in POLICIES.items()
    }


def assembled(found: Mapping[str, Found], laboratory: Laboratory) -> Reproduction:
    """Both slides beside what was found."""
    graph = "; ".join(laboratory.graph(name).source for name in GRAPHS)
    honest = {
        _name(g, HONEST, kind): with_its_edges(found[_name(g, HONEST, kind)], found[_name(g, OURS, kind)])
        for g in GRAPHS
        for kind in POLICIES
    }
    found = {**found, **honest}
    tables = (_errors(found), _improvements(found))
    return Reproduction("000", "slides 36 and 37", graph, LOSS, tables, DIFFERENCES)


def _errors(found: Mapping[str, Found]) -> Table:
    rows = tuple(
        Row(
            epsilon,
            epsilon,
            f"triangles, {WORDS[kind]}",
            {CLAIMED: Figure(claimed(DOCUMENT_000, epsilon, "triangles", kind))}
            | {_column(g, m): found[_name(g, m, kind)][epsilon, "triangles"] for g in GRAPHS for m in METHODS},
        )
        for kind in POLICIES
        for epsilon in EPSILONS
    )
    return Table("Slide 36: mean relative error of triangles", (CLAIMED, *_columns()), rows, factors=False)


def _improvements(found: Mapping[str, Found]) -> Table:
    gains = {
        (g, m): {key: improvement(*(found[_name(g, m, kind)][key] for kind in POLICIES)) for key in _keys()}
        for g, m in GAINS
    }
    rows = [
        Row(
            claim.epsilon,
            claim.epsilon,
            claim.statistic,
            {CLAIMED: Figure(claim.value)}
            | {_column(g, m): Figure(gains[g, m][claim.epsilon, claim.statistic]) for g, m in gains},
        )
        for claim in DOCUMENT_000
        if claim.kind == "improvement"
    ]
    means = {_column(g, m): Figure(fmean(each.values())) for (g, m), each in gains.items()}
    rows.append(Row(float("nan"), float("nan"), "mean of all", {CLAIMED: Figure(MEAN_IMPROVEMENT)} | means))
    title = "Slide 37: by how much less the error is with visibility than without"
    return Table(title, (CLAIMED, *(_column(g, m) for g, m in GAINS)), tuple(rows), factors=False)


def improvement(uniform: Figure, aware: Figure) -> float:
    """1 − aware/uniform, of the standard errors that the estimates carry, or of the errors where they carry none."""
    stated = aware.stated / uniform.stated
    return 1 - (aware.value / uniform.value if math.isnan(stated) else stated)


def _keys() -> list[tuple[float, str]]:
    return [(epsilon, statistic) for epsilon in EPSILONS for statistic in FIVE]


def _name(graph: str, method: str, kind: str) -> str:
    return f"{graph}, {method}, {kind}"


def _column(graph: str, method: str) -> str:
    return f"{method}, {graph}"


def _columns() -> tuple[str, ...]:
    return tuple(_column(graph, method) for graph in GRAPHS for method in METHODS)
