"""A store by its address."""

from __future__ import annotations

from pathlib import Path

from visibility_aware_edge_ldp.campaign.server.store import Store
from visibility_aware_edge_ldp.errors import BadInput

STORE = "store.db"


def default_store(directory: Path) -> str:
    """The address of the store that a campaign has unless another is named: a SQLite file in its directory."""
    return f"sqlite:///{directory / STORE}"


def open_store(url: str, campaign: str, rounds: int) -> Store:
    """``sqlite:///path`` or ``postgresql://…``; each library is needed only where its store is used."""
    if url.startswith("sqlite:///"):
        from visibility_aware_edge_ldp.campaign.server.sqlite_store import sqlite_store

        return sqlite_store(url.removeprefix("sqlite:///"), campaign, rounds)
    if url.startswith(("postgresql://", "postgres://")):
        from visibility_aware_edge_ldp.campaign.server.postgres_store import postgres_store

        return postgres_store(url, campaign, rounds)
    raise BadInput("A store is named sqlite:///path or postgresql://…; neither was given.")
