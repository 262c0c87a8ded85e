"""Tiles in a file are the tiles in memory; what is not a whole file of them is refused."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.tiles import OCTETS, tiles_of
from visibility_aware_edge_ldp.compute.tile_file import (
    PAGE,
    TileFile,
    TileWriter,
    copy_tiles,
    in_order,
    open_tiles,
    positions_of,
    write_tiles,
)
from visibility_aware_edge_ldp.compute.tile_layout import Places, TilesInMemory
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.errors import BadInput, TooLarge
from visibility_aware_edge_ldp.public.positions import position_count, row_start

SIZES = st.lists(st.integers(1, 700), min_size=1, max_size=4)
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def random_bits(n: int, density: float, seed: int) -> np.ndarray:
    bits = np.random.default_rng(seed).random(position_count(n)) < density
    return np.packbits(bits, bitorder="little")


def in_memory(flat: np.ndarray, places: Places) -> GroupScores:
    plane = backend.plane_of(flat, places.groups.size)
    ones = np.ones((places.sizes.size,) * 2)
    return GroupScores(places, 0 * ones, ones, backend.kernels("tiles").arranged(plane, places.slots, places.sides))


def same_tiles(file: TileFile, tiles: TilesInMemory) -> bool:
    return file.sides == tiles.sides and all(
        np.array_equal(file.column(first, k + 1, k), tiles.column(first, k + 1, k))
        for k in range(file.sides)
        for first in {0, k // 2, k}
    )


@pytest.fixture(params=["plain", "compiled"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "compiled":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(backend, "name", lambda: "plain")


@pytest.mark.usefixtures("kernels")
@FEW
@given(SIZES, st.sampled_from([0.0, 0.03, 0.3, 1.0]), st.integers(0, 99))
def test_a_file_holds_the_tiles_and_the_degrees(tmp_path: Path, sizes: list[int], density: float, seed: int) -> None:
    places, flat = in_order(sizes), random_bits(sum(sizes), density, seed)
    file = write_tiles(tmp_path / "some.tiles", flat, places, "survey")
    expected = in_memory(flat, places)
    assert same_tiles(file, expected.tiles)
    assert np.array_equal(file.degrees, expected.degrees)


@FEW
@given(st.integers(1, 5000), st.data())
def test_positions_of_rows(n: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, n - 1))
    last = data.draw(st.integers(first, n - 1))
    assert positions_of(n, first, last) == row_start(n, last) - row_start(n, first)
    assert positions_of(n, 0, n) == position_count(n)


@pytest.fixture
def file(tmp_path: Path) -> TileFile:
    return write_tiles(tmp_path / "a.tiles", random_bits(1100, 0.3, 1), in_order([600, 500]), "survey")


def test_another_process_opens_the_same_file(file: TileFile) -> None:
    file.column(0, 1, 0)  # an open file does not travel
    again = pickle.loads(pickle.dumps(file))
    assert again == file
    assert np.array_equal(again.column(0, 2, 2), file.column(0, 2, 2))


def test_a_copy_is_the_same_file(file: TileFile, tmp_path: Path) -> None:
    tiles = TilesInMemory(np.concatenate([file.column(0, k + 1, k) for k in range(file.sides)]), file.sides)
    copy = copy_tiles(tmp_path / "b.tiles", tiles, file.places, "survey")
    assert copy.path.read_bytes() == file.path.read_bytes()
    assert same_tiles(copy, TilesInMemory(tiles_of(in_memory(random_bits(1100, 0.3, 1), file.places).plane), 3))


def test_another_survey_is_refused(file: TileFile) -> None:
    assert open_tiles(file.path, "survey") == open_tiles(file.path) == file
    with pytest.raises(BadInput, match="another survey"):
        open_tiles(file.path, "plane")


def test_a_file_that_was_written_anew_is_noticed(file: TileFile) -> None:
    sent = pickle.dumps(file)
    write_tiles(file.path, random_bits(1000, 0.3, 1), in_order([1000]), "survey")
    with pytest.raises(BadInput, match="written anew"):
        pickle.loads(sent).column(0, 1, 0)


def test_a_head_that_boasts_is_refused_at_once(tmp_path: Path) -> None:
    head = {
        "format": "va-edge-ldp tiles 1",
        "kinds": [10**15],
        "identity": "x",
    }  # an array of them would fill any memory
    (tmp_path / "a.tiles").write_bytes(json.dumps(head).encode().ljust(PAGE))
    with pytest.raises(BadInput, match="has 4,096 bytes, and its tiles need"):
        open_tiles(tmp_path / "a.tiles")


@pytest.mark.parametrize("lost", [1, OCTETS])
def test_a_short_file_is_refused(file: TileFile, lost: int) -> None:
    content = file.path.read_bytes()
    file.column(0, 1, 0)  # this one is open already
    file.path.write_bytes(content[:-lost])
    with pytest.raises(BadInput, match=f"has {len(content) - lost:,} bytes, and its tiles need {len(content):,}"):
        open_tiles(file.path)
    with pytest.raises(BadInput, match="became shorter"):
        _ = file.degrees if lost == 1 else file.column(0, 3, 2)


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"\xff" * PAGE,
        b"[]",
        json.dumps({"format": "va-edge-ldp tiles 1"}).encode(),
        json.dumps({"format": "va-edge-ldp tiles 2", "kinds": [3], "identity": "x"}).encode(),
        json.dumps({"format": "va-edge-ldp tiles 1", "kinds": [0], "identity": "x"}).encode(),
        json.dumps({"format": "va-edge-ldp tiles 1", "kinds": ["3"], "identity": "x"}).encode(),
    ],
    ids=["empty", "bytes", "list", "no kinds", "another version", "an empty kind", "text"],
)
def test_a_foreign_file_is_refused(tmp_path: Path, page: bytes) -> None:
    path = tmp_path / "a.tiles"
    path.write_bytes(page.ljust(2 * PAGE))
    with pytest.raises(BadInput, match="is not a file of tiles"):
        open_tiles(path)


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    def write() -> None:
        with TileWriter(tmp_path / "a.tiles", in_order([600]), "survey") as writer:
            writer.put(random_bits(600, 0.3, 1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_lacks_rows_is_no_file(tmp_path: Path) -> None:
    with (
        pytest.raises(BadInput, match="1 of 2 rows of tiles"),
        TileWriter(tmp_path / "a.tiles", in_order([600]), "survey") as writer,
    ):
        writer.put(random_bits(600, 0.3, 1))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_is_said_to_be_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "a.tiles"
    (tmp_path / "a.tiles.part").write_bytes(b"half")
    with pytest.raises(BadInput, match="its writing was interrupted"):
        open_tiles(path)
    with pytest.raises(BadInput, match="Delete it if no other run is at work"):
        write_tiles(path, random_bits(9, 0.3, 1), in_order([9]), "survey")
    assert (tmp_path / "a.tiles.part").read_bytes() == b"half"


def test_where_nothing_can_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        open_tiles(tmp_path / "a.tiles")
    with pytest.raises(BadInput, match="cannot be written"):
        write_tiles(tmp_path / "no" / "a.tiles", random_bits(9, 0.3, 1), in_order([9]), "survey")


def test_a_disk_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000_000))
    with pytest.raises(TooLarge, match=r"The tiles of 200,000 nodes need 2\.5 GB in .*, and 0\.0 GB are free there"):
        TileWriter(tmp_path / "a.tiles", in_order([200_000]), "survey").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_kinds_must_be_in_order_and_few(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Sort the roster by kind"):
        TileWriter(tmp_path / "a.tiles", Places(np.array([0, 1, 0])), "survey")
    with pytest.raises(BadInput, match="too many"):
        write_tiles(tmp_path / "a.tiles", random_bits(1500, 0.3, 1), in_order([1] * 1500), "survey")
    assert list(tmp_path.iterdir()) == []
