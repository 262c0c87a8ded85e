"""Sums of chunks in a file: the same after any death, and whatever is forgotten, doubled or damaged is noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import checkpoint
from visibility_aware_edge_ldp.compute.checkpoint import Arrays, Checkpoint, held_folder
from visibility_aware_edge_ldp.compute.engines import LostTask
from visibility_aware_edge_ldp.errors import BadInput

CHUNKS = 7
FOUND = {chunk: {"sum": np.arange(5) * chunk, "row": np.eye(CHUNKS, dtype=np.int64)[chunk]} for chunk in range(CHUNKS)}
WHOLE = {name: sum(each[name] for each in FOUND.values()) for name in FOUND[0]}


def results(missing: Sequence[int]) -> Iterator[tuple[int, Arrays]]:
    for chunk in reversed(missing):
        yield chunk, FOUND[chunk]


def dying(after: int) -> object:
    """An engine that is lost after so many chunks."""

    def some(missing: Sequence[int]) -> Iterator[tuple[int, Arrays]]:
        yield from list(results(missing))[:after]
        raise ConnectionError

    return some


def same(found: Arrays) -> None:
    assert found.keys() == WHOLE.keys()
    assert all(np.array_equal(found[name], WHOLE[name]) for name in WHOLE)


def test_without_a_file_sums_are_sums() -> None:
    same(Checkpoint(None, "a", CHUNKS).over(results))


@pytest.mark.parametrize("after", range(CHUNKS + 1))
def test_work_goes_on_from_the_file(after: int, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "a.sums"
    with pytest.raises(ConnectionError):
        Checkpoint(path, "a", CHUNKS).over(dying(after))  # type: ignore[arg-type]
    again = Checkpoint(path, "a", CHUNKS)
    assert again.missing == list(range(CHUNKS - after))
    same(again.over(results))
    done = Checkpoint(path, "a", CHUNKS)
    same(done.over(lambda missing: pytest.fail("everything is done")))
    assert [each.name for each in path.parent.iterdir()] == ["a.sums"]


def test_a_part_of_a_file_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is killed while the file is written leaves the one before it."""
    path = tmp_path / "a.sums"
    with pytest.raises(ConnectionError):
        Checkpoint(path, "a", CHUNKS).over(dying(3))  # type: ignore[arg-type]
    before = path.read_bytes()
    monkeypatch.setattr(checkpoint.os, "fsync", lambda number: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Checkpoint(path, "a", CHUNKS).over(results)
    assert path.read_bytes() == before
    monkeypatch.undo()
    same(Checkpoint(path, "a", CHUNKS).over(results))


@pytest.mark.parametrize(("identity", "chunks"), [("b", CHUNKS), ("a", CHUNKS + 1)])
def test_a_file_of_another_run_is_refused(identity: str, chunks: int, tmp_path: Path) -> None:
    Checkpoint(tmp_path / "a.sums", "a", CHUNKS).over(results)
    with pytest.raises(BadInput, match="of another run"):
        Checkpoint(tmp_path / "a.sums", identity, chunks)


@pytest.mark.parametrize("place", ["head", "middle", "end", "empty", "format"])
def test_a_damaged_file_is_refused(place: str, tmp_path: Path) -> None:
    path = tmp_path / "a.sums"
    Checkpoint(path, "a", CHUNKS).over(results)
    content = bytearray(path.read_bytes())
    if place == "empty":
        content.clear()
    elif place == "end":
        del content[-1]
    elif place == "format":
        head, _, body = bytes(content).partition(b"\n")
        content = bytearray(json.dumps({**json.loads(head), "format": "another"}).encode() + b"\n" + body)
    else:
        content[3 if place == "head" else len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadInput, match="is damaged, or no checkpoint of this version"):
        Checkpoint(path, "a", CHUNKS)


def test_a_careless_engine_is_caught() -> None:
    with pytest.raises(LostTask, match="1 of 7 chunks gave no result"):
        Checkpoint(None, "a", CHUNKS).over(lambda missing: list(results(missing))[:-1])
    with pytest.raises(LostTask, match="Chunk 6 came twice"):
        Checkpoint(None, "a", CHUNKS).over(lambda missing: [*results(missing), *results([6])])


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="Name another folder for the checkpoint"):
        Checkpoint(tmp_path / "file" / "a.sums", "a", CHUNKS).over(results)


class _Interrupting(dict[str, Any]):
    """What a chunk found, interrupted before its second array is added."""

    def items(self) -> Any:
        yield next(iter(super().items()))
        raise KeyboardInterrupt


def test_an_interruption_while_a_chunk_is_added_leaves_it_out(tmp_path: Path) -> None:
    path = tmp_path / "a.sums"

    def interrupted(missing: Sequence[int]) -> Iterator[tuple[int, Arrays]]:
        yield 0, FOUND[0]
        yield 1, _Interrupting(FOUND[1])

    with pytest.raises(KeyboardInterrupt):
        Checkpoint(path, "a", CHUNKS).over(interrupted)
    again = Checkpoint(path, "a", CHUNKS)
    assert again.missing == list(range(1, CHUNKS))
    same(again.over(results))


def test_a_folder_is_held_by_one_run_alone(tmp_path: Path) -> None:
    with held_folder(tmp_path / "new"):
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
        with pytest.raises(BadInput, match="Another run is using"), held_folder(tmp_path / "new"):
            pytest.fail("two runs")
    with held_folder(tmp_path / "new"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="Name another folder"), held_folder(tmp_path / "file" / "new"):
        pytest.fail("no folder")
