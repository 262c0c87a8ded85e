"""The files of an audit: audit.json for machines, audit.html for people, and what a report shows of them."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.audit.runner import Audited
from visibility_aware_edge_ldp.evaluation.audit.tables import LIMITS, tables, verdict
from visibility_aware_edge_ldp.evaluation.report.files import finite, write_whole
from visibility_aware_edge_ldp.evaluation.report.page import filled

TEMPLATE = "audit.html.j2"
SEEDS = {
    "exact": "none: every coin is walked",
    "statistical": "audit",
    "one run": "one run",
    "false alarms": "false alarms 0, false alarms 1, …",
    "time": "none for the noise; the order of the measurements by the client's name",
}


def content(audited: Audited, command: str) -> dict[str, Any]:
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
    target, told = Path(folder), content(audited, command)
    text = json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    numbers = write_whole(target, {"audit.json": text.encode()})
    try:
        html = filled(TEMPLATE, audit=told, version=__version__)
    except MissingPart as missing:
        purpose = f"The numbers are in {numbers[0]}; the page beside them"
        raise MissingPart(missing.library, missing.extra, purpose) from missing
    return numbers + write_whole(target, {"audit.html": html.encode()})
