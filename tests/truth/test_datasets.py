"""Where known graphs are looked for."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.datasets import cache_folder, find

TEXT = b"0 1\n1 2\n"
FILE = "facebook_combined.txt.gz"
pytestmark = pytest.mark.usefixtures("cache")


def test_nothing_is_found_on_a_fresh_machine() -> None:
    assert find("facebook") is None


def test_the_named_folder_comes_before_the_cache(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir(parents=True)
    (cache / FILE).write_bytes(gzip.compress(TEXT))
    assert find("facebook") == cache / FILE
    (tmp_path / "facebook_combined.txt").write_bytes(TEXT)  # unpacked will do
    monkeypatch.setenv("VA_EDGE_LDP_DATA", str(tmp_path))
    assert find("facebook") == tmp_path / "facebook_combined.txt"


def test_an_explicit_path_is_a_file_or_its_folder(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_bytes(gzip.compress(TEXT))
    assert find("facebook", file) == find("facebook", str(tmp_path)) == file
    with pytest.raises(BadGraph, match="Check the path"):
        find("facebook", tmp_path / "absent")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(BadGraph, match="not a known dataset"):
        find("myspace")


@pytest.mark.parametrize(
    ("platform", "tail"), [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")]
)
def test_the_cache_is_where_the_system_keeps_caches(
    platform: str, tail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr("sys.platform", platform)
    assert cache_folder() == tmp_path / tail / "va-edge-ldp"
