"""What a result can be turned into: a DataFrame, plain values, CSV, LaTeX, a plot, a table in a notebook."""

import csv
import html
import io
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from visibility_aware_edge_ldp.errors import MissingPart

Records = list[dict[str, Any]]
Numbers = Sequence[float | None]
_LATEX = str.maketrans({mark: f"\\{mark}" for mark in "&%$#_{}"} | {"ε": "$\\varepsilon$", "×": "$\\times$"})


def aligned(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """The lines of a table of texts: the first ``left`` columns flush left, the others flush right."""
    columns = []
    for place, column in enumerate(zip(*rows, strict=True)):
        width, pad = max(map(len, column)), str.ljust if place < left else str.rjust
        columns.append([pad(cell, width) for cell in column])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


class ShadedCell(NamedTuple):
    """One cell of a matrix: a value and its interval, None where unknown, and how dark it is, from 0 to 10."""

    value: float | None
    low: float | None
    high: float | None
    shade: int


def shaded_matrix(
    pairs: Sequence[Sequence[str]], values: Numbers, lows: Numbers, highs: Numbers
) -> tuple[list[str], list[list[ShadedCell]]]:
    """The groups of a matrix and its rows: the darker a cell, the larger its value.

    A pair that is not there has the cell of the same two groups in the other order.
    """
    told = {(a, b): each for (a, b), each in zip(pairs, zip(values, lows, highs, strict=True), strict=True)}
    groups = list(dict.fromkeys(group for pair in told for group in pair))
    most = max(1e-9, *(value or 0.0 for value, _, _ in told.values()))

    def cell(row: str, column: str) -> ShadedCell:
        value, low, high = told.get((row, column)) or told[column, row]
        return ShadedCell(value, low, high, round(10 * min(max((value or 0.0) / most, 0.0), 1.0)))

    return groups, [[cell(row, column) for column in groups] for row in groups]


class Tabular:
    """A result that is rows of named values. A subclass gives `records` and, where it can be drawn, `draw`."""

    @abstractmethod
    def records(self) -> Records:
        """One dictionary of plain values for each row, all with the same keys."""

    def draw(self, axes: Any) -> None:
        """Draw the result on matplotlib axes."""
        raise TypeError(f"A {type(self).__name__} has no plot; use .to_frame().plot().")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise MissingPart("pandas", "graph", "A DataFrame") from None
        return pandas.DataFrame(self.records())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line's ``--json`` prints them."""
        made: Callable[[], dict[str, Any]] | None = getattr(self, "as_dict", None)
        return made() if made else {"rows": self.records()}

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """The rows as CSV: written to a file, or returned where no path is given."""
        rows, text = self.records(), io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        if path is None:
            return text.getvalue()
        Path(path).write_text(text.getvalue(), encoding="utf-8", newline="")
        return None

    def to_latex(self) -> str:
        """The rows as a LaTeX tabular, to paste into a paper."""
        rows = self.records()
        head = list(rows[0]) if rows else []
        lines = [" & ".join(map(_in_latex, line)) + r" \\" for line in (head, *(row.values() for row in rows))]
        body = "\n".join([lines[0], r"\hline", *lines[1:]])
        return f"\\begin{{tabular}}{{{'l' * len(head)}}}\n{body}\n\\end{{tabular}}\n"

    def plot(self, ax: Any = None) -> Any:
        """Draw on matplotlib axes, new ones where none are given; the axes are returned."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise MissingPart("matplotlib", "plot", "A plot") from None
        axes = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        self.draw(axes)
        return axes


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for a notebook; every text is escaped."""
    lines = [_html_line("th", head), *(_html_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _html_line(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _in_latex(value: Any) -> str:
    return (f"{value:.4g}" if isinstance(value, float) else str(value)).translate(_LATEX)


def draw_lines(axes: Any, rows: Iterable[Mapping[str, Any]], y: str, of: Sequence[str], label: str) -> None:
    """One line of ``y`` against ε for each combination of the columns ``of``, on log axes.

    Parameters
    ----------
    axes
        Matplotlib axes.
    rows
        Rows with "epsilon", ``y`` and the columns ``of``.
    label
        What the y axis shows.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row[y] and row[y] == row[y] and row[y] != float("inf"):
            lines.setdefault(", ".join(str(row[name]) for name in of), []).append((row["epsilon"], row[y]))
    for name, points in lines.items():
        axes.plot(*zip(*sorted(points), strict=True), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="ε per private edge", ylabel=label)
    if lines:
        axes.legend(fontsize="small")
