"""Compiled kernels are kept where the user can write; where nobody can, they run all the same and one sentence says so.

Permissions do not stop root, so folders that cannot be written are made by putting a file where the folder would be.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

numba = pytest.importorskip("numba", reason="numba is not installed")

from visibility_aware_edge_ldp.compute import compiled  # noqa: E402

SOURCE = Path(__file__).parents[3] / "src"
KERNELS = "visibility_aware_edge_ldp/compute/compiled"
WORDS = ["estimate", "random:30,60", "--trust", "position", "--statistics", "edges", "--seed", "1", "--json"]
COMMAND = f"""
import sys
from visibility_aware_edge_ldp.cli import main
sys.argv = ["va-edge-ldp", *{WORDS!r}]
main()
"""
# One kernel, and then on stderr what numba has loaded; all but its own name is needed for compiling alone.
KERNEL = """
import sys
import numpy as np
from visibility_aware_edge_ldp.compute import backend
words = np.arange(6, dtype=np.uint64).reshape(3, 2)
print(backend.shared_counts(words, words).tolist())
print(*sorted({"numba", "numba.np.arraymath"} & set(sys.modules)), file=sys.stderr)
"""
SHARED = "[[1, 1, 1], [1, 3, 1], [1, 1, 3]]"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package into whose folder of kernels nothing can be written."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(SOURCE, folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "src" / KERNELS / "__pycache__").touch()
    (folder / "file").touch()
    return folder


def run(installed: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program on the copy, with a home that cannot be written."""
    nowhere = str(installed / "file" / "home")
    homes = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "LOCALAPPDATA": nowhere, "PYTHONPATH": str(installed / "src")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "VA_EDGE_LDP_"))}
    everything = {**kept, **homes, "VA_EDGE_LDP_KERNEL": "compiled", **environment}
    return subprocess.run([sys.executable, "-c", code], env=everything, capture_output=True, text=True, check=False)


def edges(done: subprocess.CompletedProcess[str]) -> list[float]:
    """The estimate, its standard error and its interval."""
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["estimates"]["edges"]
    return [found["value"], found["standard_error"], *found["interval"]]


@pytest.mark.long
def test_nothing_can_be_written(installed: Path) -> None:
    done = run(installed, COMMAND, NUMBA_CACHE_DIR=str(installed / "file" / "numba"))
    assert done.stderr == f"{compiled.NOT_KEPT}\n"
    plain = run(installed, COMMAND, VA_EDGE_LDP_KERNEL="plain")
    assert plain.stderr == ""
    assert edges(done) == pytest.approx(edges(plain))


@pytest.mark.long
def test_numba_alone_would_fail_there(installed: Path) -> None:
    """The twin: the folders above are such that numba has nowhere to go."""
    (installed / "src" / KERNELS / "stock.py").write_text("import numba\nnumba.njit(cache=True)(lambda: 1)\n")
    done = run(installed, "import visibility_aware_edge_ldp.compute.compiled.stock")
    assert "no locator available" in done.stderr


@pytest.mark.long
def test_kernels_are_kept_where_the_user_says_and_opened_without_the_compiler(installed: Path) -> None:
    home = installed / "cache"
    first = run(installed, KERNEL, NUMBA_CACHE_DIR=str(home))
    assert (first.stdout, first.stderr) == (f"{SHARED}\n", "numba numba.np.arraymath\n")
    files = sorted(home.rglob("*.nb[ic]"))
    assert files
    second = run(installed, KERNEL, NUMBA_CACHE_DIR=str(home))
    assert (second.stdout, second.stderr) == (f"{SHARED}\n", "numba\n")
    assert sorted(home.rglob("*.nb[ic]")) == files


def test_a_home_is_found_without_being_named(installed: Path) -> None:
    code = (
        "from visibility_aware_edge_ldp.compute.compiled import bitset; print(bitset.shared_counts._cache.cache_path)"
    )
    home = installed / "home"
    done = run(installed, code, HOME=str(home), XDG_CACHE_HOME=str(home), LOCALAPPDATA=str(home))
    assert done.stderr == ""
    assert Path(done.stdout.strip()).is_relative_to(home)


def test_files_that_cannot_be_read_or_written_stop_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    compiled.say_not_kept.cache_clear()

    @compiled.njit(nogil=True)
    def one_more(x: Any) -> Any:
        return x + 1

    Path(one_more._cache._cache_file._index_path).mkdir()
    assert (one_more(1), one_more(1.5), one_more(True)) == (2, 2.5, 2)
    assert capsys.readouterr() == ("", f"{compiled.NOT_KEPT}\n")


def test_every_kernel_is_compiled_this_way() -> None:
    """``njit`` of numba itself fails where nothing can be written."""
    stock = re.compile(r"from numba import .*\bn?jit\b|numba\.n?jit\b")
    compute = (SOURCE / KERNELS).parent
    users = [path for path in compute.rglob("*.py") if stock.search(path.read_text(encoding="utf-8"))]
    assert users == [compute / "compiled" / "__init__.py"]


def test_a_change_of_any_file_of_kernels_makes_all_of_them_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba itself looks at one file to see whether what it kept is still right."""
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))

    def twice(x: Any) -> Any:
        return 2 * x

    def loaded() -> int:
        kernel = compiled.njit()(twice)
        assert kernel(2) == 4
        return sum(kernel.stats.cache_hits.values())

    folders = (SOURCE / KERNELS, (SOURCE / KERNELS).with_name("plain"))
    files = {f"{folder.name}/{path.name}" for folder in folders for path in folder.glob("*.py")}
    assert {name for name, *_ in compiled._stamp()} == files
    assert (loaded(), loaded()) == (0, 1)
    monkeypatch.setattr(compiled, "_stamp", lambda: (("instructions.py", 0, 0),))
    assert (loaded(), loaded()) == (0, 1)
