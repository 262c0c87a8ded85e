"""The ledger's file: what is written stays, what is damaged or older is refused, and one process writes at a time."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.campaign.participant import ledger as ledgers
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_entry
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, UnusableLedger, create_ledger
from visibility_aware_edge_ldp.errors import BadInput, Refused


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return create_ledger(path, caps_entry({}))


def add(ledger: Ledger, *keys: str) -> None:
    with ledger.writing() as page:
        for key in keys:
            page.append(Entry("upload", "spring", key, content=key.encode() * 100))


def keys(ledger: Ledger) -> list[str]:
    with ledger.reading() as page:
        return [entry.key for entry in page.entries("upload")]


def test_what_was_written_is_there_when_it_is_opened_again(ledger: Ledger, path: Path) -> None:
    add(ledger, "a", "b")
    add(ledger, "c")
    again = Ledger(path)
    assert keys(again) == ["a", "b", "c"]
    with again.reading() as page:
        assert page.one("upload", "spring", "b") == b"b" * 100
        assert page.one("upload", "autumn", "b") is None


def test_an_error_leaves_no_trace(ledger: Ledger, path: Path) -> None:
    def fail() -> None:
        with ledger.writing() as page:
            page.append(Entry("upload", "spring", "a"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert keys(Ledger(path)) == []


def test_only_its_owner_may_read_it(ledger: Ledger, path: Path) -> None:
    add(ledger, "a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_suffix(".mark").stat().st_mode) == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["ledger.db", "ledger.mark"]


def test_entries_do_not_print_what_they_hold() -> None:
    assert "secret" not in repr(Entry("list", content=b"secret"))


def test_it_is_written_as_durably_as_sqlite_can(ledger: Ledger) -> None:
    with ledger.reading() as page:
        assert page._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert page._connection.execute("PRAGMA synchronous").fetchone() == (3,)


@pytest.mark.parametrize("statement", ["DELETE FROM entries", "UPDATE entries SET content = x'00'"])
def test_entries_are_never_changed_or_removed(ledger: Ledger, statement: str) -> None:
    add(ledger, "a")

    def change() -> None:
        with ledger.writing() as page:
            page._connection.execute(statement)

    with pytest.raises(UnusableLedger, match="never"):
        change()
    assert keys(ledger) == ["a"]


def test_one_upload_is_written_once(ledger: Ledger) -> None:
    add(ledger, "a")
    with pytest.raises(UnusableLedger, match="UNIQUE"):
        add(ledger, "a")


def test_it_is_never_begun_anew(ledger: Ledger, path: Path) -> None:
    with pytest.raises(BadInput, match="never begun anew"):
        create_ledger(path, caps_entry({}))
    path.unlink()
    with pytest.raises(BadInput, match="what is left of one"):
        create_ledger(path, caps_entry({}))
    with pytest.raises(UnusableLedger, match="There is no ledger"):
        Ledger(path)
    with pytest.raises(UnusableLedger, match="There is no ledger"):
        add(ledger, "a")


def test_an_older_copy_is_recognised(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    add(ledger, "a")
    shutil.copy(path, tmp_path / "backup")
    add(ledger, "b")
    shutil.copy(tmp_path / "backup", path)
    with pytest.raises(UnusableLedger, match="an older copy"):
        Ledger(path)
    with pytest.raises(UnusableLedger, match="an older copy"):
        add(ledger, "c")  # also by a program that has had it open since before
    with pytest.raises(UnusableLedger, match="an older copy"):
        keys(ledger)


def test_an_older_copy_that_went_on_is_recognised(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    """As many entries as the mark says, or more, but others."""
    add(ledger, "a")
    shutil.copy(path, tmp_path / "backup")
    mark = path.with_suffix(".mark").read_bytes()
    add(ledger, "b")
    newer = path.with_suffix(".mark").read_bytes()
    shutil.copy(tmp_path / "backup", path)
    path.with_suffix(".mark").write_bytes(mark)
    add(Ledger(path), "x", "y")
    path.with_suffix(".mark").write_bytes(newer)
    with pytest.raises(UnusableLedger, match="or another one"):
        Ledger(path)


def test_a_crash_between_commit_and_mark_does_no_harm(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*anything: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ledgers, "write_mark", crash)
        with pytest.raises(KeyboardInterrupt):
            add(ledger, "a")
    lagging = path.with_suffix(".mark").read_bytes()
    assert keys(Ledger(path)) == ["a"]
    assert path.with_suffix(".mark").read_bytes() != lagging, "what is sent next may be the entry that has no mark"


def test_an_entry_without_a_mark_has_one_before_it_can_be_sent(
    ledger: Ledger, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed, crashed before the mark, started again and sent; then an older copy is put back."""
    shutil.copy(path, tmp_path / "backup")
    with monkeypatch.context() as patch:
        patch.setattr(ledgers, "write_mark", lambda *anything: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            add(ledger, "a")
    assert keys(Ledger(path)) == ["a"]
    shutil.copy(tmp_path / "backup", path)
    with pytest.raises(UnusableLedger, match="an older copy"):
        Ledger(path)


def test_what_another_process_left_without_a_mark_has_one_before_it_is_read(
    ledger: Ledger, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One opens the ledger; another commits and dies before the mark; the first finds the entry, sends it, and dies."""
    shutil.copy(path, tmp_path / "backup")
    other = Ledger(path)
    with monkeypatch.context() as patch:
        patch.setattr(ledgers, "write_mark", lambda *anything: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            add(other, "a")
    assert keys(ledger) == ["a"]
    shutil.copy(tmp_path / "backup", path)
    with pytest.raises(UnusableLedger, match="an older copy"):
        Ledger(path)


def test_a_ledger_without_its_mark_is_refused(ledger: Ledger, path: Path) -> None:
    add(ledger, "a")
    path.with_suffix(".mark").unlink()
    with pytest.raises(UnusableLedger, match="mark is missing"):
        Ledger(path)


def test_a_crash_before_the_first_mark_does_no_harm(ledger: Ledger, path: Path) -> None:
    path.with_suffix(".mark").unlink()
    add(Ledger(path), "a")
    assert keys(Ledger(path)) == ["a"]


def test_a_mark_that_cannot_be_read_is_refused(ledger: Ledger, path: Path) -> None:
    path.with_suffix(".mark").write_bytes(b"many words that are no mark")
    with pytest.raises(UnusableLedger, match=r"ledger\.mark cannot be read"):
        Ledger(path)


def test_every_changed_byte_that_matters_is_recognised(ledger: Ledger, path: Path) -> None:
    """Whatever byte is changed: the ledger is refused, or says exactly what it said before."""
    add(ledger, "a", "b")
    whole = path.read_bytes()
    with ledger.reading() as page:
        before = page.entries()
    refused = 0
    for place in range(0, len(whole), 37):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            with Ledger(path).reading() as page:
                assert page.entries() == before
        except UnusableLedger:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, b"SQLite format 3\0" + bytes(4080)])
def test_a_file_that_is_no_ledger_is_refused(ledger: Ledger, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(UnusableLedger):
        Ledger(path)
    assert path.read_bytes() == content


def test_a_torn_file_is_refused(ledger: Ledger, path: Path) -> None:
    add(ledger, *map(str, range(50)))
    path.write_bytes(path.read_bytes()[:-8192])
    with pytest.raises(UnusableLedger):
        Ledger(path)


def test_another_schema_is_refused(ledger: Ledger, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(UnusableLedger, match="schema 2; this program reads 1"):
        Ledger(path)


def test_two_processes_take_turns(ledger: Ledger, path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger
ledger = Ledger(Path({str(path)!r}))
for _ in range(25):
    with ledger.writing() as page:
        last = page.one("count", key="n") or b"0"
        page.append(Entry("count", key="n", content=str(int(last) + 1).encode()))
"""
    both = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    assert [each.wait(60) for each in both] == [0, 0]
    with Ledger(path).reading() as page:
        assert page.one("count", key="n") == b"50"
        number, head = page.last
    assert path.with_suffix(".mark").read_text() == f"{number} {head.hex()}\n"


def test_whoever_waits_too_long_answers_nothing(ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_WAIT", 0.05)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with Ledger(path).writing():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    try:
        with pytest.raises(Refused, match="Another process is answering"):
            add(ledger, "a")
    finally:
        leave.set()
        thread.join()
    add(ledger, "a")
    assert keys(ledger) == ["a"]


def test_a_kill_inside_a_transaction_leaves_no_trace(ledger: Ledger, path: Path) -> None:
    """The journal of a process that was killed is rolled back by the next one."""
    script = f"""
import os, signal
from pathlib import Path
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger
with Ledger(Path({str(path)!r})).writing() as page:
    page._connection.execute("PRAGMA cache_size = 1")
    for number in range(500):
        page.append(Entry("upload", "spring", str(number), content=bytes(1000)))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    add(ledger, "before")
    size = path.stat().st_size
    begun = time.perf_counter()
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert path.stat().st_size > size or os.path.exists(f"{path}-journal")
    assert keys(Ledger(path)) == ["before"]
    assert time.perf_counter() - begun < 30
