"""All comparisons there are, by name."""

from __future__ import annotations

from benchmarks import cluster, downloads, estimates, exact, foretold, growth, startup, streams

PARTS = (estimates, exact, startup, cluster, foretold, downloads, streams, growth)
REGISTRY = {each.name: each for part in PARTS for each in part.COMPARISONS}
GROWTH = "growth"
