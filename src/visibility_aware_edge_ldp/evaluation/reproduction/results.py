"""A document's table beside what was measured: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from visibility_aware_edge_ldp.evaluation.reproduction.cells import Figure

CLAIMED, HONEST, OURS = "claimed", "run honestly", "ours"


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Parameters
    ----------
    epsilon
        As the document names it.
    loss
        Per PRIVATE edge against all reports: what the measured columns spend.
    what
        The statistic, or the graph and the statistic.
    figures
        By column; a column that cannot be filled is missing.
    """

    epsilon: float
    loss: float
    what: str
    figures: Mapping[str, Figure]

    @property
    def factor(self) -> float:
        """How many times the claimed error ours is smaller; NaN without a claim."""
        claim, ours = self.figures.get(CLAIMED), self.figures.get(OURS)
        return claim.shown / ours.shown if claim and ours and ours.shown else float("nan")


@dataclass(frozen=True)
class Table:
    """Rows with the same columns; ``factors`` says whether claimed / ours is worth a column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    factors: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [
            {
                "epsilon": row.epsilon,
                "loss_per_private_edge": row.loss,
                "what": row.what,
                "figures": {name: {**asdict(f), "shown": f.shown} for name, f in row.figures.items()},
                **({"claimed_over_ours": row.factor} if self.factors else {}),
            }
            for row in self.rows
        ]
        return {"title": self.title, "columns": list(self.columns), "rows": rows}


@dataclass(frozen=True)
class Reproduction:
    """All of one document.

    Parameters
    ----------
    document, place, graph
        Which document, where its figures stand, and on what they were measured here.
    loss
        How the document's epsilon converts to a loss per edge against all reports.
    differences
        One sentence for each thing that differs.
    verdict
        What was to be shown, and whether it was; empty where nothing was.
    """

    document: str
    place: str
    graph: str
    loss: str
    tables: tuple[Table, ...]
    differences: tuple[str, ...]
    verdict: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        words = {name: getattr(self, name) for name in ("document", "place", "graph", "loss", "verdict")}
        return {**words, "differences": list(self.differences), "tables": [table.as_dict() for table in self.tables]}
