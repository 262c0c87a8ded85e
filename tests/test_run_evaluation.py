"""The source documents' evaluation runs, and writes its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from visibility_aware_edge_ldp import run_evaluation
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 160, 1)


@pytest.mark.long
def test_the_whole_evaluation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(run_evaluation, "default_graph", lambda: (GRAPH, True))
    run_evaluation.main(str(tmp_path), trials=2)
    printed = capsys.readouterr().out
    assert "POSITION" in printed
    assert "CURATOR" in printed
    assert (tmp_path / "results.json").is_file()
