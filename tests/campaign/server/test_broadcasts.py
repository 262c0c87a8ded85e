"""A transcript as a file for proxies: whole, readable, the same on every machine, and gone with the reports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.campaign_inside import QUICK, Clock, Inside, inside
from support.campaign_lab import FAR, Lab, new_lab, sqlite_url, stub_estimate
from visibility_aware_edge_ldp.campaign.server.app import App, open_store
from visibility_aware_edge_ldp.campaign.server.broadcasts import PARTS, TRANSCRIPT, BroadcastFile
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return new_lab(tmp_path_factory.mktemp("broadcasts") / "lab", 12, "triangles", (FAR, FAR + 100))


def started(lab: Lab, folder: Path, below: str = "") -> Inside:
    """A server that writes its transcript into a folder beside its store."""
    charter = lab.served.charter
    app = App(
        lab.served,
        lambda: open_store(sqlite_url(folder), charter.identity, 2),
        stub_estimate,
        clock=Clock(),
        grouping=QUICK,
        file=BroadcastFile(folder / "public", below),
    )
    found = Inside(lab, app, Clock())
    found.runner.run(app.start())
    return found


@pytest.fixture
def server(lab: Lab, tmp_path: Path) -> Iterator[Inside]:
    before = os.umask(0o077)  # as the unit has it
    found = started(lab, tmp_path, "/c/abc")
    yield found
    os.umask(before)
    with found.runner:
        found.stop()


def closed_first_round(server: Inside) -> bytes:
    for number in (1, 2, 3):
        assert server.put(number).status == 201
    assert server.operator("/v1/rounds/1/close").status == 200
    return server.ask("GET", "/v1/rounds/1/transcript").body


def test_it_is_there_once_the_round_is_closed_and_goes_with_the_reports(server: Inside, tmp_path: Path) -> None:
    path = tmp_path / "public" / "c" / "abc" / TRANSCRIPT
    transcript = closed_first_round(server)
    assert path.read_bytes() == transcript
    assert path.stat().st_mode & 0o777 == 0o644
    assert path.stat().st_mtime == server.app.rounds.stages[1].closed == 1_000_000
    assert all(each.stat().st_mode & 0o777 == 0o755 for each in list(path.parents)[:5])
    (path.parent / ".draft-of-one-that-was-killed").touch()
    for number in (1, 2):
        assert server.put(number, 2).status == 201
    assert server.operator("/v1/rounds/2/close").status == 200
    assert path.exists()
    assert server.operator("/v1/estimate").status == 200
    assert list(path.parent.iterdir()) == []


def test_every_part_is_a_file_of_its_own(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "triangles", (FAR, FAR + 100), share="0.1")
    server = started(lab, tmp_path)
    with server.runner:
        for number in (1, 2, 3):
            assert server.put(number).status == 201
        assert server.operator("/v1/rounds/1/close").status == 200
        folder = tmp_path / "public" / PARTS
        names = sorted(folder.iterdir(), key=lambda path: int(path.name))
        assert [path.name for path in names] == [str(number) for number in range(10)]
        for path in names:
            assert path.read_bytes() == server.ask("GET", f"/{PARTS}/{path.name}").body
            assert path.stat().st_mode & 0o777 == 0o644
        (folder / ".draft-of-one-that-was-killed").touch()
        assert server.put(1, 2).status == 201
        for path in ("/v1/rounds/2/close", "/v1/estimate"):
            assert server.operator(path).status == 200
        assert list(folder.iterdir()) == []
        server.stop()


def test_a_server_that_starts_again_puts_it_there_again(lab: Lab, tmp_path: Path) -> None:
    server = started(lab, tmp_path)
    transcript, path = closed_first_round(server), tmp_path / "public" / TRANSCRIPT
    with server.runner:
        server.stop()
    path.unlink()
    again = started(lab, tmp_path)
    with again.runner:
        assert path.read_bytes() == transcript
        again.stop()


def test_what_cannot_be_written_is_logged_and_what_cannot_be_removed_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "v1").write_text("in the way")
    BroadcastFile(tmp_path).keep({TRANSCRIPT: b"octets"}, 5)
    assert "broadcast file" in caplog.text

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "not yours")

    file = BroadcastFile(tmp_path / "other")
    file.keep({TRANSCRIPT: b"octets"}, 5)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StoreUnavailable, match="not yours"):
        file.remove()


def test_without_a_folder_there_is_nothing() -> None:
    file = BroadcastFile()
    file.keep({TRANSCRIPT: b"octets"}, 5)
    file.remove()
    assert file.path is None


def test_parts_are_those_that_were_asked_for(lab: Lab, tmp_path: Path) -> None:
    with inside(lab, sqlite_url(tmp_path)) as server:
        whole, path = closed_first_round(server), "/v1/rounds/1/transcript"
        first = server.ask("GET", path)
        assert first.headers["accept-ranges"] == "bytes"
        for asked, place in {"1-": (1, None), "0-2": (0, 3), "3-3": (3, 4), "2-999": (2, None)}.items():
            reply = server.ask("GET", path, range=f"bytes={asked}", if_range=first.headers["etag"])
            start, stop = place
            assert (reply.status, reply.body) == (206, whole[start:stop])
            last = start + len(reply.body) - 1
            assert reply.headers["content-range"] == f"bytes {start}-{last}/{len(whole)}"
            assert reply.headers["content-length"] == str(len(reply.body))
        for asked in ("bytes=5-2", "bytes=99999-", "bytes=-5", "bytes=0-1,3-4", "lines=1-2"):
            assert server.ask("GET", path, range=asked).body == whole
        assert server.ask("GET", path, range="bytes=1-", if_range='"another"').body == whole
        assert server.ask("GET", path, range="bytes=1-", if_none_match=first.headers["etag"]).status == 304
