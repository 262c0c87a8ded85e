"""All comparisons there are, by name."""

from __future__ import annotations

from benchmarks import estimates, exact, startup
from benchmarks.registry import Comparison, NotHereError, Setting, Target


def no_cluster() -> Setting:
    """For targets whose code is not written yet: they are listed all the same."""
    raise NotHereError("there is no distributed engine yet")


NOT_YET = (
    Comparison("dask-200000", "200,000 nodes over Dask, 2 workers", no_cluster, (Target("seconds", 600),)),
    Comparison("dask", "Dask with 2 workers, 50,000 nodes", no_cluster, (Target("times", 1.15, "2 threads"),)),
)
REGISTRY = {each.name: each for each in (*estimates.COMPARISONS, *exact.COMPARISONS, *startup.COMPARISONS, *NOT_YET)}
GROWTH = "growth"
