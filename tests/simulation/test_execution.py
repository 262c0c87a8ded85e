"""Which way a run goes, and what is said where it does not fit."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation import memory
from visibility_aware_edge_ldp.simulation.execution import Run
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


def world(policy: str = "nothing") -> VisibilityAwareGraph:
    return VisibilityAwareGraph(erdos_renyi(40, 90, 1), open_policy(policy))


@pytest.mark.parametrize(
    ("policy", "options", "way"),
    [
        ("nothing", {}, "kinds"),
        ("profiles:0.5", {}, "kinds"),
        ("document-001", {}, "planes"),
        ("nothing", {"rounds": 2}, "planes"),
        ("nothing", {"dropout": 0.1}, "planes"),
        ("nothing", {"rounds": 2, "estimator": "ipw_capped"}, "planes"),
        ("nothing", {"statistics": ("edges", "degrees")}, "streamed"),
        ("document-001", {"statistics": ("degree_histogram",), "dropout": 0.1, "rounds": 2}, "streamed"),
        ("nothing", {"statistics": ("edges",), "rounds": 2, "estimator": "ipw_capped"}, "planes"),
        ("nothing", {"trust": "user"}, "rows"),
        ("nothing", {"trust": "user", "statistics": ("edges", "stars:2")}, "degrees"),
        ("nothing", {"trust": "curator"}, "lists"),
    ],
)
def test_which_way_a_run_goes(policy: str, options: dict[str, object], way: str) -> None:
    given = {"trust": "position", "statistics": ("edges", "triangles"), **options}
    assert Run(world(policy), **given).strategy == way  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("trust", "statistics", "hint"),
    [
        ("position", ("edges", "triangles", "stars:2"), "Use --trust user with --statistics edges,stars:2, which"),
        (
            "position",
            ("triangles",),
            "Use an induced subgraph with --top N, a sample of the positions (--sample-positions 0.1",
        ),
        ("position", ("edges",), "Use an induced subgraph with --top N."),
        ("user", ("edges", "triangles"), "Leave out what needs rows (--statistics edges), or use"),
        ("curator", ("edges",), "Use an induced subgraph with --top N."),
    ],
)
def test_a_refusal_names_a_way_out(
    trust: str, statistics: tuple[str, ...], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 10)
    with pytest.raises(TooLarge) as refused:
        Run(world(), trust, statistics).refuse_too_large()
    assert hint in str(refused.value)
    assert str(refused.value).startswith("40 nodes have 780 positions; this would need about 0 MB of memory, and 0 MB")


def test_what_takes_too_long_is_refused_before_anybody_is_asked() -> None:
    large = VisibilityAwareGraph(erdos_renyi(6000, 6000, 1))
    for name, most in (("four_cliques", "5,000"), ("triangles_by_group", "5,000 nodes")):
        with pytest.raises(TooLarge, match=f"up to {most}"):
            Run(large, "position", (name,)).refuse_too_large()
