"""Stores whose rounds are over, who reads them, and what is left of them on a disk."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from support.campaign_inside import Inside
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Upload


def root_of(leaves: list[tuple[int, bytes]]) -> str:
    return hashlib.sha256(repr(leaves).encode()).hexdigest()


MANY = 500


def ended(store: Store, stride: int = 7) -> None:
    """A round to which everybody came, each so many numbers after the one before, and which is over."""
    came = [Upload.of(1, stride * turn % MANY, b"body %d" % (stride * turn % MANY)) for turn in range(MANY)]
    for first in range(0, MANY, 20):
        store.put(came[first : first + 20])
    store.freeze(1, root_of)
    store.settle(1, b"", "", opens_next=False)
    store.keep_estimate(b"e", 7)


SECRET = b"a report that must not be found again"


@contextmanager
def reader_of(file: Path) -> Iterator[None]:
    """Somebody who looks at the store, as a copying program does, and holds on to what it sees."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM uploads").fetchall()
    try:
        yield
    finally:
        connection.close()


def on_disk(file: Path) -> bool:
    files = [file, file.with_name(f"{file.name}-wal")]
    return any(SECRET in each.read_bytes() for each in files if each.exists())


def ended_in(file: Path) -> Store:
    store = open_store(f"sqlite:///{file}", "c", 1)
    store.put([Upload.of(1, number, SECRET + bytes([number])) for number in range(50)])
    store.freeze(1, root_of)
    store.settle(1, b"", "", opens_next=False)
    store.keep_estimate(b"e", 7)
    return store


def copy_as_after_a_kill(file: Path, place: Path) -> Path:
    """The files as a process that was killed leaves them: nobody closed anything."""
    place.mkdir()
    for name in (file.name, f"{file.name}-wal"):
        shutil.copy(file.with_name(name), place / name)
    return place / file.name


@contextmanager
def reader_at(url: str) -> Iterator[None]:
    """As above, of either store; pg_dump holds as much for as long as it runs."""
    if url.startswith("sqlite"):
        with reader_of(Path(url.removeprefix("sqlite:///"))):
            yield
        return
    import psycopg

    with psycopg.connect(url) as connection:
        for table in ("uploads", "bodies"):
            connection.execute(f"SELECT count(*) FROM {table}".encode())
        yield


async def kept(server: Inside) -> bool:
    return bool(await server.app.writer.do(lambda store: store.has_bodies()))
