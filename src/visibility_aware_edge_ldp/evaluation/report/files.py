"""The files of a comparison: numbers for machines, a page and figures for people."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.errors import BadInput, MissingPart
from visibility_aware_edge_ldp.evaluation.comparison import AWARE, UNIFORM, Comparison
from visibility_aware_edge_ldp.evaluation.report.figures import error_file
from visibility_aware_edge_ldp.evaluation.report.more_figures import more_files
from visibility_aware_edge_ldp.evaluation.report.page import page


def write_results(comparison: Comparison, folder: str | Path, command: str) -> list[Path]:
    """Write results.json, results.csv, report.html, and each figure as SVG and PNG.

    Each file appears whole or not at all, and replaces an older one of the same name.

    Parameters
    ----------
    comparison
        What was measured.
    folder
        Where to write; made when it is not there.
    command
        What was typed, for the report.

    Returns
    -------
    list[Path]
        The files that were written.

    Raises
    ------
    BadInput
        When the folder cannot be made or written, or nothing was measured.
    MissingPart
        When the report cannot be drawn; results.json and results.csv are written before that.
    """
    if not len(comparison.aware):
        raise BadInput("There is nothing to report: compare at least one statistic at one epsilon.")
    target = Path(folder)
    numbers = write_whole(target, {"results.json": as_json(comparison, command), "results.csv": as_csv(comparison)})
    try:
        drawn = report(comparison, command, audit_beside(target))
    except MissingPart as missing:
        purpose = f"The numbers are in {numbers[0]} and {numbers[1].name}; the report beside them"
        raise MissingPart(missing.library, missing.extra, purpose) from missing
    return numbers + write_whole(target, drawn)


def report(comparison: Comparison, command: str, audit: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """What people look at: the page, and the figures on their own."""
    drawn = {"error": error_file(comparison), **more_files(comparison)}
    files = {"report.html": _bytes(page(comparison, command, audit))}
    for name, (svg, png) in drawn.items():
        files |= {f"{name}.svg": _bytes(svg), f"{name}.png": png}
    return files


def audit_beside(folder: Path) -> Mapping[str, Any] | None:
    """What ``va-edge-ldp audit --output`` left in the same folder, if it was of this version."""
    try:
        found = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(found, dict) and {"passed", "command", "verdict", "limits", "tables"} <= found.keys()
    return found if whole and found.get("version") == __version__ else None


def as_json(comparison: Comparison, command: str) -> bytes:
    """Everything that was measured; what is not a finite number is null."""
    gains = [
        {
            "trust": gain.aware.trust,
            "epsilon": gain.aware.epsilon,
            "statistic": gain.aware.statistic,
            "factor": gain.factor,
            "standard_error": gain.uncertainty,
        }
        for gain in comparison.gains
    ]
    made = {"software": "VA-Edge-LDP", "version": __version__, "command": command, "simulation": True}
    content = finite({**made, **comparison.as_dict(), "gains": gains})
    return _bytes(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def as_csv(comparison: Comparison) -> bytes:
    """The rows of both policies below each other; what is not a finite number is empty."""
    rows = [
        {"policy": policy, **finite(row.as_dict())}
        for policy, evaluation in ((AWARE, comparison.aware), (UNIFORM, comparison.uniform))
        for row in evaluation
    ]
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return _bytes(buffer.getvalue())


def finite(content: Any) -> Any:
    """The same with None for NaN and infinity, which neither JSON nor a spreadsheet knows."""
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_whole(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write all files under temporary names first, and rename them when every one is on the disk."""
    parts = {folder / name: folder / f".{name}.{os.getpid()}.part" for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, content in zip(parts.values(), files.values(), strict=True):
            _write(part, content)
        for path, part in parts.items():
            os.replace(part, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(
            f"The results cannot be written to {folder}: {reason}. Choose another folder, or make room in this one."
        ) from error
    finally:
        for part in parts.values():
            _discard(part)
    return list(parts)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # a name must not come to stand for a file that a power cut has emptied


def _discard(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return  # the folder itself is the trouble, and that has been said


def _bytes(text: str) -> bytes:
    """UTF-8; names of files that are no valid text are spelled out, as JSON spells them too."""
    return text.encode("utf-8", errors="backslashreplace")
