"""The source documents' tables: for each what has to be measured, and how it is set beside the printed figures."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

import visibility_aware_edge_ldp.evaluation.reproduction_claims as claims
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.reproduction_claims import EPSILONS, EPSILONS_004, FIVE, Claim
from visibility_aware_edge_ldp.evaluation.reproduction_measurement import (
    CAP,
    CLAIMED,
    FACEBOOK,
    HONEST,
    OURS,
    POWERLAW,
    RANDOM,
    TOP,
    Cell,
    Document,
    Figure,
    Found,
    Laboratory,
    Reproduction,
    Row,
    Table,
    clipped_stars,
    each_answer,
)
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD, POSITION, USER, Trust
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.graph import Graph

# Document 000, slides 36 and 37: visibility-aware against uniform, half public, two rounds.
POLICIES = {"uniform": "nothing", "aware": "fractions:0.5,0,0.5"}
WORDS = {"uniform": "uniform", "aware": "visibility-aware"}
METHODS: dict[str, dict[str, Any]] = {HONEST: {"rounds": 2, "estimator": "ipw_capped"}, OURS: {}}
GRAPHS = (TOP, FACEBOOK)
# On the whole graph bias is all that can be seen of the document's estimator, so one trial shows it.
MOST_TRIALS = {(TOP, HONEST): 20, (TOP, OURS): 20, (FACEBOOK, HONEST): 1, (FACEBOOK, OURS): 2}
GAINS = ((TOP, HONEST), (TOP, OURS), (FACEBOOK, OURS))
# Document 001, §7.3: six questions about Facebook to a trusted centre.
LOCAL, STRICT = "ours, no centre", "ours, no centre, ε = 1 for all"
COLUMNS_001 = (CLAIMED, HONEST, OURS, LOCAL, STRICT)
STATISTICS_001 = tuple(claim.statistic for claim in claims.DOCUMENT_001)
DELTA = "1e-6"
MOST_LOCAL_TRIALS = 2
# Document 003, §10: five statistics of the 300 nodes of highest degree, a third of the positions public.
TWO_ROUNDS = "two rounds, unbiased"
COLUMNS_003 = (CLAIMED, HONEST, TWO_ROUNDS, OURS)
WANTED_FACTOR = 10
# Document 004, Table 1: public hubs; lists clipped at 50, or noise by a user's own sensitivity.
HUBS = "hubs:0.2"
MOST_HUB_TRIALS = 5
CAPPED, OWNED, BY_HUBS = "capped triangles", "owned triangles", "triangles by hubs"
DEGREES, CLIPPED = "degrees", "clipped 2-stars"
OTHERS = (POWERLAW, RANDOM)


def _named(*words: str) -> str:
    """The name of a cell or a column."""
    return ", ".join(words)


def _beside(
    printed: Iterable[Claim],
    figures: Callable[[Claim], Mapping[str, Figure]],
    what: Callable[[Claim], str] = lambda claim: claim.statistic,
) -> tuple[Row, ...]:
    """One row a claim: what is printed, and what was measured at the same epsilon."""
    return tuple(
        Row(claim.epsilon, claim.epsilon, what(claim), {CLAIMED: Figure(claim.value), **figures(claim)})
        for claim in printed
    )


# ── Document 000, slides 36 and 37 ──


def cells_000(trials: int) -> dict[str, Cell]:
    """What has to be measured."""
    return {
        _named(graph, method, kind): Cell(
            graph, policy, POSITION.name, EPSILONS, FIVE, min(trials, MOST_TRIALS[graph, method]), options
        )
        for graph in GRAPHS
        for method, options in METHODS.items()
        for kind, policy in POLICIES.items()
    }


def assembled_000(found: Mapping[str, Found], laboratory: Laboratory) -> Reproduction:
    """Both slides beside what was found."""
    graph = "; ".join(laboratory.graph(name).source for name in GRAPHS)
    honest = {
        _named(g, HONEST, kind): with_its_edges(found[_named(g, HONEST, kind)], found[_named(g, OURS, kind)])
        for g, kind in product(GRAPHS, POLICIES)
    }
    tables = (_errors({**found, **honest}), _improvements({**found, **honest}))
    return Reproduction("000", "slides 36 and 37", graph, claims.LOSS_000, tables, claims.DIFFERENCES_000)


def _errors(found: Mapping[str, Found]) -> Table:
    columns = {_named(method, graph): (graph, method) for graph in GRAPHS for method in METHODS}
    rows = _beside(
        (claim for claim in claims.DOCUMENT_000 if claim.kind in POLICIES),
        lambda claim: {
            column: found[_named(*key, claim.kind)][claim.epsilon, claim.statistic] for column, key in columns.items()
        },
        lambda claim: f"{claim.statistic}, {WORDS[claim.kind]}",
    )
    return Table("Slide 36: mean relative error of triangles", (CLAIMED, *columns), rows, factors=False)


def _improvements(found: Mapping[str, Found]) -> Table:
    kinds = {_named(m, g): [found[_named(g, m, kind)] for kind in POLICIES] for g, m in GAINS}
    gains = {
        column: {key: improvement(uniform[key], aware[key]) for key in product(EPSILONS, FIVE)}
        for column, (uniform, aware) in kinds.items()
    }
    rows = _beside(
        (claim for claim in claims.DOCUMENT_000 if claim.kind == "improvement"),
        lambda claim: {column: Figure(each[claim.epsilon, claim.statistic]) for column, each in gains.items()},
    )
    means = {column: Figure(fmean(each.values())) for column, each in gains.items()}
    last = Row(math.nan, math.nan, "mean of all", {CLAIMED: Figure(claims.MEAN_IMPROVEMENT), **means})
    title = "Slide 37: by how much less the error is with visibility than without"
    return Table(title, (CLAIMED, *gains), (*rows, last), factors=False)


def improvement(uniform: Figure, aware: Figure) -> float:
    """1 − aware/uniform, of the standard errors that the estimates carry, or of the errors where they carry none."""
    stated = aware.stated / uniform.stated
    return 1 - (aware.value / uniform.value if math.isnan(stated) else stated)


# ── Document 001, §7.3 ──


def cells_001(trials: int) -> dict[str, Cell]:
    """What has to be measured."""
    few = min(trials, MOST_LOCAL_TRIALS)

    def cell(trust: Trust, loss: float, count: int, **options: str) -> Cell:
        ask = each_answer if trust is CURATOR else estimate
        return Cell(FACEBOOK, "document-001", trust.name, (loss,), STATISTICS_001, count, options, ask)

    return {
        HONEST: cell(CURATOR, 1.0, trials, delta=DELTA),
        OURS: cell(CURATOR, 1.0, trials, delta="0"),
        LOCAL: cell(USER, 6.0, few),
        STRICT: cell(USER, 1.0, few),
    }


def assembled_001(found: Mapping[str, Found], laboratory: Laboratory) -> Reproduction:
    """The document's table beside what was found."""
    losses = {HONEST: 1.0, OURS: 1.0, LOCAL: 6.0, STRICT: 1.0}
    rows = _beside(
        claims.DOCUMENT_001, lambda claim: {name: found[name][loss, claim.statistic] for name, loss in losses.items()}
    )
    table = Table("Relative error, one draw there and means here", COLUMNS_001, rows, factors=False)
    graph = laboratory.graph(FACEBOOK)
    differences = (*claims.DIFFERENCES_001, counts(graph))
    return Reproduction("001", "§7.3", graph.source, claims.LOSS_001, (table,), differences)


