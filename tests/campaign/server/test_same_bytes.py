"""Reports and answers are the same to the last byte on other processors, with other threads, and with plain kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

TESTS = Path(__file__).parents[2]
# All that clients send and a server publishes, in a new process: its environment decides how NumPy and kernels work.
ALONE = """
import json, sys
import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.public.statistic import EIGEN, GRAPHLETS
from visibility_aware_edge_ldp.truth.synthetic import powerlaw
from campaign.server.test_estimate_json import AWAY, CASES, told
EVERY = ("edges", "stars:2", "triangles", "transitivity", "four_cycles", "max_degree", "degree_histogram", "degrees")
EVERY += tuple(GRAPHLETS)
CASES["position"] = ("position", EVERY, *CASES["position"][2:])
found = {}
for case in CASES:
    for who in AWAY:
        _, reports, data = told(case, who)
        bodies = {n: {user: body.hex() for user, body in sorted(each.items())} for n, each in sorted(reports.items())}
        found[f"{case}, {who}"] = [bodies, data.decode()]
# No campaign asks for eigenvalues; the library does.
asked = {"policy": "nothing", "epsilon": 3, "statistics": list(EIGEN), "seed": 1}
found["eigenvalues"] = [each.to_dict() for each in va.estimate(powerlaw(80, 900, 1), "position", **asked).values()]
json.dump(found, sys.stdout)
"""
# Kernels of a processor need its instructions: on one that lacks them they would end the process.
CORES = {"Haswell": {"avx2", "fma"}, "Zen": {"avx2", "fma"}, "SkylakeX": {"avx512f", "avx512bw", "avx512vl"}}


def instructions() -> set[str]:
    """What this processor can do; nothing where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return {word for line in lines if line.startswith("flags") for word in line.split()}


def environments() -> dict[str, dict[str, str]]:
    """Other machines, as far as this one can stand for them."""
    some = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    found = {"one thread": _threads(1), "plain kernels": {**_threads(2), "VA_EDGE_LDP_KERNEL": "plain"}}
    for core, needed in CORES.items():
        if needed <= instructions():
            found[f"two threads, {core}"] = {**_threads(2), "OPENBLAS_CORETYPE": core}
    if some:
        found["an old processor for NumPy"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(some)}
    return found


def _threads(number: int) -> dict[str, str]:
    return dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(number))


def told_by(changes: dict[str, str]) -> dict[str, object]:
    """Everything by its case, in this environment."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALONE],
        env={**os.environ, "PYTHONPATH": path, **changes},
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@cache
def expected() -> dict[str, object]:
    return told_by({})


@pytest.mark.parametrize("name", environments())
def test_reports_and_answers_are_the_same_bytes(name: str) -> None:
    found = told_by(environments()[name])
    assert found.keys() == expected().keys()
    assert [case for case in found if found[case] != expected()[case]] == []
