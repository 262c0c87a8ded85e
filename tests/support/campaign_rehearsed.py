"""A small world to rehearse on, and the processes that a rehearsal must not leave behind."""

from __future__ import annotations

import os
from pathlib import Path

from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import parse

POLICY = VisibilityPolicy.public_profiles("0.3", "any")


def world(people: int = 60, edges: int = 300) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(parse(f"random:{people},{edges}"), POLICY)


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
