"""The files of a plan: numbers for machines and figures for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.plan.figures import figure_files
from visibility_aware_edge_ldp.evaluation.plan.planner import Plan
from visibility_aware_edge_ldp.evaluation.plan.publicity import Publicity
from visibility_aware_edge_ldp.evaluation.report.files import finite, write_whole


def write_plan(plan: Plan, folder: str | Path, rows: Sequence[Publicity] = ()) -> list[Path]:
    """Write plan.json, plan.csv, and each figure as SVG and PNG; the numbers also where nothing can be drawn."""
    content = {**plan.as_dict(), "more_public": [row.as_dict() for row in rows]}
    text = json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    files = {"plan.json": text.encode(), "plan.csv": _csv([each.as_dict() for each in plan.predictions])}
    if rows:
        files["public.csv"] = _csv([row.as_dict() for row in rows])
    written = write_whole(Path(folder), files)
    try:
        return written + write_whole(Path(folder), figure_files(plan, rows))
    except MissingPart as missing:
        raise MissingPart(missing.library, missing.extra, f"The numbers are in {written[0]}; a figure") from missing


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(finite(row) for row in rows)
    return file.getvalue().encode()
