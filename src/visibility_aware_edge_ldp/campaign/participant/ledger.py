"""The ledger: all that a participant has answered, on its own disk, written before anything is sent.  [LEDGER.1-3]

An append-only log in one SQLite file. Every entry carries a hash over itself and all entries before it; a small file
beside the ledger, the *mark*, repeats the last hash that something was sent after. So a damaged file, a file with
entries missing and an older copy put back are recognised, and nothing is ever answered from them.
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from visibility_aware_edge_ldp.campaign.signed_documents import sync, write_over
from visibility_aware_edge_ldp.errors import BadInput, Refused

SCHEMA = 1
# "VAEL" in ASCII: a file of another program is not taken for a ledger.
_APPLICATION = 0x5641454C
_WAIT = 30.0
_START = bytes(32)
_TABLES = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {SCHEMA};
CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, epoch TEXT NOT NULL, key TEXT NOT NULL,
                      names TEXT NOT NULL, content BLOB NOT NULL, head BLOB NOT NULL);
CREATE UNIQUE INDEX once ON entries (kind, epoch, key) WHERE kind IN ('upload', 'memo', 'receipt');
CREATE TRIGGER no_change BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries never change'); END;
CREATE TRIGGER no_removal BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
"""


class UnusableLedger(Refused):
    """The ledger cannot be trusted to know what was answered; nothing is answered without it."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Parameters
    ----------
    kind
        What it records; ``accounts.py`` says which kinds there are.
    epoch, key
        The data epoch that it is about, and which of its kind it is; both may be empty.
    names
        The digest of the roster whose order the content's bits have, or nothing.
    content
        Private: it prints itself nowhere.
    """

    kind: str
    epoch: str = ""
    key: str = ""
    names: str = ""
    content: bytes = field(default=b"", repr=False)

    def after(self, head: bytes) -> bytes:
        """The hash of this entry and of all before it."""
        digest = hashlib.sha256(head)
        for part in (self.kind.encode(), self.epoch.encode(), self.key.encode(), self.names.encode(), self.content):
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.digest()


class Page:
    """The ledger inside one transaction: what it says, and what is to be written when all goes well."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def entries(self, kind: str | None = None, epoch: str | None = None, key: str | None = None) -> list[Entry]:
        """The entries with these properties, oldest first."""
        asked = {"kind": kind, "epoch": epoch, "key": key}
        wanted = {name: value for name, value in asked.items() if value is not None}
        clause = " AND ".join(f"{name} = :{name}" for name in wanted) or "1"
        rows = self._connection.execute(
            f"SELECT kind, epoch, key, names, content FROM entries WHERE {clause} ORDER BY number",  # noqa: S608 - names of columns, written above
            wanted,
        )
        return [Entry(*row) for row in rows]

    def one(self, kind: str, epoch: str | None = None, key: str | None = None) -> bytes | None:
        """The content of the last such entry, if there is one."""
        found = self.entries(kind, epoch, key)
        return found[-1].content if found else None

    def heads(self, kind: str) -> list[str]:
        """The hashes of the entries of a kind, in hex, oldest first."""
        rows = self._connection.execute("SELECT head FROM entries WHERE kind = ? ORDER BY number", (kind,))
        return [head.hex() for (head,) in rows]

    @property
    def retired_for(self) -> str:
        """The code of the device that the ledger was handed over to; empty while it is in use here.  [LEDGER.5]"""
        retired = self.entries("retired")
        return retired[-1].key if len(retired) > len(self.entries("taken")) else ""

    def refuse_retired(self) -> None:
        if self.retired_for:
            raise Refused("This ledger was handed over to another device; nothing is answered from here any more.")

    @property
    def octets(self) -> bytes:
        """The whole file."""
        return self._connection.serialize()

    def append(self, *entries: Entry) -> None:
        """More entries, in this order; they are there when the transaction ends, or not at all."""
        for entry in entries:
            number, head = self.last
            row = (number + 1, entry.kind, entry.epoch, entry.key, entry.names, entry.content, entry.after(head))
            self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    @property
    def last(self) -> tuple[int, bytes]:
        """The last entry's number and hash."""
        query = "SELECT number, head FROM entries ORDER BY number DESC LIMIT 1"
        row: tuple[int, bytes] | None = self._connection.execute(query).fetchone()
        return row or (0, _START)


