"""What all tests may use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run: what passed once passes always, and what fails can be repeated.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@dataclass(frozen=True)
class DataFolder:
    """The folder of real graphs; ``folder / "name"`` is a file, or skips the test where it is absent."""

    path: Path

    def __truediv__(self, filename: str) -> Path:
        file = self.path / filename
        if not file.is_file():
            pytest.skip(f"{filename} is not in the folder that VA_EDGE_LDP_DATA names")
        return file


@pytest.fixture(scope="session")
def data_folder() -> DataFolder:
    """Real graphs for tests, which are not part of the repository."""
    folder = os.environ.get("VA_EDGE_LDP_DATA")
    if not folder:
        pytest.skip("VA_EDGE_LDP_DATA is not set; it names the folder of real graphs")
    if not Path(folder).is_dir():
        pytest.skip("VA_EDGE_LDP_DATA does not name a folder")
    return DataFolder(Path(folder))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This software's cache, empty and not made yet, on a machine that has no graphs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("VA_EDGE_LDP_DATA", raising=False)
    return tmp_path / "cache" / "va-edge-ldp"
