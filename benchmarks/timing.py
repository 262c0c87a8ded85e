"""What all benchmarks use: rivals timed in turn in the same run, medians and quartiles, and peak memory."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

REST, SETTLED = 0.2, 0.5


@dataclass(frozen=True)
class Times:
    """How long each round took, in seconds."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between these lies the middle half of the rounds."""
        if len(self.seconds) == 1:
            return self.seconds[0], self.seconds[0]
        low, _, high = quantiles(self.seconds, n=4, method="inclusive")
        return low, high


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def side_by_side(rounds: int, takes: Mapping[str, Callable[[], float]]) -> dict[str, Times]:
    """The times of each, taken in turn so that a slow moment of the machine hits all alike.

    A short rest before each: the threads of a matrix product go on spinning for a while, and would slow what follows.
    Then each is repeated for half a second, and the middle of the later half counts: cores that slept are woken one
    after the other, which work of milliseconds would pay for and a long one would not.
    """
    times: dict[str, list[float]] = {name: [] for name in takes}
    for _ in range(rounds):
        for name, take in takes.items():
            time.sleep(REST)
            times[name].append(_settled(take))
    return {name: Times(tuple(found)) for name, found in times.items()}


def _settled(take: Callable[[], float]) -> float:
    begin, found = time.perf_counter(), [take()]
    while time.perf_counter() - begin < SETTLED:
        found.append(take())
    return median(found[len(found) // 2 :])


def peak_megabytes() -> float:
    """The most memory this process has held; what getrusage says would begin with its parent's, where it was forked."""
    status = Path("/proc/self/status")
    if status.is_file():
        known = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return int(known["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def dataset(filename: str) -> Path | None:
    """A real graph, where VA_EDGE_LDP_DATA says."""
    path = Path(os.environ.get("VA_EDGE_LDP_DATA", "")) / filename
    return path if path.is_file() else None
