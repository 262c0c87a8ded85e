"""Graphs by name, and the source document's front door."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest

from visibility_aware_edge_ldp import dataset
from visibility_aware_edge_ldp.errors import BadGraph, BadInput

TEXT = b"0 1\n1 2\n"
FILE = "facebook_combined.txt.gz"
pytestmark = pytest.mark.usefixtures("cache")


# ── load and open ──


def test_what_is_absent_is_refused_with_what_to_do() -> None:
    with pytest.raises(BadGraph, match="va-edge-ldp datasets fetch facebook"):
        dataset.load("facebook")
    with pytest.raises(BadGraph, match="set VA_EDGE_LDP_DATA"):
        dataset.load("ca-GrQc")
    with pytest.raises(BadGraph, match="not a known graph"):
        dataset.load("myspace")


@pytest.mark.parametrize(("name", "n", "m"), [("random:50,100", 50, 100), ("powerlaw:60,90", 60, 90)])
def test_generators_by_name(name: str, n: int, m: int) -> None:
    graph = dataset.load(name)
    assert (graph.n, graph.m) == (n, m)
    assert dataset.open_graph(name).edges.tolist() == graph.edges.tolist()


@pytest.mark.parametrize("name", ["random:", "random:5", "powerlaw:a,b", "random:5,100"])
def test_generators_with_wrong_sizes_are_refused(name: str) -> None:
    with pytest.raises(BadInput):
        dataset.load(name)


def test_open_takes_a_path(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_bytes(TEXT)
    assert dataset.open_graph(str(tmp_path / "e.txt")).m == 2
    with pytest.raises(BadGraph, match="There is no file"):
        dataset.open_graph(str(tmp_path / "absent.txt"))


@pytest.mark.parametrize("name", ["facebook", "fb100-caltech", "fb100-amherst", "ca-GrQc", "imdb-actors-c10"])
def test_the_table_is_true(data_folder, name: str, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    known = dataset.DATASETS[name]
    dataset.verify(known, data_folder / known.filename)
    monkeypatch.setenv("VA_EDGE_LDP_DATA", str(data_folder.path))
    graph = dataset.open_graph(name)
    assert (graph.n, graph.m) == (known.nodes, known.edges)


# ── the source document's front door ──


def test_facebook_like_stands_in_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="datasets fetch facebook"):
        facebook = dataset.FacebookDataset()
    assert facebook.is_synthetic
    assert (facebook.graph.n, facebook.graph.m) == (4_039, 88_234)
    assert facebook.source == facebook.graph.source


def test_facebook_by_path(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(gzip.compress(TEXT + b"2 5\n"))
    facebook = dataset.FacebookDataset(tmp_path)
    assert not facebook.is_synthetic
    assert facebook.source == FILE
    assert set(facebook.G.edges()) == {(0, 1), (1, 2), (2, 5)}  # the user's own names
    assert facebook.G is facebook.G
    with pytest.raises(BadGraph, match="Check the path"):
        dataset.FacebookDataset(tmp_path / "absent")


def test_the_default_graph_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph, is_synthetic = dataset.default_graph()
    assert is_synthetic
    assert graph.n == 4_039


def test_the_real_facebook_graph(data_folder, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("VA_EDGE_LDP_DATA", str((data_folder / FILE).parent))
    facebook = dataset.FacebookDataset()
    assert not facebook.is_synthetic
    assert (facebook.G.number_of_nodes(), facebook.G.number_of_edges()) == (4_039, 88_234)
    graph, is_synthetic = dataset.default_graph()
    assert (graph.m, is_synthetic) == (88_234, False)


def test_near_misses_are_guessed(cache: Path) -> None:
    with pytest.raises(BadGraph, match="Did you mean 'facebook'"):
        dataset.open_graph("facebok")
    assert dataset.open_graph("facebook-like").n == 4039
    with pytest.raises(BadGraph, match="--policy"):
        dataset.open_graph("policy.toml")
