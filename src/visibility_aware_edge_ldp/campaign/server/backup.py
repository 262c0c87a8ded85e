"""Copies of a campaign's SQLite store, made while its server runs.

A copy is one moment of the store, whole, checked, and on disk when it has its name. It holds reports, like the store,
so it goes when they go; and so does what a copying that was killed has left.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from visibility_aware_edge_ldp.campaign.durable import sync
from visibility_aware_edge_ldp.campaign.server.store import StoreDamaged
from visibility_aware_edge_ldp.errors import BadInput, MissingPart

try:
    import apsw
except ImportError as missing:
    raise MissingPart("apsw", "serve", "Copying a campaign's store") from missing

_PAGES_AT_A_TIME = 4096
_MOMENT = r"-\d{8}T\d{6}\.\d{9}Z"
_WHOSE = "SELECT value FROM meta WHERE name = 'campaign'"
_HOLDS_REPORTS = "SELECT EXISTS (SELECT 1 FROM bodies) OR EXISTS (SELECT 1 FROM pieces)"
_ERASES = "SELECT EXISTS (SELECT 1 FROM erasures)"


@dataclass(frozen=True)
class Backup:
    """What became of a copying: the new copy, the older ones that went, and files that could not be judged.

    There is no new copy where the store is just erasing its reports.
    """

    copy: Path | None
    removed: tuple[Path, ...] = ()
    unread: tuple[Path, ...] = ()


def back_up(store: Path, folder: Path, campaign: str, keep: int = 0) -> Backup:
    """One more copy of this campaign's store in the folder.

    Of its older copies there, all but the newest so many go (0: none for this reason), and once the store erases its
    reports, or has erased them, all that hold any. Other campaigns' copies are left alone.
    """
    if not store.is_file():
        raise BadInput(f"There is no store at {store}; serve the campaign first, or name its store.")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone_in(folder):
            return _back_up(store, folder, campaign, keep)
    except (OSError, apsw.Error) as error:
        raise BadInput(f"{store} was not copied to {folder}: {error}. Look at the place and its rights.") from error


def _back_up(store: Path, folder: Path, campaign: str, keep: int) -> Backup:
    _refuse_another(store, campaign)
    for draft in folder.iterdir():
        if re.search(rf"{_MOMENT}\.part", draft.name):  # of somebody who was killed: whoever lives holds the lock
            draft.unlink()
    newest = _copied(store, folder)
    older, unread = _copies_of(campaign, store.stem, folder, newest)
    erases = _says(newest, _ERASES)
    gone = set(older[: max(len(older) + 1 - keep, 0)] if keep else [])
    gone |= {path for path in (*older, newest) if erases and _says(path, _HOLDS_REPORTS)}
    for path in gone:
        path.unlink()
    sync(folder)
    return Backup(None if newest in gone else newest, tuple(sorted(gone - {newest})), tuple(unread))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Only one process copies into a folder at a time; the system lets go of the lock when it dies."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _refuse_another(store: Path, campaign: str) -> None:
    with _opened(store) as opened:
        if opened.execute(_WHOSE).fetchall() != [(campaign,)]:
            raise BadInput(f"{store} is not the store of this campaign.")


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
        for left in folder.glob(f"{draft.name}*"):
            left.unlink()
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


def _copies_of(campaign: str, stem: str, folder: Path, newest: Path) -> tuple[list[Path], list[Path]]:
    """This campaign's older copies, the oldest first; and files that are called so and cannot be read."""
    found, unread = list[Path](), list[Path]()
    for path in sorted(folder.iterdir()):
        if path == newest or not re.fullmatch(rf"{re.escape(stem)}{_MOMENT}\.db", path.name):
            continue
        try:
            with _opened(path) as copy:
                if copy.execute(_WHOSE).fetchall() == [(campaign,)]:
                    found.append(path)
        except apsw.Error:
            unread.append(path)
    return found, unread


def _says(path: Path, question: str) -> bool:
    with _opened(path) as copy:
        return copy.execute(question).fetchall() == [(1,)]
