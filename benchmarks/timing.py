"""What all benchmarks use: rivals timed in turn in the same run, medians, and peak memory."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def side_by_side(rounds: int, **works: Callable[[], object]) -> dict[str, float]:
    """The median time of each, timed in turn so that a slow moment of the machine hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: median(found) for name, found in times.items()}


def peak_megabytes() -> float:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def dataset(filename: str) -> Path | None:
    """A real graph, where VA_EDGE_LDP_DATA says."""
    path = Path(os.environ.get("VA_EDGE_LDP_DATA", "")) / filename
    return path if path.is_file() else None