def counts(graph: Graph) -> str:
    """The true values that the document prints, beside those of the graph that was used, where they differ."""
    differing = [
        f"{name} {printed:,} there, {count:,} here"
        for name, printed in claims.TRUTHS_001.items()
        if (count := int(exact(graph, name))) != printed
    ]
    return f"Counts that differ: {'; '.join(differing) or 'none'}."


# ── Document 003, §10 ──


def cells_003(trials: int) -> dict[str, Cell]:
    """What has to be measured."""
    options = {**METHODS, TWO_ROUNDS: {"rounds": 2}}
    return {
        name: Cell(TOP, "document-003", POSITION.name, EPSILONS, FIVE, trials, options[name])
        for name in COLUMNS_003[1:]
    }


def with_its_edges(honest: Found, one_round: Found) -> Found:
    """The document counts edges in one round by the plain unbiased sum, and so do we: one figure for both."""
    return {**honest, **{key: figure for key, figure in one_round.items() if key[1] == "edges"}}


def assembled_003(found: Mapping[str, Found], laboratory: Laboratory) -> Reproduction:
    """The document's table beside what was found."""
    found = {**found, HONEST: with_its_edges(found[HONEST], found[OURS])}
    rows = _beside(
        claims.DOCUMENT_003,
        lambda claim: {name: found[name][claim.epsilon, claim.statistic] for name in COLUMNS_003[1:]},
    )
    table = Table("Mean relative error, ε for all five statistics together", COLUMNS_003, rows)
    return Reproduction(
        "003", "§10.2", laboratory.graph(TOP).source, claims.LOSS_003, (table,), claims.DIFFERENCES_003, verdict(rows)
    )


