"""Measures everything that the source documents' tables are set beside."""

from collections.abc import Iterable

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.reproduction.documents import DOCUMENTS
from visibility_aware_edge_ldp.evaluation.reproduction.measurement import (
    Laboratory,
    Reproduction,
)
from visibility_aware_edge_ldp.evaluation.trials import Progress
from visibility_aware_edge_ldp.truth.graph import Graph

ALL = "all"


def chosen(table: str) -> tuple[str, ...]:
    """The documents that a name stands for."""
    if table == ALL:
        return tuple(DOCUMENTS)
    if table not in DOCUMENTS:
        raise BadInput(f"{table!r} is not a table; use one of {', '.join([*DOCUMENTS, ALL])}.")
    return (table,)


def steps(documents: Iterable[str], trials: int) -> int:
    """How many collections these tables take."""
    every = (cell for document in documents for cell in DOCUMENTS[document].cells(trials).values())
    return sum(len(cell.epsilons) * cell.trials for cell in every)


def reproduce(
    documents: Iterable[str], graph: Graph, trials: int, seed: int | str, progress: Progress
) -> list[Reproduction]:
    """Measure everything that these documents' tables are set beside; slow cells take fewer trials."""
    if trials < 1:
        raise BadInput(f"At least one trial is needed; got {trials}.")
    laboratory = Laboratory(graph, seed)
    done = []
    for document in documents:
        source = DOCUMENTS[document]
        cells = source.cells(trials)
        found = {name: laboratory.measure(f"{document} {name}", cell, progress) for name, cell in cells.items()}
        done.append(source.assembled(found, laboratory))
    return done
