"""Hubs at size: a full territory nearly uses its claim up, and all triangles are counted once."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.at_size import hubs
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, SHARED


@pytest.mark.parametrize(("kind", "least"), [(SHARED, 0.95), (PLAIN, 0.75)])
def test_a_full_territory(kind: str, least: float) -> None:
    setting = hubs.Setting(24, (range(1, 24),), kind, "4")
    world = hubs.clique(setting, range(1, 24))
    case = hubs.case_of(world)
    assert least * float(case.asked) < case.found <= float(case.asked)
    hubs.refuse_other_triangles(world, True)
