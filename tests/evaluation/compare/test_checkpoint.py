"""Finished trials on the disk: nothing is lost, and nothing of another run is taken."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.comparisons import POLICY, finished, same, small
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.compare import checkpoint, runner
from visibility_aware_edge_ldp.evaluation.compare.checkpoint import Checkpoint
from visibility_aware_edge_ldp.evaluation.compare.comparison import compared
from visibility_aware_edge_ldp.evaluation.compare.design import (
    UNIFORM,
    designed,
)
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


def test_nothing_finished_is_lost(tmp_path: Path) -> None:
    design, whole = small(trust="all", trials=3), finished(small(trust="all", trials=3))

    class StoppedError(Exception):
        pass

    def stop_after_ten(_: int) -> None:
        if len((tmp_path / "new" / "trials.jsonl").read_text().splitlines()) == 10:
            raise StoppedError

    with pytest.raises(StoppedError):
        runner.Workers(design, progress=stop_after_ten).run(Checkpoint(tmp_path / "new", design))
    kept = Checkpoint(tmp_path / "new", design)
    assert len(kept.trials) == 10
    assert len(runner.missing(design, kept)) == len(design.cells) - 10 == 3 * 4 * 2 - 10
    again = compared(design, runner.Workers(design).run(kept))
    assert same(again, whole)
    assert again.histograms == whole.histograms


def test_more_trials_and_other_epsilons_go_on_from_the_same_file(tmp_path: Path) -> None:
    finished(small(), tmp_path)
    more = small(trials=3, epsilons=(1, 2))
    assert len(Checkpoint(tmp_path, more).trials) == 2 * 2 * 4
    assert same(finished(more, tmp_path), finished(more))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 6},
        {"statistics": ("edges",)},
        {"options": {"dropout": 0.1}, "trust": ("position", "user")},
        {"epsilons": (2,)},
    ],
    ids=str,
)
def test_trials_of_another_run_are_not_taken(tmp_path: Path, changes: dict[str, Any]) -> None:
    finished(small(trust=("position", "user")), tmp_path)
    other = small(**{"trust": ("position", "user"), **changes})
    assert not Checkpoint(tmp_path, other).trials
    finished(other, tmp_path)
    assert len(Checkpoint(tmp_path, small(trust=("position", "user"))).trials) == 8


def test_trials_of_another_graph_policy_or_version_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = small(trust="user")
    finished(design, tmp_path)
    assert len(Checkpoint(tmp_path, design).trials) == 4
    assert not Checkpoint(tmp_path, replace(design, graph=erdos_renyi(40, 200, 2))).trials
    # The uniform half does not depend on the policy.
    assert {
        cell.policy for cell in Checkpoint(tmp_path, small(trust="user", policy=VisibilityPolicy("0.3"))).trials
    } == {UNIFORM}
    guarded = POLICY.guarded(3, 1)
    assert not Checkpoint(tmp_path, small(trust="user", policy=guarded)).trials
    monkeypatch.setattr("visibility_aware_edge_ldp.evaluation.compare.design.software", lambda: "another")
    assert not Checkpoint(tmp_path, design).trials


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    design = small(trust="user")
    whole = finished(design, tmp_path)
    path = tmp_path / "trials.jsonl"
    path.write_bytes(b"not json\n[]\n{}\n" + path.read_bytes()[:-40])
    kept = Checkpoint(tmp_path, design)
    assert len(kept.trials) == 3
    assert same(compared(design, runner.Workers(design).run(kept)), whole)
    assert len(Checkpoint(tmp_path, design).trials) == 4


def test_lines_are_json_even_where_numbers_are_not_finite(tmp_path: Path) -> None:
    empty = erdos_renyi(12, 1, 1)
    design = designed(empty, POLICY, [1], 1, ("triangles", "degrees"), "position", 1)
    one = finished(design, tmp_path)
    assert one.aware.row(1, "triangles").mean_relative_error == float("inf")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    for line in (tmp_path / "trials.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)
    assert same(finished(design, tmp_path), one)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(BadInput, match=r"cannot be kept in .*Choose another folder"):
        finished(small(trust="user"), tmp_path / "file")


def test_nothing_is_kept_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finished(small())
    assert os.listdir(tmp_path) == []


def test_the_file_s_name_is_the_documented_one() -> None:
    assert checkpoint.FILE == "trials.jsonl"
