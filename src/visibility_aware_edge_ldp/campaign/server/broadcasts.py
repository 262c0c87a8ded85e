"""The first round's transcript for many readers: a file that a proxy hands out by itself, or one for each part.

A file stands below a folder at the path of its address. It is whole as soon as it is there, has the time at which the
round was closed, so that several machines say the same of it, and goes before the reports do.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable
from visibility_aware_edge_ldp.campaign.server.telemetry import failed

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.server.question_estimates import FirstRoundBroadcast

TRANSCRIPT, PARTS = "v1/rounds/1/transcript", "v1/rounds/1/parts"
_DRAFT = ".draft"


def files_of(broadcast: FirstRoundBroadcast) -> dict[str, bytes]:
    """What people read of a first round, by its address below the campaign's."""
    parts = {f"{PARTS}/{number}": part for number, part in enumerate(broadcast.parts)}
    return parts or {TRANSCRIPT: broadcast.octets}


class BroadcastFile:
    """The files with what people read of a campaign's first round; without a folder nothing is written."""

    def __init__(self, folder: Path | None = None, below: str = "") -> None:
        self.folder, self._inside = folder, Path(below.strip("/"))
        self.path = None if folder is None else folder / self._inside / TRANSCRIPT

    def keep(self, files: Mapping[str, bytes], moment: int) -> None:
        """Put these octets at their addresses; a proxy that finds no file asks the server: failing is only slow."""
        if self.folder is None:
            return
        try:
            for address, octets in files.items():
                self._write(self.folder, self._inside / address, octets, moment)
        except OSError as failure:
            failed("broadcast file", failure)

    def _write(self, folder: Path, inside: Path, octets: bytes, moment: int) -> None:
        """Everybody may read it and what it lies in, whatever the umask is; all but the folder itself is ours."""
        path = folder / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        for each in list(inside.parents)[:-1]:
            (folder / each).chmod(0o755)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=_DRAFT)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(octets)
            Path(draft).chmod(0o644)
            os.utime(draft, (moment, moment))
            Path(draft).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(draft).unlink()
            raise

    def remove(self) -> None:
        """Have nothing there, nor what was being written when a process was killed."""
        if self.folder is None or self.path is None:
            return
        parts = self.folder / self._inside / PARTS
        try:
            for each in (self.path, *self.path.parent.glob(f"{_DRAFT}*"), *parts.glob("*"), *parts.glob(f"{_DRAFT}*")):
                each.unlink(missing_ok=True)
        except OSError as failure:
            raise StoreUnavailable(f"The broadcast's file cannot be removed: {failure.strerror}.") from failure
