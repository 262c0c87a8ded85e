"""What PostgreSQL copies out of tables into its statistics."""

from __future__ import annotations

import hashlib

from visibility_aware_edge_ldp.campaign.server.stages import Slot
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Upload

TRANSCRIPT = b"heard by everybody"


def some_uploads(people: int = 60) -> list[Upload]:
    """Short ones, as degrees are, that come in several slots of time: statistics take them whole."""
    bodies = [hashlib.sha256(b"%d" % number).digest() + b"report" for number in range(people)]
    return [Upload.of(1, place, body, Slot(7_001_000 + place // 9, 60)) for place, body in enumerate(bodies)]


def end_with(store: Store, uploads: list[Upload]) -> None:
    """A round that is over."""
    store.put(uploads)
    store.freeze(1, lambda leaves: "root")
    store.settle(1, TRANSCRIPT, "d", opens_next=False)
    store.keep_estimate(b"e", 7)


def sampled(url: str) -> None:
    """What the server does by itself, when enough rows have come."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def seen_in_statistics(url: str, uploads: list[Upload]) -> set[str]:
    """Which kinds of things that must be erased are there."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        tables = "SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        rows = connection.execute(f"SELECT held::text FROM pg_statistic held WHERE starelid IN ({tables})").fetchall()
    held = "\n".join(row for (row,) in rows)
    secrets = {"body": [upload.body.hex() for upload in uploads], "transcript": [TRANSCRIPT.hex()]}
    secrets["time"] = [str(upload.slot.since) for upload in uploads if upload.slot]
    return {kind for kind, each in secrets.items() if any(secret in held for secret in each)}
