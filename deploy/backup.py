"""A copy of a campaign's SQLite store, made while its server runs: ``python backup.py STORE FOLDER [--keep N]``.

The copy is one moment of the store, whole, checked, and on disk under its name or not there at all. It holds reports,
like the store: it must be kept as well, and go when the charter says that reports go.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import apsw

PAGES_AT_A_TIME = 4096


def copied(store: Path, folder: Path) -> Path:
    """One more copy in the folder."""
    if not store.is_file():
        raise SystemExit(f"There is no store at {store}.")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
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
    _synced(folder)
    return target


def _copy(store: Path, draft: Path) -> None:
    """All pages of one moment; the copy needs no log beside it."""
    source = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    target = apsw.Connection(str(draft))
    try:
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(PAGES_AT_A_TIME)
        target.execute("PRAGMA journal_mode = DELETE")
        (said,) = target.execute("PRAGMA integrity_check").fetchone()
        if said != "ok":
            raise SystemExit(f"The copy is damaged, and so may be the store: {said}")
    finally:
        target.close()
        source.close()
    _synced(draft)


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def forgotten(folder: Path, stem: str, keep: int) -> list[Path]:
    """Older copies than the newest so many, removed."""
    old = sorted(folder.glob(f"{stem}-*Z.db"))[:-keep]
    for path in old:
        path.unlink()
    return old


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Copy a campaign's SQLite store while its server runs.")
    parser.add_argument("store", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=int, default=0, help="remove all but the newest N copies")
    given = parser.parse_args(arguments)
    print(copied(given.store, given.folder))
    if given.keep > 0:
        forgotten(given.folder, given.store.stem, given.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
