"""The plain and the compiled kernels mirror each other, and one of the two is chosen: small work never waits."""

from __future__ import annotations

import inspect
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import backend, plain

# What the compiled kernels are made of; nothing plain is like it.
PARTS = {"instructions"}


def functions(module: ModuleType) -> set[str]:
    """The names of a module's own kernels."""
    return {name for name in vars(module) if not name.startswith("_") and callable(getattr(module, name))}


def test_both_sides_have_the_same_modules() -> None:
    here = Path(plain.__file__).parent
    names = [
        {file.stem for file in folder.glob("*.py")} - {"__init__"} for folder in (here, here.with_name("compiled"))
    ]
    assert names[0] == names[1] - PARTS == set(backend.PLAIN)


@pytest.mark.parametrize("subject", backend.PLAIN)
def test_compiled_kernels_are_called_as_their_twins(subject: backend.Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(backend, "name", lambda: "compiled")
    compiled, twin = backend.kernels(subject), backend.PLAIN[subject]
    shared = functions(compiled) & functions(twin)
    assert shared
    for name in shared:
        if inspect.isfunction(kernel := getattr(compiled, name)) and inspect.isfunction(getattr(twin, name)):
            asked = inspect.signature(kernel).parameters, inspect.signature(getattr(twin, name)).parameters
            assert list(asked[0]) == list(asked[1]), name


def test_plain_kernels_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", "plain")
    assert backend.name.__wrapped__() == "plain"


WORDS = np.arange(6, dtype=np.uint64).reshape(3, 2)
LARGE = np.zeros((2, backend.SMALL // 16 + 1), np.uint64)


@pytest.fixture
def either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are chosen call by call, as in a process that has done nothing yet."""
    pytest.importorskip("numba")
    monkeypatch.setattr(backend, "name", lambda: "either")
    monkeypatch.setattr(backend, "_CHOSEN", set())
    monkeypatch.setattr(backend._PLAIN, "seconds", 0.0)
    backend._say_compiling.cache_clear()


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(("kept", "patience"), [(False, backend.PATIENCE), (True, backend.LOADING)])
def test_a_call_is_plain_while_it_is_small_and_plain_calls_took_less_than_the_alternative(
    monkeypatch: pytest.MonkeyPatch, kept: bool, patience: float, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backend, "is_kept", lambda subject: kept)
    backend._PLAIN.seconds = 0.9 * patience
    assert backend.kernels_for("bitset", backend.SMALL) is backend.PLAIN["bitset"]
    assert backend.kernels_for("rows", backend.SMALL + 1) is backend._compiled()["rows"]
    backend._PLAIN.seconds = patience
    assert backend.kernels_for("bitset", 0) is backend._compiled()["bitset"] is backend.kernels("bitset")
    assert {"bitset", "rows"} == backend._CHOSEN
    assert capsys.readouterr() == ("", "" if kept else f"{backend.COMPILING}\n")


@pytest.mark.usefixtures("either")
def test_time_is_counted_and_arrays_are_measured_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "is_kept", lambda subject: True)
    found = backend.shared_counts(WORDS, WORDS)
    assert (found == backend.PLAIN["bitset"].shared_counts(WORDS, WORDS)).all()
    assert 0 < backend._PLAIN.seconds < backend.LOADING
    assert not backend._CHOSEN
    before = backend._PLAIN.seconds
    assert not backend.shared_counts(LARGE, LARGE).any()
    assert {"bitset"} == backend._CHOSEN
    assert backend._PLAIN.seconds == before


def test_numba_is_not_needed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(backend, "_compiled", lambda: backend.PLAIN)
    monkeypatch.setattr(backend, "name", lambda: "either")
    monkeypatch.setattr(backend, "_CHOSEN", set())
    for octets in (0, backend.SMALL + 1):
        assert backend.kernels_for("tiles", octets) is backend.PLAIN["tiles"]
    assert capsys.readouterr() == ("", "")


def test_kept_kernels_are_found_where_numba_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not backend.is_kept.__wrapped__("rows")
    folder = tmp_path / "compiled_0123"
    folder.mkdir()
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    file = folder / f"rows._list_pulls-1.{version}.nbi"
    file.touch()
    assert backend.is_kept.__wrapped__("rows")
    assert not backend.is_kept.__wrapped__("tiles")
    os.utime(file, (0, 0))  # older than the sources: of another version
    assert not backend.is_kept.__wrapped__("rows")


def program(code: str, cache: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """A program on a machine that never ran this one, and the seconds of processor time that it took."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "VA_EDGE_LDP_"))}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        cwd=cache,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


ESTIMATE = """
import sys
from visibility_aware_edge_ldp.cli import main
sys.argv = ["va-edge-ldp", "estimate", "four_lines.csv", "--seed", "1"]
try:
    main()
finally:
    assert "numba" not in sys.modules
"""
LARGE_CALL = f"""
import numpy as np
from visibility_aware_edge_ldp.compute import backend
words = np.zeros((2, {backend.SMALL // 16 + 1}), np.uint64)
for _ in range(2):
    print(backend.shared_counts(words, words).sum())
"""


def test_the_first_result_on_a_small_graph_takes_two_seconds_and_compiles_nothing(tmp_path: Path) -> None:
    (tmp_path / "four_lines.csv").write_text("a,b\nb,c\nc,a\nc,d\n", encoding="utf-8")
    done, seconds = program(ESTIMATE, tmp_path)
    print(f"{seconds:.2f} s")
    assert "four_cycles" in done.stdout
    assert backend.COMPILING not in done.stderr  # what was read is said there too
    assert not list(tmp_path.rglob("*.nb[ic]"))
    assert seconds < 2


def test_compiling_is_said_once_and_not_where_results_go(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    first, second = (program(LARGE_CALL, tmp_path)[0] for _ in range(2))
    assert first.stdout == second.stdout == "0\n0\n"
    assert (first.stderr, second.stderr) == (f"{backend.COMPILING}\n", "")
    assert list(tmp_path.rglob("bitset.shared_counts*.nbi"))


def test_settled_kernels_are_the_same_whatever_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a participant's program calls before it looks at a list; the twin is the choice at each call."""
    monkeypatch.delenv("VA_EDGE_LDP_KERNEL", raising=False)
    backend.name.cache_clear()
    try:
        monkeypatch.setattr(backend, "_CHOSEN", set())
        monkeypatch.setattr(backend._PLAIN, "seconds", 0.0)
        assert backend.kernels_for("rows", backend.SMALL) is backend.PLAIN["rows"]
        chosen = backend.kernels_for("rows", backend.SMALL + 1)
        assert chosen is not backend.PLAIN["rows"] or backend._compiled() is backend.PLAIN
        monkeypatch.setattr(backend, "_CHOSEN", set())
        monkeypatch.setenv("VA_EDGE_LDP_KERNEL", "")
        monkeypatch.delenv("VA_EDGE_LDP_KERNEL")
        backend.settle()
        assert backend.name() != "either"
        small, large = (backend.kernels_for("rows", octets) for octets in (1, backend.SMALL + 1))
        assert small is large is backend.kernels("rows")
    finally:
        monkeypatch.setenv("VA_EDGE_LDP_KERNEL", "compiled")
        backend.name.cache_clear()