class Ledger:
    """A participant's ledger in a file that exists; see :func:`create_ledger` for a new one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._page() as page:
            self._refuse_damage(page)
            self._bring_mark_forward(page)

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """All that is appended inside is on disk together when this ends; an error inside leaves no trace.  [LEDGER.1]

        Only one process is inside at a time. Only when this has ended may anything of it be sent.
        """
        with self._page() as page:
            self._refuse_older_copy(page)
            page.refuse_retired()
            yield page
        # What follows is sent only if the mark is on disk too. It is read back from the file, under the same lock, so
        # that the mark never goes back when two processes write one after the other.
        with self._page() as page:
            write_mark(self._mark, *page.last)

    @contextmanager
    def reading(self) -> Iterator[Page]:
        """The ledger as it stands, with a mark that knows all of it: what is read may be sent."""
        with self._page() as page:
            self._refuse_older_copy(page)
            self._bring_mark_forward(page)
            yield page

    def retire(self, code: str) -> tuple[bytes, str]:
        """Hand the ledger over to the device with this code, for good: the file, and its last hash.  [LEDGER.5]

        Asked again for the same device, it is the same ledger again.
        """
        with self._page() as page:
            self._refuse_older_copy(page)
            if page.retired_for != code:
                page.refuse_retired()
                page.append(Entry("retired", key=code, content=os.urandom(32)))
        with self._page() as page:  # it is retired on the disk before a byte of it leaves
            write_mark(self._mark, *page.last)
            return page.octets, page.last[1].hex()

    @contextmanager
    def _page(self) -> Iterator[Page]:
        """One exclusive transaction; readers too, so that nobody quotes what another is just spending."""
        if not self._path.is_file():
            raise UnusableLedger(
                f"There is no ledger at {self._path}. If there was one, bring it back; do not begin anew."
            )
        try:
            with closing(connect(self._path)) as connection:
                connection.execute("BEGIN EXCLUSIVE")
                try:
                    yield Page(connection)
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise Refused("Another process is answering with this ledger; wait until it has ended.") from error
            raise UnusableLedger(f"The ledger could not be read or written ({error}); nothing was answered.") from error
        except sqlite3.DatabaseError as error:
            raise _damaged(str(error)) from error

    @property
    def _mark(self) -> Path:
        return self._path.with_suffix(".mark")

    def _bring_mark_forward(self, page: Page) -> None:
        """A crash, of this process or of another, may have come between an entry and its mark.  [LEDGER.3]"""
        if _read_mark(self._mark) != page.last:
            write_mark(self._mark, *page.last)

    def _refuse_damage(self, page: Page) -> None:
        """Everything is read and hashed once when a ledger is opened."""
        check_chain(page)
        self._refuse_older_copy(page)

    def _refuse_older_copy(self, page: Page) -> None:
        """The entry that the mark names must be in the ledger.  [LEDGER.3]"""
        number, head = _read_mark(self._mark)
        if not number and page.last[0] > 1:
            raise UnusableLedger(
                f"The ledger's mark is missing; bring back {self._mark.name} together with the ledger."
            )
        query = "SELECT head FROM entries WHERE number = ?"
        if number and page._connection.execute(query, (number,)).fetchone() != (head,):
            raise UnusableLedger(
                f"This ledger is an older copy, or another one, than {self._mark.name} speaks of: answers that were "
                "sent are missing from it. Bring back the newest copy; nothing is answered until then."
            )


def check_chain(page: Page) -> None:
    """Refuse a file that is no ledger, or in which an entry is not the one that was written.  [LEDGER.3]"""
    connection = page._connection
    if _pragma(connection, "application_id") != _APPLICATION:
        raise _damaged("it is not a ledger of this program")
    if _pragma(connection, "user_version") != SCHEMA:
        raise UnusableLedger(
            f"The ledger has schema {_pragma(connection, 'user_version')}; this program reads {SCHEMA}. "
            "Use the program that wrote it, or a newer one."
        )
    if (said := connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
        raise _damaged(str(said))
    head = _START
    rows = connection.execute("SELECT number, head FROM entries ORDER BY number").fetchall()
    for place, (entry, (number, kept)) in enumerate(zip(page.entries(), rows, strict=True), 1):
        head = entry.after(head)
        if head != kept or number != place:
            raise _damaged(f"entry {place} is not the one that was written")


def create_ledger(path: Path, first: Entry) -> Ledger:
    """A new ledger with its first entry; refuses where there is one, or was one."""
    if path.exists() or path.with_suffix(".mark").exists():
        raise BadInput(f"There is a ledger, or what is left of one, at {path}; it is never begun anew.")
    # Made under another name: a crash on the way leaves no half of a ledger behind.
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(connect(draft)) as connection:
        connection.executescript(f"BEGIN EXCLUSIVE;{_TABLES}")
        Page(connection).append(first)
        connection.execute("COMMIT")
    try:
        os.link(draft, path)  # unlike a renaming, this fails where another process was quicker
    except FileExistsError as error:
        raise BadInput(f"There is a ledger at {path}; another process has just made it.") from error
    finally:
        draft.unlink()
    sync(path.parent)
    return Ledger(path)


def connect(path: Path) -> sqlite3.Connection:
    """One connection; ``mode=rw`` never makes a file that is not there."""
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode=rw", uri=True, isolation_level=None, timeout=_WAIT
    )
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")
    except BaseException:
        connection.close()
        raise
    return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _damaged(why: str) -> UnusableLedger:
    return UnusableLedger(f"The ledger is damaged: {why}. Bring back the newest copy; nothing is answered until then.")


def write_mark(path: Path, number: int, head: bytes) -> None:
    write_over(path, f"{number} {head.hex()}\n".encode())


def _read_mark(path: Path) -> tuple[int, bytes]:
    if not path.exists():
        return 0, _START  # a crash between the first entry and its mark
    try:
        number, head = path.read_text("ascii").split()
        return int(number), bytes.fromhex(head)
    except ValueError as error:
        raise _damaged(f"{path.name} cannot be read") from error
