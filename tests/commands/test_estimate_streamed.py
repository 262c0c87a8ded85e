"""``va-edge-ldp estimate-streamed``: what the library tells, as a table and as JSON; bad input in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from commands.test_common_schemas import keeps
from support.command import Run
from support.command_line import assert_one_sentence
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

USERS = 3000
GRAPH = powerlaw(USERS, 9000, seed=2)


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    np.save(tmp_path / "edges.npy", GRAPH.edges)
    np.save(tmp_path / "wards.npy", np.arange(USERS) % 3)
    return ["estimate-streamed", str(tmp_path / "edges.npy"), "--users", str(USERS), "--seed", "4"]


def test_it_tells_what_the_library_does(run: Run, words: list[str]) -> None:
    found = run(*words, "--epsilon", "2", "--statistics", "edges,tail:5", "--json").json
    keeps("estimate", found)
    told = va.estimate(GRAPH, "user", 2, ["edges", "tail:5"], seed=4)
    assert found["graph"] == {"source": "edges.npy", "nodes": USERS, "notes": []}
    for name, each in found["estimates"].items():
        assert each["value"] == pytest.approx(told[name].value, rel=1e-12)
        assert each["standard_error"] == pytest.approx(told[name].standard_error, rel=1e-9)
    said = run(*words)
    assert said.code == 0
    assert "edges.npy: 3,000 users; ε = 1 for all statistics together" in said.out
    assert "stars:2" in said.out
    assert "Certificate: USER, at most ε = 1 per PRIVATE edge." in said.out
    assert "lists every edge once" not in run(*words, "--certificate").out


def test_groups_are_counted_by_their_names(run: Run, words: list[str], tmp_path: Path) -> None:
    wards = ("--groups", str(tmp_path / "wards.npy"))
    found = run(*words, *wards, "--labels", "north,south,west", "--json").json
    keeps("estimate", found)
    assert found["graph"]["groups"] == {"attribute": "wards", "labels": ["north", "south", "west"], "sizes": [1000] * 3}
    groups = Groups("wards", ("north", "south", "west"), np.arange(USERS) % 3)
    whole = va.estimate(va.VisibilityAwareGraph(GRAPH).grouped(groups), "user", 1, ["edges", "mixing"], seed=4)
    assert found["estimates"]["mixing"]["value"] == pytest.approx(whole["mixing"].value.tolist())
    assert run(*words, *wards, "--json").json["graph"]["groups"]["labels"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--users", "9"), "names users beyond"),
        (("--statistics", "triangles"), "takes whole lists"),
        (("--columns", "from"), "--columns names two columns"),
        (("--groups", "edges.npy"), "must hold one whole number for each"),
        (("--groups", "nowhere.npy"), "is not a .npy file of whole numbers"),
        (("--groups", "wards.npy", "--labels", "a,b"), "in a group that has no name"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_sentence(run(*words, *more), sentence)
