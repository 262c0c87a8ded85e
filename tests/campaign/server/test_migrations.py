"""A store that an older version wrote."""

from __future__ import annotations

import pytest

from campaign.server.conftest import Opener
from visibility_aware_edge_ldp.campaign.server import migrations
from visibility_aware_edge_ldp.campaign.server.store import Outcome, Stage, State, StoreUnavailable, Upload
from visibility_aware_edge_ldp.errors import BadInput

LATER = (
    ("CREATE TABLE later (number INTEGER PRIMARY KEY, octets {octets} NOT NULL)",),
    ("INSERT INTO later SELECT participant, digest FROM uploads", "ALTER TABLE rounds ADD COLUMN words TEXT"),
)


def version_of(store: object) -> str:
    rows = store.database.run("SELECT value FROM meta WHERE name = 'version'")  # type: ignore[attr-defined]
    return str(rows[0][0])


def columns_of(store: object) -> int:
    return len(store.database.run("SELECT * FROM rounds WHERE round = 1")[0])  # type: ignore[attr-defined]


def test_an_older_store_is_brought_up_to_date(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store, upload = opener(), Upload.of(1, 3, b"kept")
    assert (version_of(store), columns_of(store)) == (str(migrations.TABLES_VERSION), 4)
    store.put([upload])
    store.freeze(1, lambda leaves: "ab")
    for steps in range(1, len(LATER) + 1):
        monkeypatch.setattr(migrations, "STEPS", LATER[:steps])
        store = opener()
        assert version_of(store) == str(migrations.TABLES_VERSION + steps)
    assert store.database.run("SELECT * FROM later") == [(3, upload.digest)]  # type: ignore[attr-defined]
    assert columns_of(store) == 5
    assert store.put([upload]) == [Outcome.SAME]
    assert store.bodies(1) == {3: b"kept"}
    assert store.stages()[0] == Stage(1, State.CLOSING, 1, "ab")
    assert version_of(opener()) == str(migrations.newest()), "and once only"


def test_a_new_store_has_all_steps_too(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "STEPS", LATER)
    store = opener()
    assert (version_of(store), columns_of(store)) == (str(migrations.newest()), 5)


def test_a_step_that_fails_changes_nothing(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = Upload.of(1, 3, b"kept")
    opener().put([upload])
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", (*LATER, ("SELECT * FROM nowhere",)))
        with pytest.raises(StoreUnavailable):
            opener()
    store = opener()
    assert (version_of(store), columns_of(store)) == (str(migrations.TABLES_VERSION), 4)
    assert store.put([upload]) == [Outcome.SAME]


@pytest.mark.parametrize(("version", "said"), [("9", "newer program"), ("5", "until its reports are erased")])
def test_what_is_not_read_is_left_alone(opener: Opener, version: str, said: str) -> None:
    store = opener()
    store.database.run("UPDATE meta SET value = ? WHERE name = 'version'", version)  # type: ignore[attr-defined]
    with pytest.raises(BadInput, match=said):
        opener()
