"""The source documents' tables beside what was measured: as text, as Markdown and as JSON."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.evaluation.reproduction_measurement import (
    CLAIMED,
    FEWEST,
    Figure,
    Reproduction,
    Row,
    Table,
)
from visibility_aware_edge_ldp.presentation.files import finite, json_text, write_whole

STAND_IN = (
    "The real Facebook graph was not found, so a synthetic one like it stands in: the documents' figures are of "
    "another graph than the measured ones, and factors between them say little. Get the real one with: va-edge-ldp "
    "datasets fetch facebook"
)
CAUTION = "Simulated on a graph that this machine holds; errors are against the truth, so these tables are not private."
NONE = "-"
PREDICTED = f"≈: fewer than {FEWEST} trials; what the estimates' own standard errors mean, 0.8 of them."


@dataclass(frozen=True)
class Shown:
    """A table as texts; the first ``words`` columns hold words."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    note: str = ""


def shown(table: Table) -> Shown:
    """A table as texts."""
    same = all(row.loss == row.epsilon or math.isnan(row.loss) for row in table.rows)
    head = ("what", "ε there", *(() if same else ("loss here",)), *table.columns)
    return Shown(
        table.title,
        head + (("claimed / ours",) if table.factors else ()),
        tuple(_texts(table, row, same) for row in table.rows),
    )


def _texts(table: Table, row: Row, same: bool) -> tuple[str, ...]:
    figures = (_figure(name, row.figures.get(name)) for name in table.columns)
    factor = (f"{row.factor:.1f}×" if math.isfinite(row.factor) else NONE,) if table.factors else ()
    losses = (plain(row.epsilon),) if same else (plain(row.epsilon), plain(row.loss))
    return row.what, *losses, *figures, *factor


def _figure(column: str, figure: Figure | None) -> str:
    """What is claimed stands as it is printed; what is measured has the digits that it is worth."""
    if figure is None:
        return NONE
    if column == CLAIMED:
        return f"{100 * figure.value:.6g} %"
    return f"{'≈ ' if figure.is_predicted else ''}{percent(figure.shown)}"


def plain(value: float) -> str:
    """An epsilon."""
    return NONE if math.isnan(value) else f"{value:g}"


def percent(value: float) -> str:
    """Some digits that count: 24.4 %, 0.036 %, 18,300 %."""
    if not math.isfinite(value):
        return NONE
    size = abs(100 * value)
    digits = 1 if size >= 1 else 2 if size >= 0.1 else 3
    return f"{100 * value:,.0f} %" if size >= 1000 else f"{100 * value:.{digits}f} %"


def trials_of(reproduction: Reproduction) -> str:
    """How many trials are behind each measured column."""
    counts: dict[str, set[int]] = {}
    for row in (row for table in reproduction.tables for row in table.rows):
        for name, figure in row.figures.items():
            if figure.trials:
                counts.setdefault(name, set()).add(figure.trials)
    told = [f"{name} {'–'.join(map(str, sorted({min(each), max(each)})))}" for name, each in counts.items()]
    few = any(min(each) < FEWEST for each in counts.values())
    return f"Trials: {'; '.join(told)}.{f' {PREDICTED}' if few else ''}"


def heading(reproduction: Reproduction) -> str:
    """Which document, and on what."""
    return f"Document {reproduction.document}, {reproduction.place}; measured on {reproduction.graph}"


def markdown(reproductions: Iterable[Reproduction]) -> str:
    """All of it as a page's sections."""
    return "\n\n".join(part for each in reproductions for part in _sections(each)) + "\n"


def _sections(one: Reproduction) -> list[str]:
    tables = [part for table in one.tables for part in (f"**{table.title}**", _grid(shown(table)))]
    differences = "\n".join(f"- {line}" for line in one.differences)
    verdict = [f"**{one.verdict}**"] if one.verdict else []
    return [f"## {heading(one)}", one.loss, *tables, trials_of(one), *verdict, differences]


def _grid(table: Shown) -> str:
    marks = ["---"] * table.words + ["---:"] * (len(table.head) - table.words)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (table.head, marks, *table.rows))


def content(
    reproductions: Iterable[Reproduction], command: str, trials: int, seed: int | str, stand_in: bool
) -> dict[str, Any]:
    """Everything for JSON; what is not a finite number is None."""
    made = {"software": "VA-Edge-LDP", "version": __version__, "command": command, "trials": trials, "seed": seed}
    notes = {"stand_in": stand_in, "note": STAND_IN if stand_in else "", "caution": CAUTION}
    told: dict[str, Any] = finite({**made, **notes, "documents": [each.as_dict() for each in reproductions]})
    return told


def write(told: Mapping[str, Any], reproductions: Iterable[Reproduction], folder: Path) -> list[Path]:
    """Write reproduction.json and reproduction.md; each appears whole or not at all."""
    page = f"# The source documents' tables\n\n{told['note'] or CAUTION}\n\n{markdown(reproductions)}"
    text = f"{json_text('reproduce', told)}\n"
    return write_whole(folder, {"reproduction.json": text.encode(), "reproduction.md": page.encode()})
