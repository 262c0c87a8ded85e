"""A clock for deadlines: what was closed or erased stays so, therefore a jump of the machine's clock ends nothing."""

import logging
import time
from collections.abc import Callable

from visibility_aware_edge_ldp.campaign.server.telemetry import event

Seconds = Callable[[], float]
# A machine that has just started may not have asked anybody for the time yet.
GRACE = 60.0
# The machine's clock is moved by less than this in ordinary service.
ORDINARY = 5.0


def running_time() -> float:
    """Seconds that nobody can set, also those in which the machine slept, where the system counts them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SteadyClock:
    """The time of the machine's clock, as far as the seconds that have run since the start agree.

    After a jump forward, time runs on as before the jump; after one back, it is the machine's. Whoever sets a clock
    right that was behind starts the server anew.
    """

    def __init__(self, wall: Seconds = time.time, running: Seconds = running_time, grace: float = GRACE) -> None:
        self._wall, self._running, self._grace = wall, running, grace
        self._first, self._begun, self._said = wall(), running(), 0.0

    def __call__(self) -> float:
        """Now, in seconds of Unix time: no later than either clock says."""
        return min(self._wall(), self._first + self._running() - self._begun)

    @property
    def jumped(self) -> float:
        """By how many seconds the machine's clock was moved since the start; 0 for what is ordinary."""
        moved = self._wall() - self._first - (self._running() - self._begun)
        return moved if abs(moved) > ORDINARY else 0.0

    def has_passed(self, moment: float) -> bool:
        """Whether a moment has surely gone by, and the server has run long enough to know; tells the log of jumps."""
        jumped = self.jumped
        if abs(jumped - self._said) > ORDINARY:
            self._said = jumped
            event("clock jumped", logging.WARNING, seconds=round(jumped), do="set it right, then start the server anew")
        return self() >= moment and self._running() - self._begun >= self._grace


def has_passed(clock: Seconds, moment: float) -> bool:
    """Whether a moment has gone by; surely, by a steady clock."""
    return clock.has_passed(moment) if isinstance(clock, SteadyClock) else clock() >= moment
