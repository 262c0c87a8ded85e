"""A file is held by one alone, on every system."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from visibility_aware_edge_ldp.file_lock import lock


def test_a_lock_is_held_by_one_alone(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("a") as first, (tmp_path / "lock").open("a") as second:
        lock(first.fileno(), wait=False)
        with pytest.raises(BlockingIOError):
            lock(second.fileno(), wait=False)
        first.close()
        lock(second.fileno(), wait=True)


def test_where_there_is_no_fcntl_the_other_system_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    other = SimpleNamespace(LK_LOCK=1, LK_NBLCK=2, locking=lambda *words: asked.append(words))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", other)
    lock(7, wait=True)
    lock(7, wait=False)
    assert asked == [(7, 1, 1), (7, 2, 1)]
