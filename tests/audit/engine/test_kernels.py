"""Kernels that are asked for run, and what was asked for before is asked for again."""

from __future__ import annotations

import os

from visibility_aware_edge_ldp.audit.engine.kernels import KERNELS, running
from visibility_aware_edge_ldp.compute import backend


def test_they_run_while_they_are_asked_for() -> None:
    before = os.environ.get("VA_EDGE_LDP_KERNEL")
    for name in KERNELS:
        with running(name):
            assert backend.name() in (name, "plain")
    assert os.environ.get("VA_EDGE_LDP_KERNEL") == before
