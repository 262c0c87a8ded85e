"""``va-edge-ldp datasets``."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Run
from support.command_line import assert_one_sentence


def test_datasets(run: Run) -> None:
    known = run("datasets", "list", "--json").json["datasets"]
    assert {"name": "facebook", "nodes": 4039, "edges": 88234, "path": None}.items() <= known[0].items()
    table = run("datasets", "list")
    assert all(entry["name"] in table.out for entry in known)
    assert "facebook-like" in table.out


def test_datasets_says_where_a_graph_is(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "facebook_combined.txt.gz").write_bytes(b"here")
    monkeypatch.setenv("VA_EDGE_LDP_DATA", str(folder))
    assert run("datasets", "list", "--json").json["datasets"][0]["path"] == str(folder / "facebook_combined.txt.gz")


def test_an_unknown_dataset_cannot_be_fetched(run: Run) -> None:
    assert_one_sentence(run("datasets", "fetch", "nonsense"), "'nonsense' is not a known dataset")
