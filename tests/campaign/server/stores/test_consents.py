"""What is said of consent in the store: the last word counts, until the list stands, once.  [CONSENT.1]"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.campaign_lab import FAR, new_lab, sqlite_url
from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.stages import NotReady, State
from visibility_aware_edge_ldp.campaign.server.stores.consents import (
    freeze_consents,
    frozen_list,
    held_back,
    said,
    say,
)


def test_the_last_word_counts_until_the_list_stands(tmp_path: Path) -> None:
    charter = new_lab(tmp_path / "lab", 6, "degrees", (FAR,), consent=FAR - 1).served.charter
    store = open_store(sqlite_url(tmp_path), charter.identity, 1)
    held_back(store)
    assert (store.stages()[0].state, frozen_list(store)) == (State.WAITING, None)
    for participant, yes in ((4, True), (1, True), (2, False), (1, False), (5, True), (0, True)):
        say(store, participant, yes)
    assert [said(store, participant) for participant in range(6)] == [True, False, False, False, True, True]
    store.withdrawn = frozenset({5})
    data = freeze_consents(store, charter, 7)
    found = Consents.from_bytes(charter, data)
    assert (found.people, found.frozen) == ((0, 4), 7)
    stage = store.stages()[0]
    assert (stage.state, stage.opened) == (State.OPEN, 7)
    with pytest.raises(NotReady, match="frozen"):
        say(store, 3, True)
    assert freeze_consents(store, charter, 9) == frozen_list(store) == data, "once frozen, it stands"
    held_back(store)
    assert store.stages()[0].state is State.OPEN, "a server that starts again holds nothing back"
    store.close()
