"""Files and names that are on disk when a function ends."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """What a file holds, or the names in a folder, are on disk when this ends."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened there; names are written with the file
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_new(path: Path, data: bytes, mode: int) -> None:
    """A file that was not there before."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    _write(handle, data)


def write_over(path: Path, data: bytes) -> None:
    """The file holds the old bytes or the new ones, whenever the machine stops; only its owner may read it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    _write(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), data)
    draft.replace(path)
    sync(path.parent)


def _write(handle: int, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
