"""Many at once: nothing differs, and what would differ is counted."""

from __future__ import annotations

import os

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.at_size import batches
from visibility_aware_edge_ldp.compute import backend

QUICK = (batches.keystream_in_parts, batches.noises_one_by_one, batches.flips_in_parts)


@pytest.mark.parametrize("pairs", QUICK, ids=lambda each: each.__name__)
def test_nothing_differs(pairs: object) -> None:
    finding = batches.audit_pairs("pairs", pairs, "some")  # type: ignore[arg-type]
    assert finding.holds
    assert finding.cases > 1000


def test_what_differs_is_counted() -> None:
    pairs = [(np.arange(5), np.array([0, 1, 2, 9, 4])), (np.zeros(3), np.zeros(4))]
    finding = batches.audit_pairs("pairs", lambda: iter(pairs), "two")
    assert finding.losses[0].found == 1 + 4
    assert finding.caught


def test_kernels_run_while_they_are_asked_for() -> None:
    before = os.environ.get("VA_EDGE_LDP_KERNEL")
    for name in batches.KERNELS:
        with batches.running(name):
            assert backend.name() in (name, "plain")
    assert os.environ.get("VA_EDGE_LDP_KERNEL") == before
