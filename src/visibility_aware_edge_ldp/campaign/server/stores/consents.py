"""Who consents, in the store: what each person said last, and the list once it stands.  [CONSENT.1]"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.server.stages import NotReady, State
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store, change, transaction
from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter

_WORD = "INSERT INTO consents VALUES (?, ?) ON CONFLICT (participant) DO UPDATE SET consents = excluded.consents"


@transaction
def frozen_list(store: Store) -> bytes | None:
    """The list of those who consented, once it stands."""
    rows = store.database.run("SELECT octets FROM consent_list")
    return bytes(rows[0][0]) if rows else None


@transaction
def held_back(store: Store) -> None:
    """Until the list stands, the first round waits for it."""
    store.database.enter(Entry.ALONE)
    if frozen_list(store) is None:
        store.database.run("UPDATE rounds SET state = ? WHERE round = 1", str(State.WAITING))


@transaction
def say(store: Store, participant: int, consents: bool) -> None:
    """What one person says, the last time counting, until the list is frozen."""
    store.database.enter(Entry.ALONE)
    if frozen_list(store) is not None:
        raise NotReady("The list of those who consent is frozen.")
    store.database.run(_WORD, participant, int(consents))


@transaction
def said(store: Store, participant: int) -> bool:
    """What one person said last; who said nothing does not consent."""
    return store.database.run("SELECT consents FROM consents WHERE participant = ?", participant) == [(1,)]


@change
def freeze_consents(store: Store, charter: Charter, at: int) -> bytes:
    """From now on the list stands, without those who withdrew, and the first round is open."""
    kept = frozen_list(store)
    if kept is not None:
        return kept
    rows = store.database.run("SELECT participant FROM consents WHERE consents = 1")
    data = Consents.of(charter, at, [number for (number,) in rows if number not in store.withdrawn]).data
    store.database.run("INSERT INTO consent_list VALUES (1, ?)", data)
    store.database.run("UPDATE rounds SET state = ? WHERE round = 1", str(State.OPEN))
    store.begin(at)
    return data
