"""The source documents' "true LDP" runs, and is wiring only."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp import true_ldp
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 160, 1)


def test_it_prints_its_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(true_ldp, "default_graph", lambda: (GRAPH, True))
    true_ldp.main()
    printed = capsys.readouterr().out
    assert "random:40,160" in printed
    assert "triangles" in printed
