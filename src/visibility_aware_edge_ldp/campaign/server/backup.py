"""Copies of a campaign's SQLite store, made while its server runs.

A copy is one moment of the store, whole, checked, and on disk under its name or not there at all. It holds reports,
like the store, so it goes when they go.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from visibility_aware_edge_ldp.campaign.durable import sync
from visibility_aware_edge_ldp.campaign.server.store import StoreDamaged
from visibility_aware_edge_ldp.errors import BadInput, MissingPart

try:
    import apsw
except ImportError as missing:
    raise MissingPart("apsw", "serve", "Copying a campaign's store") from missing

_PAGES_AT_A_TIME = 4096
_HOLDS_REPORTS = "SELECT EXISTS (SELECT 1 FROM bodies) OR EXISTS (SELECT 1 FROM pieces)"


def copied(store: Path, folder: Path) -> Path:
    """One more copy in the folder."""
    if not store.is_file():
        raise BadInput(f"There is no store at {store}; serve the campaign first, or name its store.")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _copied(store, folder)
    except (OSError, apsw.Error) as error:
        raise BadInput(f"{store} was not copied to {folder}: {error}. Look at the place and its rights.") from error


def _copied(store: Path, folder: Path) -> Path:
    moment = time.time_ns()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(moment // 10**9))
    target = folder / f"{store.stem}-{stamp}.{moment % 10**9:09}Z.db"
    draft = target.with_suffix(".part")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        _copy(store, draft)
        draft.rename(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync(folder)
    return target


def _copy(store: Path, draft: Path) -> None:
    """All pages of one moment; the copy needs no log beside it."""
    with _opened(store) as source, _opened(draft, apsw.SQLITE_OPEN_READWRITE) as target:
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES_AT_A_TIME)
        target.execute("PRAGMA journal_mode = DELETE")
        said = target.execute("PRAGMA integrity_check").fetchall()
        if said != [("ok",)]:
            raise StoreDamaged(f"The copy is damaged, and so may be the store: {said[0][0]}")
    sync(draft)


@contextmanager
def _opened(path: Path, flags: int = apsw.SQLITE_OPEN_READONLY) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path), flags=flags)
    try:
        yield connection
    finally:
        connection.close()


def outlived(newest: Path, keep: int) -> list[Path]:
    """Older copies beside the newest one that go: all but so many (0: none for this reason), and once reports were
    erased all that still hold them."""
    stem, _ = newest.name.rsplit("-", 1)
    older = sorted(path for path in newest.parent.glob(f"{stem}-*Z.db") if path != newest)
    many = older[: max(len(older) + 1 - keep, 0)] if keep else []
    erased = _says(newest, "SELECT EXISTS (SELECT 1 FROM erasures)")
    return sorted({*many, *(path for path in older if erased and _says(path, _HOLDS_REPORTS))})


def _says(path: Path, question: str) -> bool:
    try:
        with _opened(path) as copy:
            return copy.execute(question).fetchall() == [(1,)]
    except apsw.Error as error:
        raise BadInput(f"{path} is not a copy of a campaign's store; move it elsewhere.") from error


def removed(copies: list[Path]) -> None:
    """The copies are gone when this ends."""
    for path in copies:
        path.unlink()
    for folder in {path.parent for path in copies}:
        sync(folder)
