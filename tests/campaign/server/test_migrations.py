"""A store that an older version wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.campaign_server_lab import Lab, sqlite_url

from campaign.server.conftest import Opener
from campaign.server.inside import inside
from visibility_aware_edge_ldp.campaign.server import migrations, sql_store
from visibility_aware_edge_ldp.campaign.server.opening import open_store
from visibility_aware_edge_ldp.campaign.server.store import Outcome, Stage, State, Upload
from visibility_aware_edge_ldp.errors import BadInput


@pytest.fixture
def version_1(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The program as it was; undo it, and the present one is back."""
    monkeypatch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
    monkeypatch.setattr(migrations, "VERSION", 1)
    monkeypatch.setattr(sql_store, "VERSION", 1)
    return monkeypatch


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
    assert version_of(store) == str(migrations.VERSION) == "4"
    assert store.put([upload]) == [Outcome.SAME]
    assert store.bodies(1) == {3: b"kept"}
    assert store.stages()[0] == Stage(1, State.CLOSING, 1, "ab")
    store.settle(1, b"heard", "d", opens_next=True)
    assert store.transcript(1) == b"heard"
    assert version_of(opener()) == "4"


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
