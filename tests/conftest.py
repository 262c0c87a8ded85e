"""What all tests may use."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from support.command import Run

# Compiled kernels at every call, also of programs that tests start: what chooses between them has tests of its own.
os.environ.setdefault("VA_EDGE_LDP_KERNEL", "compiled")
# The same examples on every run: what passed once passes always, and what fails can be repeated.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
TINY = "0 1\n1 2\n0 2\n2 3\n"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Three workers for two cores: a test that waits for a server, a browser or a clock leaves its core idle."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or not hasattr(os, "sched_getaffinity"):
        return None
    cores = len(os.sched_getaffinity(0))
    return cores + cores // 2


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with good and bad files, on a machine that has no graphs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("VA_EDGE_LDP_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    files = {
        "tiny.txt": TINY,
        "empty.txt": "",
        "comments.txt": "# nothing\n",
        "one.txt": "5 5\n",
        "loops.txt": "a b\na a\nb a\nb c\n",
        "gaps.txt": "10 20\n20 35\n",
        "ragged.txt": "0 1\n2\n",
        "unknown.toml": 'kind = "profiles"\nprofiles = { nobody = "public" }\n',
        "sum.toml": 'kind = "fractions"\npublic = 0.5\nprivate = 0.6\n',
        "good.toml": 'kind = "profiles"\nrule = "any"\nprofiles = { 2 = "public" }\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TINY.encode() * 100)[:40])
    (tmp_path / "damaged.gz").write_bytes(b"\x1f\x8b" + bytes(40))
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)))
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``va-edge-ldp`` with these words, in this process."""
    from support.command import run_main

    return partial(run_main, monkeypatch, capsys)
