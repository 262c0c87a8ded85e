"""USER degrees of 20 million users from a file of 100 million edges that is read as a stream, against NumPy in memory.

Each is run in a process of its own, whose peak of memory is its own:
python -m benchmarks.streams ours FILE USERS
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from benchmarks.registry import OURS, Comparison, Setting, Target, Verdict, Work
from benchmarks.timing import peak_megabytes
from visibility_aware_edge_ldp.simulation.streamed_degrees import estimate_streamed

USERS, EDGES, EPSILON = 20_000_000, 100_000_000, 1
RIVAL = "NumPy bincount and geometric noise, all in memory"
STATISTICS = ("edges", "stars:2", "tail:10")
BLOCK = 4_000_000
MEGABYTES = 3_000


def made(users: int, edges: int) -> Path:
    """A file of edges whose users are unlike: the square of a uniform number says who, a block at a time."""
    path = Path(gettempdir()) / f"va-edge-ldp-{users}-{edges}.bin"
    if path.is_file() and path.stat().st_size == 8 * edges:
        return path
    draw = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, edges, BLOCK):
            count = min(BLOCK, edges - start)
            own = (users * draw.random(count) ** 2).astype("<i4")
            friend = (own + 1 + (draw.random(count) * (users - 1)).astype(np.int64)) % users
            np.stack([own, friend.astype("<i4")], axis=1).tofile(file)
    return path


def ours(path: Path, users: int) -> None:
    """Reading, counting, noise, reports and estimates."""
    estimate_streamed(path, users, EPSILON, STATISTICS)


def numpy_alone(path: Path, users: int) -> None:
    """The same sums as one would write them: the whole file, one count, one noise each, no report."""
    degrees = np.bincount(np.fromfile(path, "<i4"), minlength=users)
    keep, draw = np.exp(-EPSILON / 2), np.random.default_rng()
    noisy = degrees + draw.geometric(1 - keep, users) - draw.geometric(1 - keep, users)
    constant = keep / (1 - keep) ** 2
    noisy.sum(), (noisy * (noisy - 1) / 2 - constant).sum(), (noisy >= 10).sum()


WAYS: dict[str, Callable[[Path, int], None]] = {OURS: ours, RIVAL: numpy_alone}


def setting(users: int, edges: int) -> Setting:
    """Both ways, each in a process of its own, and how much memory ours took."""
    path, peaks = made(users, edges), dict[str, float]()

    def take(name: str) -> float:
        command = [sys.executable, "-m", "benchmarks.streams", name, str(path), str(users)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        took, peaks[name] = map(float, done.stdout.split())
        return took

    def memory() -> tuple[Verdict, ...]:
        found = peaks.get(OURS)
        met = None if found is None else found <= MEGABYTES
        return (Verdict(f"≤ {MEGABYTES:,} MB", "peak memory", found, met),)

    works = tuple(Work(name, lambda name=name: take(name)) for name in WAYS)  # type: ignore[misc]
    return Setting(f"{users:,} users, {edges:,} edges in a file of {8 * edges / 1e6:,.0f} MB", works, also=memory)


COMPARISONS = (
    Comparison(
        "degrees-streamed",
        "USER degrees of 20 million users, edges streamed from a file",
        lambda: setting(USERS, EDGES),
        (Target("seconds", 60),),
        rounds=1,
        long=True,
    ),
)


if __name__ == "__main__":
    begin = time.perf_counter()
    WAYS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    print(time.perf_counter() - begin, peak_megabytes())
