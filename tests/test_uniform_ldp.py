"""The uniform baseline runs, and is the same system."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp import true_ldp, uniform_ldp
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 160, 1)


def test_it_prints_its_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(uniform_ldp, "default_graph", lambda: (GRAPH, True))
    uniform_ldp.main()
    printed = capsys.readouterr().out
    assert "random:40,160" in printed
    assert "triangles" in printed


def test_uniform_is_the_same_system_with_nothing_public() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.5"))
    plain = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    uniform, same = uniform_ldp.run(world, seed=1), true_ldp.run(plain, seed=1)
    assert {k: e.value for k, e in uniform.items()} == {k: e.value for k, e in same.items()}
    assert plain.public.class_sizes[Visibility.PUBLIC] == 0
