"""The files of a plan: whole, the same every time, and numbers where nothing can be drawn."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.plan.planner import Plan, plan
from visibility_aware_edge_ldp.evaluation.plan.scenarios import Publicity
from visibility_aware_edge_ldp.presentation import plan_figures
from visibility_aware_edge_ldp.presentation.result_files import write_plan
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)


ROWS = [
    Publicity("positions", 0.0, "user", 0.2),
    *(Publicity(kind, share, "user", 0.2 - share / 5) for kind in plan_figures.KIND_LOOKS for share in (0.1, 0.5)),
]


def made(**options: object) -> Plan:
    return plan(family=GRAPH, statistics="triangles", **options)  # type: ignore[arg-type]


def test_files_are_whole_and_the_same_every_time(tmp_path: Path) -> None:
    found = plan(family=GRAPH, statistics="edges,triangles", epsilons=[1, 2], target_error=0.05)
    names = [path.name for path in write_plan(found, tmp_path, ROWS)]
    assert names == ["plan.json", "plan.csv", "public.csv", "error.svg", "error.png", "public.svg", "public.png"]
    content = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert len(content["more_public"]) == len(ROWS)
    with (tmp_path / "plan.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(found.predictions)
    drawn = (tmp_path / "error.svg").read_text(encoding="utf-8")
    assert all(text in drawn for text in (plan_figures.HERE, plan_figures.HARDEST, "Triangles", "position", "curator"))
    assert all(text in (tmp_path / "public.svg").read_text() for text in plan_figures.KIND_WORDS.values())
    assert plan_figures.figure_files(found)["error.svg"] == drawn.encode()


def test_numbers_are_written_where_nothing_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.style", None)
    with pytest.raises(MissingPart, match=r"plan\.json"):
        write_plan(made(epsilons=[1], trust=("position",)), tmp_path)
    assert (tmp_path / "plan.csv").is_file()
