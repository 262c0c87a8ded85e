"""The errors of README's table of trust models and of docs/explanation/trust-models.md: Facebook, ε = 1.

VA_EDGE_LDP_DATA=folder python -m benchmarks.trust_models

Each is the expected relative error of one collection that spends all of ε on the statistics of its line.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.timing import dataset
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.plan.summary import percent
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.truth.attributes import read_attributes
from visibility_aware_edge_ldp.truth.readers import read_graph

BY_DEGREES = ("edges", "stars:2", "stars:3", "max_degree")
TRIALS, MOST = 8, 32


def main() -> int:
    """Print one line for each way to ask."""
    facebook, profiles = dataset("facebook_combined.txt.gz"), dataset("facebook_profile.csv.gz")
    if facebook is None or profiles is None:
        print("VA_EDGE_LDP_DATA does not name a folder with the Facebook files; nothing was measured")
        return 0
    egos = VisibilityPolicy.from_profiles(dict(read_attributes(profiles).where("is_ego == 1")), rule="any")
    ways: list[tuple[str, str, tuple[str, ...], AnyPolicy | str, dict[str, Any]]] = [
        ("POSITION", "position", (*BY_DEGREES, "triangles"), "nothing", {}),
        ("USER, degrees", "user", BY_DEGREES, "nothing", {}),
        ("USER, triangles", "user", ("triangles",), "nothing", {}),
        ("NEIGHBOURHOOD, every user reports", "neighbourhood", ("triangles",), "nothing", {}),
        ("NEIGHBOURHOOD, with δ = 10⁻⁶", "neighbourhood", ("triangles",), "nothing", {"delta": "1e-6"}),
        ("NEIGHBOURHOOD, the ten egos are public and report", "neighbourhood", ("triangles",), egos, {}),
        ("CURATOR, δ = 10⁻⁶", "curator", ("triangles",), "nothing", {"delta": "1e-6"}),
    ]
    for name, trust, statistics, policy, options in ways:
        found = compare(
            read_graph(facebook), policy, (1,), TRIALS, statistics, trust=trust, seed=11, most_trials=MOST, **options
        )
        errors = (f"{row.statistic} {percent(row.error)} ± {percent(row.figure.uncertainty)}" for row in found.aware)
        print(f"{name}: {', '.join(errors)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
