"""The plain and the compiled kernels mirror each other, and one of the two is chosen."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

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