def verdict(rows: tuple[Row, ...]) -> str:
    """By how much triangles and stars are better at ε ≤ 1, and whether that is enough."""
    asked = [row for row in rows if row.epsilon <= 1 and row.what in ("triangles", "stars:2", "stars:3")]
    least = min(asked, key=lambda row: row.factor)
    said = "as" if least.factor >= WANTED_FACTOR else "NOT as"
    return (
        f"Triangles and stars at ε ≤ 1: our errors are at least {least.factor:.0f}× below the document's "
        f"(the least is {least.what} at ε = {least.epsilon:g}), {said} wanted: {WANTED_FACTOR}×."
    )


# ── Document 004, Table 1 ──


def cells_004(trials: int) -> dict[str, Cell]:
    """What has to be measured, on Facebook at every epsilon and on the other graphs at 1."""
    made: dict[str, Cell] = {}
    for graph in (FACEBOOK, *OTHERS):
        epsilons = EPSILONS_004 if graph == FACEBOOK else (1.0,)
        twice = tuple(2 * epsilon for epsilon in epsilons)
        triangles = partial(
            Cell, graph, HUBS, NEIGHBOURHOOD.name, epsilons, ("triangles",), min(trials, MOST_HUB_TRIALS)
        )
        cells = {
            CAPPED: triangles({"reporters": f"cap:{CAP}"}),
            BY_HUBS: triangles({"reporters": "hubs"}),
            DEGREES: Cell(graph, HUBS, USER.name, twice, ("edges", "stars:2"), trials),
            CLIPPED: Cell(graph, HUBS, CLIPPED, twice, ("stars:2",), trials, ask=clipped_stars),
            **({OWNED: triangles({"reporters": "users"})} if graph == FACEBOOK else {}),
        }
        made |= {_named(what, graph): cell for what, cell in cells.items()}
    return made


def assembled_004(found: Mapping[str, Found], laboratory: Laboratory) -> Reproduction:
    """The document's table beside what was found, and the graphs of which it prints nothing."""
    printed = sorted(claims.DOCUMENT_004, key=lambda claim: claim.epsilon)
    rows = tuple(_row_004(FACEBOOK, claim, found) for claim in printed)
    others = tuple(
        replace(_row_004(graph, claim, found, f"{graph}: "), figures=_measured(graph, claim, found))
        for graph in OTHERS
        for claim in claims.DOCUMENT_004
        if claim.epsilon == 1 and claim.kind != "smooth"
    )
    tables = (
        Table("Table 1: mean relative error, a fifth of the users public", (CLAIMED, HONEST, OURS), rows),
        Table("Power-law and random graphs, of which no figure is printed", (HONEST, OURS), others, factors=False),
    )
    source = laboratory.graph(FACEBOOK).source
    return Reproduction("004", "Table 1", source, claims.LOSS_004, tables, claims.DIFFERENCES_004)


def _row_004(graph: str, claim: Claim, found: Mapping[str, Found], prefix: str = "") -> Row:
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
    return {column: found[_named(source, graph)][key] for column, source in pair if source is not None}


DOCUMENTS = {
    "000": Document(cells_000, assembled_000),
    "001": Document(cells_001, assembled_001),
    "003": Document(cells_003, assembled_003),
    "004": Document(cells_004, assembled_004),
}
ALL = "all"


def chosen(table: str) -> dict[str, Document]:
    """The documents that a name stands for."""
    if table != ALL and table not in DOCUMENTS:
        raise BadInput(f"{table!r} is not a table; use one of {', '.join([*DOCUMENTS, ALL])}.")
    return {name: each for name, each in DOCUMENTS.items() if table in (name, ALL)}
