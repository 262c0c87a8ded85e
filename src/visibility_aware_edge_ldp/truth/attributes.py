"""What is known of each node beside its edges: profile fields, read from CSV."""

import csv
import io
import operator
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.truth.text_file import load_bytes

Column = npt.NDArray[Any]
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(
    r"""\s* (?P<column> [^<>=!]+? ) \s* (?P<operator> == | != | >= | <= | > | < ) \s*
        (?: (?P<number> [+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? )
          | "(?P<double>[^"]*)" | '(?P<single>[^']*)' ) \s*""",
    re.VERBOSE | re.ASCII,
)
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)


@dataclass(frozen=True, eq=False)
class NodeTable:
    """One row for each node.

    Parameters
    ----------
    names
        The node of each row; whole numbers are ints.
    columns
        Field name to one value for each row: numbers where all values are, else text.
    """

    names: Sequence[Hashable]
    columns: Mapping[str, Column] = field(repr=False)

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise BadInput("A node has two rows in the table of attributes. Keep one row for each node.")
        for column, values in self.columns.items():
            if len(values) != len(self.names):
                raise BadInput(f"Column {column!r} has {len(values)} values for {len(self.names)} nodes.")
            values.setflags(write=False)
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str) -> Column:
        """The values of one field."""
        if name not in self.columns:
            raise BadInput(f"There is no column {name!r}. The table has: {', '.join(self.columns)}.")
        return self.columns[name]

    def where(self, condition: str) -> dict[Hashable, bool]:
        """Which nodes meet a condition.

        Parameters
        ----------
        condition
            A column, one of ``== != >= <= > <``, and a number or quoted text: ``"work > 0"``,
            ``"country == 'NL'"``. It is parsed, never evaluated as code.

        Examples
        --------
        >>> NodeTable(["ann", "bob"], {"work": np.array([2, 0])}).where("work > 0")
        {'ann': True, 'bob': False}
        """
        column, compare, value = _parse(condition)
        held = _comparable(self.column(column), value, column)
        if isinstance(value, str) and compare in (operator.eq, operator.ne) and value not in held:
            # A misspelt value would make nobody's profile public, or everybody's.
            some = ", ".join(map(repr, sorted(set(held.tolist()))[:5]))
            raise BadInput(f"No node has {value!r} in the column {column!r}, which has {some}; check the spelling.")
        met = compare(held, value)
        return dict(zip(self.names, met.tolist(), strict=True))


def read_attributes(path: str | Path, *, node: str = "id") -> NodeTable:
    """Read a table of node attributes.

    Parameters
    ----------
    path
        A CSV file with a header line, gzipped or not.
    node
        The column that names the nodes.
    """
    file = Path(path).expanduser()
    header, rows = read_rows(file)
    if node not in header:
        way_out = "Rename the one that names them, or say node = in a policy file."
        raise BadInput(f"{file.name} has no column {node!r} to name the nodes. It has: {', '.join(header)}. {way_out}")
    columns = {name: _typed(list(values)) for name, values in zip(header, zip(*rows, strict=True), strict=True)}
    names = columns.pop(node).tolist()
    if any(name == "" or name != name for name in names):
        raise BadInput(f"{file.name} has a row without a name in column {node!r}. Fill it in or remove the row.")
    return NodeTable(names, columns)


def attribute_rows(table: Any, missing: Any = "") -> Mapping[Hashable, Mapping[str, Hashable]]:
    """A table as one mapping a node; gaps and values equal to ``missing`` are None."""
    if isinstance(table, Mapping):
        return table
    if isinstance(table, NodeTable):
        names, columns = table.names, {name: values.tolist() for name, values in table.columns.items()}
    elif hasattr(table, "columns") and hasattr(table, "index"):
        key = next((name for name in ("id", "node") if name in table.columns), None)
        names = (table.index if key is None else table[key]).tolist()
        columns = {str(name): table[name].tolist() for name in table.columns if name != key}
    else:
        raise BadInput(f"Attributes must be a mapping, a NodeTable or a DataFrame; got {type(table).__name__}.")
    # A gap in a column of numbers is NaN, which is no value and not equal to itself.
    return {
        name: {
            column: None if values[i] == missing or values[i] != values[i] else values[i]
            for column, values in columns.items()
        }
        for i, name in enumerate(names)
    }


def read_rows(file: Path) -> tuple[list[str], list[list[str]]]:
    """The header of a CSV file, and its rows."""
    try:
        text = load_bytes(file, BadInput).data.decode("utf-8")
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except (UnicodeDecodeError, csv.Error):
        raise BadInput(f"{file.name} is not a CSV file. Give UTF-8 text, plain or gzipped.") from None
    except ValueError as reason:
        if isinstance(reason, BadInput):
            raise
        raise BadInput(f"{file.name} is empty. Give a CSV file with a header line.") from None
    _check_shape(header, rows, file.name)
    return [name.strip() for name in header], rows


def _check_shape(header: list[str], rows: list[list[str]], name: str) -> None:
    if not rows:
        raise BadInput(f"{name} has a header and no rows. Give one row for each node.")
    if len({title.strip() for title in header}) < len(header):
        raise BadInput(f"{name} has two columns of the same name. Rename one of them.")
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != len(header)), None)
    if wrong is not None:
        count = len(rows[wrong - 1])
        raise BadInput(f"Row {wrong} of {name} has {count} values for {len(header)} columns. Complete the row.")


def _typed(values: list[str]) -> Column:
    """Whole numbers, else decimals (an empty value is NaN), else text."""
    texts = [value.strip() for value in values]
    if all(map(_WHOLE.fullmatch, texts)):
        numbers = [int(text) for text in texts]
        small = max(map(abs, numbers)) < 2**63
        return np.array(numbers, dtype=np.int64 if small else object)
    try:
        if any(texts):
            return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        pass
    return np.array(texts)


def _parse(condition: str) -> tuple[str, Callable[[Any, Any], Any], float | str]:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise BadInput(
            f"The condition {condition!r} cannot be read. Write a column, one of {' '.join(_OPERATORS)}, "
            "and a number or quoted text, as in: work > 0, or: country == 'NL'."
        )
    compare = _OPERATORS[found["operator"]]
    if found["number"] is not None:
        text = found["number"]
        return found["column"], compare, int(text) if _WHOLE.fullmatch(text) else float(text)
    return found["column"], compare, found["double"] if found["double"] is not None else found["single"]


def _comparable(values: Column, value: float | str, column: str) -> Column:
    if (values.dtype.kind == "U") != isinstance(value, str):
        kind, use = ("text", "quotes") if values.dtype.kind == "U" else ("numbers", "no quotes")
        raise BadInput(f"Column {column!r} holds {kind}; use {use} in the condition.")
    return values
