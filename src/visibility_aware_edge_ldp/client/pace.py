"""Answering at a public pace, so that when an answer leaves tells nothing of what it was made from.  [PACE.1]"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from visibility_aware_edge_ldp.errors import BadInput

Answer = TypeVar("Answer")

# A sleeping process is woken late, perhaps the later the longer it slept; the last moments are waited awake.
_AWAKE = 0.002


@dataclass(frozen=True)
class Paced(Generic[Answer]):
    """An answer, and on which beat after the question it left: 1 unless the work took longer than the pace."""

    answer: Answer
    beats: int

    @property
    def overran(self) -> bool:
        """Whether the work took longer than the pace; the answer's time then tells that it did."""
        return self.beats > 1


def paced(
    seconds: float,
    work: Callable[[], Answer],
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> Paced[Answer]:
    """Do the work and wait for the next whole multiple of ``seconds``, for refusals as for answers.  [PACE.1]

    Choose the pace from public numbers: a few milliseconds longer than the longest list that the roster allows takes,
    so that every answer is preceded by the same last moments.

    Parameters
    ----------
    clock, sleep
        Where time comes from; tests bring their own.
    """
    if not seconds > 0 or math.isinf(seconds):
        raise BadInput(f"A pace is a number of seconds above 0; got {seconds!r}.")
    start = clock()
    try:
        answer = work()
    except BaseException:
        _wait_until(_beat(start, seconds, clock)[1], clock, sleep)
        raise
    beats, moment = _beat(start, seconds, clock)
    # All is ready before the wait: after it nothing is left to do that could be faster or slower.
    done = Paced(answer, beats)
    _wait_until(moment, clock, sleep)
    return done


def _beat(start: float, seconds: float, clock: Callable[[], float]) -> tuple[int, float]:
    """The number and the moment of the next beat."""
    beats = max(1, math.ceil((clock() - start) / seconds))
    return beats, start + beats * seconds


def _wait_until(moment: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
    while (left := moment - clock()) > _AWAKE:
        sleep(left - _AWAKE)
    while clock() < moment:
        pass
