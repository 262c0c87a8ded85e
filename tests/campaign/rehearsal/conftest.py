"""A small world to rehearse on, and where nothing may be left."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import parse

POLICY = VisibilityPolicy.public_profiles("0.3", "any")


def world(people: int = 60, edges: int = 300) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(parse(f"random:{people},{edges}"), POLICY)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary things go; nothing may be left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def processes_about(folder: Path) -> list[str]:
    """The command lines of processes that name a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words and str(os.getpid()) != entry.parent.name:
            found.append(words)
    return found
