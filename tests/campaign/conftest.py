"""A town of people, campaigns that ask them, and a server that remembers what it hears."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.campaign_stub import Served, Stub
from visibility_aware_edge_ldp.campaign.directory import new_campaign
from visibility_aware_edge_ldp.campaign.http_client import Patience
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

LATER = 4_000_000_000
KEY = bytes(range(32))
QUICK = Surroundings(pace=0.001, patience=Patience(attempt=2, first=0.01, most=0.02, total=2))

ROUNDS = {"position": 1, "degrees": 1, "triangles": 2, "hubs": 1}
STATISTICS = {"position": ("edges",), "degrees": ("edges",), "triangles": ("triangles",), "hubs": ("triangles",)}
TOWN = [f"person {number:02}" for number in range(12)]
Ask = Callable[..., Served]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary things go; nothing may be left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as server:
        yield server


@pytest.fixture
def ask(stub: Stub, tmp_path: Path) -> Ask:
    """A new campaign, served: ``ask(question, epsilon=…, names=…, policy=…, rounds=…, epoch=…, title=…)``."""

    def make(
        question: str = "position",
        epsilon: object = 1,
        names: list[str] = TOWN,
        policy: VisibilityPolicy | None = None,
        rounds: int | None = None,
        epoch: str = "spring",
        title: str = "A survey",
        edges: object = (),
        statistics: tuple[str, ...] = (),
    ) -> Served:
        count = rounds or ROUNDS[question]
        directory, key_file = tmp_path / f"campaign {len(stub.served)}", tmp_path / "issuer.key"
        key_file.write_text(KEY.hex())
        new_campaign(
            directory,
            names=names,
            policy=policy or VisibilityPolicy.nothing(),
            edges=edges,
            question=question,
            epsilon=epsilon,
            statistics=statistics or STATISTICS[question],
            closes=[LATER + number for number in range(count)],
            fewest=1,
            title=title,
            epoch=epoch,
            key=KEY,
            key_file=key_file,
        )
        return stub.add(directory)

    return make
