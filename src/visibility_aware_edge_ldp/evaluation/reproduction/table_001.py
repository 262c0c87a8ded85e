"""Document 001, §7.3: six questions about Facebook to a trusted centre."""

from __future__ import annotations

from collections.abc import Mapping

from visibility_aware_edge_ldp.evaluation.reproduction.cells import FACEBOOK, Cell, Figure, Found, Laboratory
from visibility_aware_edge_ldp.evaluation.reproduction.claims import DOCUMENT_001, TRUTHS_001
from visibility_aware_edge_ldp.evaluation.reproduction.results import CLAIMED, HONEST, OURS, Reproduction, Row, Table
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.statistics import exact

LOCAL, STRICT = "ours, no centre", "ours, no centre, ε = 1 for all"
COLUMNS = (CLAIMED, HONEST, OURS, LOCAL, STRICT)
STATISTICS = tuple(claim.statistic for claim in DOCUMENT_001)
DELTA = "1e-6"
MOST_LOCAL_TRIALS = 2
LOSS = (
    "Each of six answers costs (1, 10⁻⁶) per PRIVATE edge and twice that ε per FRIEND_VISIBLE edge, so all six cost "
    "(6, 6·10⁻⁶), as §7.4 says. “Run honestly” pays that. “Ours” asks the same centre at ε = 1 a question with δ = "
    "0: 6 in all. “Ours, no centre” is USER with ε = 6 for all six together. The last column spends 1 on all six: "
    "what “1.0” promises to somebody who reads it as the loss of the table."
)
DIFFERENCES = (
    "Trust: the document calls this local; somebody must hold the whole graph to compute smooth sensitivity, so it "
    "is a centre. The last two columns are local.",
    "Run honestly: Laplace noise on a smooth bound over all pairs that are not public. The document looks at "
    "existing edges only, which hides removals and not additions. Its scale 2S/ε is half as much again as is needed, "
    "and its 2/ε for edges and max degree twice as much.",
    "Ours: power noise, which needs no δ.",
    "Draws: the document prints one; the other columns are means.",
    "Triangles: 0.00 % is a lucky draw; 293 common neighbours (not about 45, as in §6.3) give 0.036 % on average "
    "with the document's own noise.",
    "4-stars: one edge at the largest hub moves 190 million of them, 0.2 % of all, and noise has to hide that.",
)


def cells(trials: int) -> dict[str, Cell]:
    """What has to be measured."""
    few = min(trials, MOST_LOCAL_TRIALS)

    def cell(trust: str, loss: float, count: int, delta: str = "0") -> Cell:
        options = {"delta": delta} if trust == "curator" else {}
        return Cell(FACEBOOK, "document-001", trust, (loss,), STATISTICS, count, options)

    return {
        HONEST: cell("curator", 1.0, trials, DELTA),
        OURS: cell("curator", 1.0, trials),
        LOCAL: cell("user", 6.0, few),
        STRICT: cell("user", 1.0, few),
    }


def assembled(found: Mapping[str, Found], laboratory: Laboratory) -> Reproduction:
    """The document's table beside what was found."""
    losses = {HONEST: 1.0, OURS: 1.0, LOCAL: 6.0, STRICT: 1.0}
    rows = tuple(
        Row(
            claim.epsilon,
            claim.epsilon,
            claim.statistic,
            {CLAIMED: Figure(claim.value)}
            | {name: found[name][loss, claim.statistic] for name, loss in losses.items()},
        )
        for claim in DOCUMENT_001
    )
    table = Table("Relative error, one draw there and means here", COLUMNS, rows, factors=False)
    graph = laboratory.graph(FACEBOOK)
    return Reproduction("001", "§7.3", graph.source, LOSS, (table,), (*DIFFERENCES, counts(graph)))


def counts(graph: Graph) -> str:
    """The true values that the document prints, beside those of the graph that was used, where they differ."""
    found = {name: int(exact(graph, name)) for name in TRUTHS_001}
    pairs = [f"{name} {TRUTHS_001[name]:,} there, {count:,} here" for name, count in found.items()]
    differing = [pair for pair, (name, count) in zip(pairs, found.items(), strict=True) if count != TRUTHS_001[name]]
    return f"Counts that differ: {'; '.join(differing) or 'none'}."
