"""A plane in a mapped file: the same bits as in memory, in every order, and no file that stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import tile_layout as subject
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows, unpack_rows
from visibility_aware_edge_ldp.compute.tile_file import in_order
from visibility_aware_edge_ldp.compute.tile_layout import mapped, plane_octets, reordered, transposed
from visibility_aware_edge_ldp.counts.node_groups import GroupScores, MappedScores
from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw


def scores(policy: str) -> GroupScores:
    world = VisibilityAwareGraph(powerlaw(1400, 6000, seed=1), open_policy(policy))
    found = collect(world, position_survey(world.public, 1), seed=2).group_scores()
    assert found is not None
    return found


SCORES = {policy: scores(policy) for policy in ("nothing", "profiles:0.4")}


def in_a_file(given: GroupScores, folder: Path) -> MappedScores:
    return MappedScores(given.places, given.low, given.high, mapped(given.tiles, folder), folder)


def test_rows_become_columns() -> None:
    tiles = np.random.default_rng(1).integers(0, 1 << 63, (3, 512, 8), dtype=np.uint64)
    expected = [pack_rows(unpack_rows(tile, 512).T, 512) for tile in tiles]
    assert np.array_equal(transposed(tiles), expected)
    assert np.array_equal(transposed(transposed(tiles)), tiles)


@pytest.mark.parametrize("policy", SCORES)
def test_both_halves_are_there(policy: str, tmp_path: Path) -> None:
    given, steps = SCORES[policy], list[int]()
    plane = mapped(given.tiles, tmp_path, lambda: steps.append(1))
    assert np.array_equal(plane, given.plane)
    assert plane.nbytes == plane_octets(given.places.sides)
    assert len(steps) == given.places.sides
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("held", [1, 1 << 29])
@pytest.mark.parametrize("policy", SCORES)
def test_a_shuffle_gives_the_same_plane(
    policy: str, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "HELD", held)
    given = SCORES[policy]
    expected, found = given.shuffled("a coin"), in_a_file(given, tmp_path).shuffled("a coin")
    assert np.array_equal(found.places.slots, expected.places.slots)
    assert np.array_equal(found.plane, expected.plane)
    assert not np.array_equal(found.plane, given.plane)


def test_nodes_are_put_into_the_order_of_their_kinds(tmp_path: Path) -> None:
    given = SCORES["profiles:0.4"]
    mixed = in_order([given.n])
    back = reordered(given.plane, given.places, mixed, tmp_path)
    assert back.shape[1] == mixed.sides * 512
    assert np.array_equal(reordered(back, mixed, given.places, tmp_path), given.plane)


@pytest.mark.parametrize("policy", SCORES)
def test_degrees_are_those_of_the_plane(policy: str, tmp_path: Path) -> None:
    given = SCORES[policy]
    found = in_a_file(given, tmp_path)
    assert np.array_equal(found.side_degrees, given.side_degrees)
    assert np.array_equal(found.degrees, given.degrees)


def test_a_full_disk_is_noticed_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = SCORES["nothing"]
    monkeypatch.setattr(subject.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(TooLarge, match="Name a folder on a larger disk with TMPDIR"):
        mapped(given.tiles, tmp_path)
    assert list(tmp_path.iterdir()) == []
