"""The command line in this process: its exit code and what it printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from visibility_aware_edge_ldp import cli


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as JSON, which has no NaN and no infinity."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


Run = Callable[..., Said]


def run_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> Said:
    """``va-edge-ldp`` with these words."""
    monkeypatch.setattr(sys, "argv", ["va-edge-ldp", *words])
    capsys.readouterr()
    try:
        cli.main()
        code: Any = 0
    except SystemExit as leaving:
        code = leaving.code
    said = capsys.readouterr()
    return Said(int(code or 0), said.out, said.err)
