"""The files of a comparison: numbers for machines, a page and figures for people."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.audit.tables import LIMITS, tables, verdict
from visibility_aware_edge_ldp.errors import BadInput, MissingPart
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM, Comparison
from visibility_aware_edge_ldp.presentation.comparison_figures import error_file, middle_epsilon, more_files
from visibility_aware_edge_ldp.presentation.comparison_page import page
from visibility_aware_edge_ldp.presentation.files import csv_bytes, filled, finite, json_text, write_whole
from visibility_aware_edge_ldp.presentation.group_files import group_files
from visibility_aware_edge_ldp.presentation.lever_figures import lever_files
from visibility_aware_edge_ldp.presentation.plan_figures import figure_files

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.audit.runner import Audited
    from visibility_aware_edge_ldp.evaluation.plan.planner import Plan
    from visibility_aware_edge_ldp.evaluation.plan.scenarios import Publicity

AUDIT_TEMPLATE = "audit.html.j2"
SEEDS = {
    "exact": "none: every coin is walked",
    "statistical": "audit",
    "one run": "one run",
    "false alarms": "false alarms 0, false alarms 1, …",
    "time": "none for the noise; the order of the measurements by the client's name",
}


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


def write_estimates(found: Mapping[str, Any], certificate: str, folder: str | Path) -> list[Path]:
    """Write estimate.json, estimate.csv (single numbers), files of groups, and certificate.txt; each whole or not."""
    rows = []
    for name, each in found["estimates"].items():
        if isinstance(each["value"], float):
            (low, high), uncut = each["interval"], each.get("uncut_interval", each["interval"])
            row = {"statistic": name, "value": each["value"], "standard_error": each["standard_error"], "low": low}
            row |= {"high": high, "uncut_low": uncut[0], "uncut_high": uncut[1]}
            rows.append(row | ({"truth": each["truth"]} if "truth" in each else {}))
    files = {
        "estimate.json": _bytes(json_text("estimate", found) + "\n"),
        **({"estimate.csv": csv_bytes(rows)} if rows else {}),
        **group_files(found),
    }
    return write_whole(Path(folder), {**files, "certificate.txt": _bytes(certificate + "\n")})


def report(comparison: Comparison, command: str, audit: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """What people look at: the page, and the figures on their own."""
    drawn = {"error": error_file(comparison), **more_files(comparison)}
    drawn |= lever_files(comparison, middle_epsilon(comparison))
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
    made = {"software": "VA-Edge-LDP", "version": __version__, "command": command, "simulation": True}
    return _bytes(json_text("results", {**made, **comparison.as_dict()}) + "\n")


def as_csv(comparison: Comparison) -> bytes:
    """The rows of both policies below each other; what is not a finite number is empty."""
    rows = [
        {"policy": policy, **finite({**row.as_dict(), "errors": " ".join(map(repr, row.errors))})}
        for policy, evaluation in ((AWARE, comparison.aware), (UNIFORM, comparison.uniform))
        for row in evaluation
    ]
    return csv_bytes(rows)


def _bytes(text: str) -> bytes:
    """UTF-8; names of files that are no valid text are spelled out, as JSON spells them too."""
    return text.encode("utf-8", errors="backslashreplace")


def audit_content(audited: Audited, command: str) -> dict[str, Any]:
    """Everything that was found, with what is needed to find it again; what is not a finite number is None."""
    made = {
        "software": "VA-Edge-LDP",
        "version": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "command": command,
        "seeds": SEEDS,
    }
    shown = {"verdict": verdict(audited), "limits": LIMITS, "tables": [asdict(table) for table in tables(audited)]}
    told: dict[str, Any] = finite({**made, **audited.as_dict(), **shown})
    return told


def write_audit(audited: Audited, folder: str | Path, command: str) -> list[Path]:
    """Write audit.json and audit.html; each appears whole or not at all."""
    target, told = Path(folder), audit_content(audited, command)
    numbers = write_whole(target, {"audit.json": f"{json_text('audit', told)}\n".encode()})
    try:
        html = filled(AUDIT_TEMPLATE, audit=told, version=__version__)
    except MissingPart as missing:
        purpose = f"The numbers are in {numbers[0]}; the page beside them"
        raise MissingPart(missing.library, missing.extra, purpose) from missing
    return numbers + write_whole(target, {"audit.html": html.encode()})


def write_plan(plan: Plan, folder: str | Path, rows: Sequence[Publicity] = ()) -> list[Path]:
    """Write plan.json, plan.csv, and each figure as SVG and PNG; the numbers also where nothing can be drawn."""
    content = {**plan.as_dict(), "more_public": [row.as_dict() for row in rows]}
    files = {
        "plan.json": json_text("plan", content).encode(),
        "plan.csv": csv_bytes([each.as_dict() for each in plan.predictions]),
    }
    if rows:
        files["public.csv"] = csv_bytes([row.as_dict() for row in rows])
    written = write_whole(Path(folder), files)
    try:
        return written + write_whole(Path(folder), figure_files(plan, rows))
    except MissingPart as missing:
        raise MissingPart(missing.library, missing.extra, f"The numbers are in {written[0]}; a figure") from missing
