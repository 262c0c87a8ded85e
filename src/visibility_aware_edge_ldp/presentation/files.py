"""Files that appear whole or not at all, JSON that says its schema, values that it can hold, and HTML templates."""

import csv
import io
import json
import math
import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.errors import BadInput, MissingPart

# Every JSON document that commands print or write, and the version of its schema (docs/reference/schemas.md).
SCHEMAS = {
    "estimate": 1,
    "contact-matrix": 1,
    "target-statistics": 1,
    "publish": 1,
    "compare": 1,
    "results": 1,
    "plan": 1,
    "audit": 1,
    "policy-check": 1,
    "reproduce": 1,
    "ego-survey": 1,
    "datasets": 1,
    "datasets-fetch": 1,
    "campaign-new": 1,
    "campaign-serve": 1,
    "campaign-enroll": 1,
    "campaign-consent": 1,
    "campaign-answer": 1,
    "campaign-answer-dry-run": 1,
    "campaign-status": 1,
    "campaign-own-status": 1,
    "campaign-check": 1,
    "campaign-close": 1,
    "campaign-estimate": 1,
    "campaign-flagged": 1,
    "campaign-backup": 1,
    "campaign-wave": 1,
    "campaign-changes": 1,
    "campaign-rehearse": 1,
    "campaign-amend": 1,
    "campaign-submit": 1,
    "campaign-unanswered": 1,
    "campaign-log": 1,
    "campaign-device-code": 1,
    "campaign-hand-over": 1,
    "campaign-take-over": 1,
    "campaign-console": 1,
}


def schema(name: str) -> str:
    """What the document of this name says of its form: ``va-edge-ldp/estimate/1``."""
    return f"va-edge-ldp/{name}/{SCHEMAS[name]}"


def json_text(name: str, content: Mapping[str, Any], plain: bool = False, line: bool = False) -> str:
    """A document as JSON, its schema first; ``plain`` in ASCII, ``line`` on one line. What is not finite is null."""
    # Only this program says which schema it is, also where the content came from a server.
    told = {"schema": schema(name)} | {key: finite(value) for key, value in content.items() if key != "schema"}
    return json.dumps(told, indent=None if line else 2, ensure_ascii=plain, allow_nan=False)


def csv_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows with the same columns as CSV; what is not a finite number is empty."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(finite(dict(row)) for row in rows)
    return file.getvalue().encode()


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


def filled(template: str, **values: Any) -> str:
    """A template of this folder with these values in it."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingPart("jinja2", "plot", "A report") from error
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)


def script_hash(script: str) -> str:
    """What a page's security policy calls the one script that may run."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
