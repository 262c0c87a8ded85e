"""How long reading a large edge list takes, beside NumPy's own reader of the same file.

    python benchmarks/load.py [edges]

Both are timed in turn in the same run, three times; medians and their ratio are printed. The file
is random, written to a temporary folder, and removed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from visibility_aware_edge_ldp.truth.readers import read_graph

ROUNDS = 3
LARGEST_RATIO = 3.0


def write_edges(path: Path, count: int) -> None:
    """A random list of edges among a tenth as many nodes."""
    rows = np.random.default_rng(0).integers(0, max(2, count // 10), (count, 2))
    with path.open("w", encoding="ascii") as file:
        for block in np.array_split(rows, max(1, count // 500_000)):
            file.write("".join(f"{u} {v}\n" for u, v in block.tolist()))


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> int:
    """Time both, print the ratio, and fail when it is larger than promised."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.txt"
        write_edges(path, count)
        theirs, ours = [], []
        for _ in range(ROUNDS):
            theirs.append(seconds(lambda: np.loadtxt(path, dtype=np.int64)))
            ours.append(seconds(lambda: read_graph(path)))
    ratio = median(ours) / median(theirs)
    print(f"{count:,} edges, median of {ROUNDS}")
    print(f"np.loadtxt {median(theirs):.2f} s, read_graph {median(ours):.2f} s")
    print(f"ratio {ratio:.2f} (promised: at most {LARGEST_RATIO:g})")
    return int(ratio > LARGEST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
