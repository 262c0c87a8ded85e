"""Stores to test with: SQLite in a file, and a PostgreSQL server of our own where one is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.campaign_inside import Inside, inside
from support.campaign_lab import FAR, Lab, new_lab, sqlite_url
from support.campaign_postgres_here import Postgres, postgres_here
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store

Opener = Callable[..., Store]


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """One server for all tests; each takes a database of its own."""
    with postgres_here() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return str(request.getfixturevalue("postgres").new_database())


@pytest.fixture
def opener(store_url: str) -> Iterator[Opener]:
    """Opens the store, as often as one likes; the one before is closed first."""
    held: list[Store] = []

    def opened(campaign: str = "c", rounds: int = 2) -> Store:
        while held:
            held.pop().close()
        held.append(open_store(store_url, campaign, rounds))
        return held[-1]

    yield opened
    while held:
        held.pop().close()


@pytest.fixture(scope="session")
def labs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lab]:
    """One small campaign of each kind that matters to a server."""
    base = tmp_path_factory.mktemp("labs")
    kinds = {"position": (FAR,), "degrees": (FAR,), "triangles": (FAR, FAR + 100)}
    found = {kind: new_lab(base / kind, 24, kind, closes) for kind, closes in kinds.items()}
    return found | {"two rounds": new_lab(base / "two", 24, "position", (FAR, FAR + 100))}


@pytest.fixture
def server(labs: dict[str, Lab], store_url: str) -> Iterator[Inside]:
    with inside(labs["position"], store_url) as found:
        yield found


@pytest.fixture
def triangles(labs: dict[str, Lab], tmp_path: Path) -> Iterator[Inside]:
    with inside(labs["triangles"], sqlite_url(tmp_path)) as found:
        yield found
