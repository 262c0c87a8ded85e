"""Where rows are audited at size: full rows use claims up, searches lose no less, and mutants are caught."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.at_size import rows
from visibility_aware_edge_ldp.audit.at_size import rows_worlds as worlds
from visibility_aware_edge_ldp.audit.engine.findings import Audit


@pytest.mark.parametrize("statistic", ["triangles", "four_cycles"])
def test_a_full_row_uses_its_claim_up(statistic: str) -> None:
    world = worlds.full_row(worlds.Setting(40, statistic, worlds.NOTHING), True, 17)
    assert 0.97 < rows.loss_of(world) <= 1
    rows.refuse_other_sums(world)


def test_a_search_loses_no_less() -> None:
    setting = worlds.Setting(16, "triangles", worlds.MIXED)
    start = worlds.World(setting, worlds.some(setting, 0.5, 1), worlds.crowd(setting, 0.3, 1), 0, 9)
    if start.kind is worlds.PUBLIC:
        pytest.skip("the position is public")
    assert rows.loss_of(worlds.climbed(start, 15, 1), whole=False) >= rows.loss_of(start, whole=False)


@pytest.mark.parametrize("mutant", worlds.MUTANTS, ids=lambda mutant: mutant.broken)
def test_mutants_are_caught(mutant: Audit) -> None:
    assert not mutant.run().holds


def test_public_edges_stand_at_public_positions() -> None:
    classes = worlds.Setting(30, "triangles", worlds.MIXED).classes
    edges = worlds.public_edges(30)
    assert edges
    assert all(classes[u, v] == worlds.PUBLIC for u, v in edges)


def test_in_a_far_row_only_late_users_said_yes() -> None:
    world = worlds.far_row(560, 24)
    assert world.ones.sum() == 48 * 47 // 2
    assert np.flatnonzero(world.lists[0]).min() > 512
    assert not world.lists[0, world.friend]
