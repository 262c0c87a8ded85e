"""``va-edge-ldp reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import visibility_aware_edge_ldp.commands.common as common

if TYPE_CHECKING:
    from collections.abc import Iterable

    from visibility_aware_edge_ldp.evaluation.reproduction_measurement import Document
    from visibility_aware_edge_ldp.truth.graph import Graph

MEANING = (
    "“claimed” is the error that a document prints; “run honestly” is its algorithm on answers that are given once; "
    "“ours” is this software at the same loss. Below each table stands why they differ."
)
STEPS = {
    "va-edge-ldp reproduce --table 003 --trials 5": "one document alone",
    "va-edge-ldp compare --trials 3 --output out": "ours in every trust model; a report in out/report.html",
    "va-edge-ldp audit --mechanism position": "whether the loss is what is claimed",
}


def reproduce(
    table: Annotated[str, typer.Option(help="The source document: 000, 001, 003, 004, or all.")] = "all",
    trials: Annotated[int, typer.Option(min=1, help="Independent collections; slow ones take fewer and say so.")] = 20,
    seed: Annotated[int, typer.Option(help="Another seed gives other noise.")] = 1,
    output: Annotated[Path | None, typer.Option(help="Write reproduction.json and reproduction.md here.")] = None,
    as_json: common.JsonOption = False,
) -> None:
    """The source documents' tables: their figure, their algorithm run honestly, and ours at the same loss."""
    import visibility_aware_edge_ldp.presentation.reproduction_tables as tables
    from visibility_aware_edge_ldp.dataset import default_graph
    from visibility_aware_edge_ldp.evaluation.reproduction import chosen
    from visibility_aware_edge_ldp.evaluation.reproduction_measurement import reproduce as measure
    from visibility_aware_edge_ldp.evaluation.reproduction_measurement import steps
    from visibility_aware_edge_ldp.simulation.worlds import Steps

    documents = chosen(table)
    graph, stand_in = default_graph()
    if stand_in:
        typer.echo(f"Note: {tables.STAND_IN}", err=True)
    if not as_json:
        common.say_need(*_forecast(documents.values(), graph, trials))
    with common.progress_bar("collections") as progress:
        done = measure(documents, graph, trials, seed, Steps(progress, steps(documents.values(), trials)))
    told = tables.content(done, common.typed(), trials, seed, stand_in)
    if as_json:
        common.print_json("reproduce", told)
    else:
        for each in done:
            common.print_words(tables.heading(each), each.loss)
            for one in each.tables:
                common.print_findings(tables.shown(one))
            common.print_words(
                *filter(None, [tables.trials_of(each), each.verdict]), "\n".join(f"- {d}" for d in each.differences)
            )
        common.print_words(*([tables.STAND_IN] if stand_in else []), tables.CAUTION)
    for path in tables.write(told, done, output) if output else []:
        typer.echo(f"Wrote {path}", err=as_json)
    if not as_json:
        common.print_tour(MEANING, STEPS)


def _forecast(documents: Iterable[Document], graph: Graph, trials: int) -> tuple[int, float]:
    """The memory of the largest collection, and about the seconds of all that the trust models answer."""
    from visibility_aware_edge_ldp.evaluation.reproduction_measurement import Laboratory
    from visibility_aware_edge_ldp.public.trust import TRUSTS
    from visibility_aware_edge_ldp.simulation.execution import Run
    from visibility_aware_edge_ldp.simulation.runtime_forecast import seconds_of

    laboratory, known, largest, seconds = Laboratory(graph, 0), ("rounds", "dropout", "estimator"), 0, 0.0
    for cell in (cell for document in documents for cell in document.cells(trials).values()):
        if cell.trust in TRUSTS:
            options = {name: value for name, value in cell.options.items() if name in known}
            run = Run(laboratory.world(cell.graph, cell.policy), cell.trust, cell.statistics, **options)
            largest = max(largest, run.need.octets)
            seconds += seconds_of(run, len(cell.epsilons) * cell.trials)
    return largest, seconds
