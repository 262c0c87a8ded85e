"""Edges come a block at a time from every kind of file, and what a stream cannot tell is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth import edge_stream
from visibility_aware_edge_ldp.truth.edge_stream import EdgeStream

EDGES = np.array([[0, 1], [0, 4], [1, 2], [2, 4], [3, 4]])


def parquet(path: Path, edges: np.ndarray) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as files

    table = pyarrow.table({"from": edges[:, 0], "when": edges[:, 0] * 0, "to": edges[:, 1]})
    files.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def numpy_file(path: Path, edges: np.ndarray) -> Path:
    np.save(path.with_suffix(".npy"), edges)
    return path.with_suffix(".npy")


def binary(path: Path, edges: np.ndarray) -> Path:
    edges.astype("<i4").tofile(path.with_suffix(".bin"))
    return path.with_suffix(".bin")


@pytest.mark.parametrize("write", [parquet, numpy_file, binary])
def test_every_kind_of_file_in_blocks(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_stream, "BLOCK", 2)
    stream = EdgeStream(write(tmp_path / "edges", EDGES), 5, ("from", "to"))
    for _ in range(2):  # every walk reads the file anew
        blocks = list(stream.blocks())
        assert [len(block) for block in blocks] == [2, 2, 1]
        assert np.concatenate(blocks).tolist() == EDGES.tolist()
        assert {block.dtype for block in blocks} == {np.dtype(np.int32)}
        assert (stream.rows, stream.edges, stream.loops, stream.is_rising) == (5, 5, 0, True)


def test_a_folder_is_read_file_after_file(tmp_path: Path) -> None:
    folder = tmp_path / "edges"
    folder.mkdir()
    binary(folder / "part-1", EDGES[3:])
    numpy_file(folder / "part-0", EDGES[:3])
    (folder / "_SUCCESS").touch()
    stream = EdgeStream(folder, 5)
    for _ in range(2):
        assert np.concatenate(list(stream.blocks())).tolist() == EDGES.tolist()
        assert (stream.rows, stream.edges, stream.is_rising) == (5, 5, True)
    binary(folder / "part-2", EDGES[:1])
    again = EdgeStream(folder, 5)
    assert (sum(map(len, again.blocks())), again.is_rising) == (6, False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadGraph, match="no files of edges"):
        EdgeStream(tmp_path / "empty", 5)
    (folder / "notes.txt").write_text("not edges")
    with pytest.raises(BadGraph, match=r"notes\.txt is not a file that is read as a stream"):
        EdgeStream(folder, 5)


@pytest.mark.parametrize(
    ("edges", "loops", "is_rising"),
    [
        (EDGES[::-1], 0, False),
        (EDGES[:, ::-1], 0, False),
        (EDGES[[0, 1, 1]], 0, False),
        (EDGES[[0, 1, 2, 2]], 0, False),
        (np.array([[0, 1], [1, 1], [1, 2]]), 1, True),
    ],
)
def test_order_tells_that_an_edge_is_listed_once(
    edges: np.ndarray, loops: int, is_rising: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_stream, "BLOCK", 2)
    stream = EdgeStream(binary(tmp_path / "edges", edges), 5)
    kept = sum(map(len, stream.blocks()))
    assert (kept, stream.loops, stream.is_rising) == (len(edges) - loops, loops, is_rising)


def test_what_is_no_stream_of_edges_is_refused(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("0,1\n", encoding="utf-8")
    for path, said in (
        (tmp_path / "edges.csv", "not a file that is read as a stream"),
        (tmp_path / "none.bin", "cannot be read"),
        (numpy_file(tmp_path / "flat", np.arange(6)), r"must hold an \(m, 2\) array"),
        (numpy_file(tmp_path / "real", EDGES / 2), "of integers"),
    ):
        with pytest.raises(BadGraph, match=said):
            EdgeStream(path, 5)
    with pytest.raises(BadGraph, match="name the two that hold an edge"):
        EdgeStream(parquet(tmp_path / "edges", EDGES), 5, ("from", "whom"))
    with pytest.raises(BadGraph, match="whole numbers"):
        EdgeStream(parquet(tmp_path / "edges", EDGES / 2), 5)
    for nodes, edges in ((4, EDGES), (5, -EDGES)):
        with pytest.raises(BadGraph, match="names users beyond"):
            list(EdgeStream(binary(tmp_path / "edges", edges), nodes).blocks())
