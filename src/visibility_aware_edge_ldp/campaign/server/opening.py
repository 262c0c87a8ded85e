"""A store by its address."""

from __future__ import annotations

from visibility_aware_edge_ldp.campaign.server.store import Store
from visibility_aware_edge_ldp.errors import BadInput


def open_store(url: str, campaign: str, rounds: int) -> Store:
    """``sqlite:///path`` or ``postgresql://…``; each library is needed only where its store is used."""
    if url.startswith("sqlite:///"):
        from visibility_aware_edge_ldp.campaign.server.sqlite_store import sqlite_store

        return sqlite_store(url.removeprefix("sqlite:///"), campaign, rounds)
    if url.startswith(("postgresql://", "postgres://")):
        from visibility_aware_edge_ldp.campaign.server.postgres_store import postgres_store

        return postgres_store(url, campaign, rounds)
    raise BadInput("A store is named sqlite:///path or postgresql://…; neither was given.")
