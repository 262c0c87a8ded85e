"""A store that an older version wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.campaign_server_lab import Lab, sqlite_url

from campaign.server.conftest import Opener
from campaign.server.inside import inside
from campaign.server.postgres_here import Postgres
from campaign.server.sampled import end_with, sampled, seen_in_statistics, some_uploads
from visibility_aware_edge_ldp.campaign.server import migrations, sql_store
from visibility_aware_edge_ldp.campaign.server.opening import open_store
from visibility_aware_edge_ldp.campaign.server.sql_store import SqlStore
from visibility_aware_edge_ldp.campaign.server.store import Outcome, Stage, State, Upload
from visibility_aware_edge_ldp.errors import BadInput


@pytest.fixture
def version_1(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The program as it was; undo it, and the present one is back."""
    as_it_was(monkeypatch, 1)
    monkeypatch.setattr(SqlStore, "_go_on_erasing", lambda store: None)  # it had no table to ask
    return monkeypatch


def as_it_was(patch: pytest.MonkeyPatch, version: int) -> None:
    patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
    patch.setattr(migrations, "VERSION", version)
    patch.setattr(sql_store, "VERSION", version)


def version_of(store: object) -> str:
    rows = store.database.run("SELECT value FROM meta WHERE name = 'version'")  # type: ignore[attr-defined]
    return str(rows[0][0])


def test_an_older_store_is_brought_up_to_date(opener: Opener, version_1: pytest.MonkeyPatch) -> None:
    store = opener()
    assert version_of(store) == "1"
    upload = Upload.of(1, 3, b"kept")
    store.put([upload])
    store.freeze(1, lambda leaves: "ab")
    version_1.undo()
    store = opener()
    assert version_of(store) == str(migrations.VERSION) == "5"
    assert store.put([upload]) == [Outcome.SAME]
    assert store.bodies(1) == {3: b"kept"}
    assert store.stages()[0] == Stage(1, State.CLOSING, 1, "ab")
    store.settle(1, b"heard", "d", opens_next=True)
    assert store.transcript(1) == b"heard"
    assert version_of(opener()) == "5"


@pytest.mark.parametrize("erased", [False, True])
def test_statistics_that_an_older_version_left_go(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, erased: bool
) -> None:
    url, uploads = postgres.new_database(), some_uploads()
    with monkeypatch.context() as patch:
        as_it_was(patch, 4)
        store = open_store(url, "c", 1)
        end_with(store, uploads)
        sampled(url)
        if erased:
            store.forget_bodies(9)
        store.close()
    assert seen_in_statistics(url, uploads), "the search must find what is there"
    store = open_store(url, "c", 1)
    assert store.bodies(1) == ({} if erased else {upload.participant: upload.body for upload in uploads})
    assert not seen_in_statistics(url, uploads)
    sampled(url)
    assert not seen_in_statistics(url, uploads)
    store.close()


def test_a_newer_store_is_left_alone(opener: Opener) -> None:
    store = opener()
    store.database.run("UPDATE meta SET value = '9' WHERE name = 'version'")  # type: ignore[attr-defined]
    with pytest.raises(BadInput, match="newer program"):
        opener()


def test_a_transcript_that_was_not_kept_is_made_again(labs: dict[str, Lab], tmp_path: Path) -> None:
    """Version 1 did not keep it."""
    lab, url = labs["triangles"], sqlite_url(tmp_path)
    with inside(lab, url) as server:
        for participant in (0, 3, 9):
            server.put(participant)
        server.operator("/v1/rounds/1/close")
        heard = server.ask("GET", "/v1/rounds/1/transcript").body
    store = open_store(url, lab.dossier.charter.identity, 2)
    store.database.run("DROP TABLE pieces")  # type: ignore[attr-defined]
    store.database.run("DROP TABLE arrivals")  # type: ignore[attr-defined]
    store.database.run("DROP TABLE erasures")  # type: ignore[attr-defined]
    store.database.run("UPDATE meta SET value = '1' WHERE name = 'version'")  # type: ignore[attr-defined]
    store.close()
    with inside(lab, url) as server:
        assert server.ask("GET", "/v1/rounds/1/transcript").body == heard
        assert server.put(3, 2).status == 201
