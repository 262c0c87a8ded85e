"""The source documents' modules run, and are wiring only."""

from __future__ import annotations

from pathlib import Path

import pytest

from visibility_aware_edge_ldp import compare_ldp, run_evaluation, true_ldp, uniform_ldp
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 160, 1)


@pytest.mark.parametrize("module", [true_ldp, uniform_ldp, compare_ldp])
def test_each_prints_its_table(
    module: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "default_graph", lambda: (GRAPH, True))
    module.main()
    printed = capsys.readouterr().out
    assert "random:40,160" in printed
    assert "triangles" in printed


def test_the_whole_evaluation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(run_evaluation, "default_graph", lambda: (GRAPH, True))
    run_evaluation.main(str(tmp_path), trials=2)
    printed = capsys.readouterr().out
    assert "POSITION" in printed
    assert "CURATOR" in printed
    assert (tmp_path / "results.json").is_file()


def test_uniform_is_the_same_system_with_nothing_public() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.5"))
    plain = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    uniform, same = uniform_ldp.run(world, seed=1), true_ldp.run(plain, seed=1)
    assert {k: e.value for k, e in uniform.items()} == {k: e.value for k, e in same.items()}
    assert plain.public.class_sizes[Visibility.PUBLIC] == 0
