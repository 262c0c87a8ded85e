"""What makes answers in a process of its own, in tests: as it should, for ever, and not at all."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from support.campaign_lab import stub_estimate
from visibility_aware_edge_ldp.errors import BadStatistic

# A file that says that the making has begun stands where this variable of the environment says.
MARK = "VA_EDGE_LDP_MARK"


def same(*given: object) -> bytes:
    """The stand-in, made there."""
    return stub_estimate(*given)


def endless(*given: object) -> bytes:
    """Begins, and does not end; once its mark is gone, the next one makes the answers."""
    mark = Path(os.environ[MARK])
    if mark.exists():
        return stub_estimate(*given)
    mark.write_text(str(os.getpid()))
    time.sleep(600)
    return b""


def killed(*given: object) -> bytes:
    """As where memory is short: the system ends the process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def failing(*given: object) -> bytes:
    """A fault of ours."""
    raise ZeroDivisionError("with words that may quote a report")


def impossible(*given: object) -> bytes:
    """What no reports can tell."""
    raise BadStatistic("nobody knows")
