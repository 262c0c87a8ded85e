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
_DRAFT = ".draft"


class BroadcastFile:
    """The file with a campaign's transcript, for a proxy to hand out; without a folder nothing is written."""

    def __init__(self, folder: Path | None = None, below: str = "") -> None:
        self.folder, self._inside = folder, Path(below.strip("/"), TRANSCRIPT)
        self.path = None if folder is None else folder / self._inside

    def keep(self, octets: bytes, moment: int) -> None:
        """Put these octets there; a proxy that finds no file asks the server, so that failing is no more than slow."""
        if self.folder is None:
            return
        try:
            self._write(self.folder, octets, moment)
        except OSError as failure:
            failed("broadcast file", failure)

    def _write(self, folder: Path, octets: bytes, moment: int) -> None:
        """Everybody may read it and what it lies in, whatever the umask is; all but the folder itself is ours."""
        path = folder / self._inside
        path.parent.mkdir(parents=True, exist_ok=True)
        for each in list(self._inside.parents)[:-1]:
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
        if self.path is None:
            return
        try:
            for each in (self.path, *self.path.parent.glob(f"{_DRAFT}*")):
                each.unlink(missing_ok=True)
        except OSError as failure:
            raise StoreUnavailable(f"The broadcast's file cannot be removed: {failure.strerror}.") from failure
