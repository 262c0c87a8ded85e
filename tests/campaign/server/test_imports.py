"""What a server loads."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
import visibility_aware_edge_ldp.campaign.server.serving
own = [name.split(".")[1] for name in sys.modules if name.startswith("visibility_aware_edge_ldp.")]
print(sorted(set(own) & {"truth", "client", "simulation", "model", "dataset"}), "networkx" in sys.modules)
"""


def test_a_server_never_loads_the_truth_or_a_client() -> None:
    found = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[] False"
