"""Run in a process of its own: the most memory that estimates take, beside what is stated. Prints JSON.

python peak.py TRUST POLICY STATISTICS OPTIONS NODES NODES …
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.simulation.options import statistics_for
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw


def peak() -> int:
    """In octets; VmHWM is since the last reset."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(":", 1) for line in lines)["VmHWM"].split()[0]) * 1024


def taken(trust: str, policy: str, statistics: str, options: dict[str, Any], nodes: int) -> dict[str, object]:
    """One estimate, beside its statement; a checkpoint goes into a folder of its own."""
    if "checkpoint" in options:
        options = {**options, "checkpoint": f"{options['checkpoint']}/{nodes}"}
    world = VisibilityAwareGraph(powerlaw(nodes, 22 * nodes, seed=1), open_policy(policy))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    estimate(world, trust, 1, statistics, seed=1, **options)
    run = Run(world, trust, statistics_for(world, trust, statistics), **options)
    return {"nodes": nodes, "way": run.strategy, "stated": run.need.octets, "taken": peak()}


if __name__ == "__main__":
    trust, policy, statistics, options, *sizes = sys.argv[1:]
    taken(trust, policy, statistics, json.loads(options), 200)  # loads kernels
    print(json.dumps([taken(trust, policy, statistics, json.loads(options), int(nodes)) for nodes in sizes]))
