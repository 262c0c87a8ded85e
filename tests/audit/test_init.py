"""The package ``audit`` can be called, and holds the stages of all audits."""

from __future__ import annotations

from typing import Any

import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp import audit
from visibility_aware_edge_ldp.audit import catalogue, runner


def test_the_stages_are_those_of_the_catalogue() -> None:
    assert audit.STAGES is catalogue.STAGES
    with pytest.raises(AttributeError, match="no attribute 'stages'"):
        _ = audit.stages


def test_a_call_of_the_package_is_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(runner, "audit", lambda *mechanism, **options: given.append((mechanism, options)) or "found")
    assert va.audit("position", cores=1) == "found"
    assert given == [(("position",), {"cores": 1})]
