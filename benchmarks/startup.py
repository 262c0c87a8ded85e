"""How long a fresh process takes: help, import, and the first estimate with compiled kernels in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registry import OURS, Comparison, Setting, Target, Work
from benchmarks.timing import seconds

TIMED_IMPORT = (
    "import time; begin = time.perf_counter(); import visibility_aware_edge_ldp; print(time.perf_counter() - begin)"
)
FIRST_ESTIMATE = (
    "import visibility_aware_edge_ldp as va; "
    "from visibility_aware_edge_ldp.dataset import default_graph; "
    "world = va.VisibilityAwareGraph(default_graph()[0], va.VisibilityPolicy.nothing()); "
    "va.estimate(world, epsilon=1)"
)


def run(*command: str) -> str:
    """What a command prints. Python may keep its bytecode, as it does for whoever installed the package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def process(*command: str) -> Setting:
    """The whole life of a process."""
    return Setting("a new process, start to end", (Work(OURS, lambda: seconds(lambda: run(*command))),))


def program() -> Sequence[str]:
    """The command line beside this Python, or the module where there is none."""
    installed = Path(sys.executable).with_name("va-edge-ldp")
    return [str(installed)] if installed.is_file() else [sys.executable, "-m", "visibility_aware_edge_ldp.cli"]


def imported() -> Setting:
    """Measured inside: without the start of Python itself."""
    return Setting("inside a new process", (Work(OURS, lambda: float(run(sys.executable, "-c", TIMED_IMPORT))),))


COMPARISONS = (
    Comparison("help", "`va-edge-ldp --help`", lambda: process(*program(), "--help"), (Target("seconds", 0.25),), 9),
    Comparison("import", "`import visibility_aware_edge_ldp`", imported, (Target("seconds", 0.1),), 9),
    Comparison(
        "first-estimate",
        "first Facebook estimate from a cold process, warm cache",
        lambda: process(sys.executable, "-c", FIRST_ESTIMATE),
        (Target("seconds", 1.5),),
    ),
)
