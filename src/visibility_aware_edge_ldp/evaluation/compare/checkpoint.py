"""Finished trials of a comparison, in a file from which a stopped one goes on."""

import json
import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.compare.design import Cell, Design
from visibility_aware_edge_ldp.evaluation.expected_errors import Measured
from visibility_aware_edge_ldp.evaluation.results import Histogram, Matrix

FILE = "trials.jsonl"


@dataclass(frozen=True)
class Trial:
    """What came of one cell."""

    seconds: float
    found: Mapping[str, Measured]
    histogram: Histogram | None = None
    matrices: Mapping[str, Matrix] = field(default_factory=dict)


class Checkpoint:
    """A file of finished trials; nothing is kept where there is no folder.

    A line belongs to a cell when what it depends on has the same digest; lines of other runs stay where they are.
    """

    def __init__(self, folder: str | Path | None, design: Design) -> None:
        self.path = None if folder is None else Path(folder) / FILE
        self._digests = (
            {(t, p): design.digest(t, p) for t in design.questions for p in design.policies} if folder else {}
        )
        self.trials = self._read([*design.cells, *design.extra_cells]) if self.path else {}

    def add(self, cell: Cell, trial: Trial) -> None:
        """Keep a finished trial: its line is on the disk when this returns."""
        self.trials[cell] = trial
        if self.path is not None:
            line = json.dumps({**self._address(cell), **_plain(trial)}, ensure_ascii=False, allow_nan=False)
            self._append(f"{line}\n".encode())

    def _address(self, cell: Cell) -> dict[str, Any]:
        named = {"trust": cell.trust, "policy": cell.policy, "epsilon": str(cell.epsilon), "trial": cell.trial}
        return {"run": self._digests[cell.trust, cell.policy], **named}

    def _append(self, line: bytes) -> None:
        path = self.path
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab+") as file:
                # A line that a power cut has torn must not take the next one with it.
                file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
                whole = file.read(1) in (b"", b"\n")
                file.write(line if whole else b"\n" + line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BadInput(
                f"Finished trials cannot be kept in {path}: {error.strerror or error}. Choose another folder."
            ) from error

    def _read(self, cells: list[Cell]) -> dict[Cell, Trial]:
        lines = {_key(line): line for line in _lines(self.path)}
        wanted = {cell: _key(self._address(cell)) for cell in cells}
        return {cell: _trial(lines[key]) for cell, key in wanted.items() if key in lines}


def _key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("run", "trust", "policy", "epsilon", "trial"))


def _lines(path: Path | None) -> list[dict[str, Any]]:
    """What can be read of the file; a torn or foreign line is as good as none."""
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    except OSError:
        return []
    found = []
    for text in texts:
        try:
            line = json.loads(text)
            _key(line), _trial(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        found.append(line)
    return found


def _plain(trial: Trial) -> dict[str, Any]:
    found = {name: [_number(value) for value in astuple(one)] for name, one in trial.found.items()}
    drawn = trial.histogram
    return {
        "seconds": round(trial.seconds, 4),
        "found": found,
        "histogram": None if drawn is None else {"bins": drawn.bins, "nodes": drawn.nodes},
        "matrices": {
            name: [each.pairs, *([_number(value) for value in part] for part in (each.values, each.lows, each.highs))]
            for name, each in trial.matrices.items()
        },
    }


def _number(value: float) -> float | str:
    """JSON has no NaN and no infinity; their names are read back by float."""
    return value if value - value == 0 else str(value)


def _trial(line: Mapping[str, Any]) -> Trial:
    drawn = line["histogram"]
    histogram = (
        None
        if drawn is None
        else Histogram(tuple((int(a), int(b)) for a, b in drawn["bins"]), tuple(map(float, drawn["nodes"])))
    )
    found = {name: Measured(*map(float, values)) for name, values in line["found"].items()}
    matrices = {
        name: Matrix(tuple((str(a), str(b)) for a, b in pairs), *(tuple(map(float, part)) for part in parts))
        for name, (pairs, *parts) in line["matrices"].items()
    }
    return Trial(float(line["seconds"]), found, histogram, matrices)
