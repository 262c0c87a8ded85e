"""Loss of power: a disk that keeps only what was synced, and of the rest whatever it pleases."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

import apsw

from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.sqlite import SqliteDatabase
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, Upload

SECTOR = 512


class Disk:
    """For each file, what is sure to survive, and what was written since."""

    def __init__(self) -> None:
        self.safe: dict[str, bytearray] = {}
        self.loose: dict[str, list[tuple[int, bytes | None]]] = {}

    def opened(self, name: str) -> None:
        self.safe.setdefault(name, bytearray())
        self.loose.setdefault(name, [])

    def wrote(self, name: str, offset: int, data: bytes | None) -> None:
        self.loose[name].append((offset, data))

    def synced(self, name: str) -> None:
        for change in self.loose[name]:
            _apply(self.safe[name], *change)
        self.loose[name].clear()

    def deleted(self, name: str) -> None:
        """SQLite asks for the directory to be synced where it matters."""
        self.safe.pop(name, None)
        self.loose.pop(name, None)

    def after_the_loss(self, name: str, coins: random.Random) -> bytes:
        """Nothing of what was not synced, all of it, or some sectors: a disk may do any of these."""
        content, mood = bytearray(self.safe[name]), coins.choice(["none", "some", "first"])
        for offset, data in self.loose[name]:
            if data is None or mood == "none":
                continue
            for start in range(0, len(data), SECTOR):
                if coins.random() < 0.5:
                    _apply(content, offset + start, data[start : start + SECTOR])
                elif mood == "first":
                    return bytes(content)
        return bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    content[offset : offset + len(data)] = data


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: apsw.URIFilename | str | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name)).name
        disk.opened(self._name)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.wrote(self._name, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.wrote(self._name, newsize, None)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.synced(self._name)


class _Vfs(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        super().__init__(name, "")
        self._disk = disk

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> _File:
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._disk.deleted(Path(filename).name)
        super().xDelete(filename, syncdir)


@dataclass
class Losses:
    """How often the power went, and how many acknowledged reports were gone or changed after it."""

    times: int = 0
    acknowledged: int = 0
    lost: int = 0


def power(times: int, synchronous: str = "FULL", seed: int = 0) -> Losses:
    """Cut the power so many times, each at another commit."""
    found = Losses()
    for number in range(times):
        coins = random.Random(f"{seed}/{number}")
        told, files = _until_the_cut(coins, synchronous, f"lossy{number}")
        found.times += 1
        found.acknowledged += len(told)
        found.lost += _missing(told, files)
    return found


def _until_the_cut(coins: random.Random, synchronous: str, name: str) -> tuple[dict[int, bytes], dict[str, bytes]]:
    disk = Disk()
    vfs = _Vfs(name, disk)
    told: dict[int, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        database = SqliteDatabase(Path(folder) / "s.db", synchronous, name, coins.choice([4, 20, 4_096]))
        store = Store(database, "c", 1)
        for group in range(coins.randrange(1, 30)):
            uploads = [Upload.of(1, 50 * group + i, coins.randbytes(coins.randrange(1, 3_000))) for i in range(5)]
            outcomes = store.put(uploads)
            told |= {u.participant: u.body for u, o in zip(uploads, outcomes, strict=True) if o is Outcome.STORED}
        files = {name: disk.after_the_loss(name, coins) for name in disk.safe}
        store.close()
    vfs.unregister()
    return told, files


def _missing(told: dict[int, bytes], files: dict[str, bytes]) -> int:
    """Start again from what the disk has kept."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        store = Store(SqliteDatabase(Path(folder) / "s.db"), "c", 1)
        bodies, leaves = store.bodies(1), dict(store.leaves(1))
        store.close()
    return sum(bodies.get(participant) != body or participant not in leaves for participant, body in told.items())
