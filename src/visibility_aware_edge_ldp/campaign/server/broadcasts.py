"""The first round's transcript for many readers: a file that a proxy hands out by itself.

The file stands below a folder at the path of its address. It is whole as soon as it is there, has the time at which the
round was closed, so that several machines say the same of it, and goes before the reports do.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable
from visibility_aware_edge_ldp.campaign.server.telemetry import failed

TRANSCRIPT = "v1/rounds/1/transcript"


class BroadcastFile:
    """Where a campaign's transcript is for a proxy; nowhere without a folder."""

    def __init__(self, folder: Path | None = None, below: str = "") -> None:
        self.path = None if folder is None else folder / below.strip("/") / TRANSCRIPT

    def keep(self, octets: bytes, moment: int) -> None:
        """Put these octets there; a proxy that finds no file asks the server, so that failing is no more than slow."""
        if self.path is None:
            return
        try:
            self._write(self.path, octets, moment)
        except OSError as failure:
            failed("broadcast file", failure)

    @staticmethod
    def _write(path: Path, octets: bytes, moment: int) -> None:
        for folder in reversed(path.parents[:5]):
            folder.mkdir(exist_ok=True, mode=0o755)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(octets)
                os.fchmod(file.fileno(), 0o644)  # everybody may read it, whatever the umask is
            os.utime(draft, (moment, moment))
            Path(draft).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(draft).unlink()
            raise

    def remove(self) -> None:
        """Have nothing there, nor what was being written when a process was killed."""
        if self.path is None:
            return
        try:
            for each in (self.path, *self.path.parent.glob(".draft*")):
                each.unlink(missing_ok=True)
        except OSError as failure:
            raise StoreUnavailable(f"The broadcast's file cannot be removed: {failure.strerror}.") from failure
