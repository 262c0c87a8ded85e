"""GraphML, GML, Pajek, Parquet and Feather, and files that are refused by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

EDGES = [("ann", "bob"), ("bob", "cem"), ("ann", "cem")]


def ties(graph: Graph) -> list[tuple[str, str]]:
    return [(str(graph.names[u]), str(graph.names[v])) for u, v in graph.edges.tolist()]


@pytest.mark.parametrize("form", ["graphml", "gml", "pajek"])
@pytest.mark.parametrize("packed", [False, True])
def test_networkx_formats(tmp_path: Path, form: str, packed: bool) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph(EDGES)
    graph.add_node("dua")
    file = tmp_path / f"ties.{form}"
    getattr(networkx, f"write_{form}")(graph, file)
    if packed:
        file.write_bytes(gzip.compress(file.read_bytes()))
    found = read_graph(file)
    assert set(ties(found)) == {tuple(sorted(edge)) for edge in EDGES}
    assert list(found.names) == ["ann", "bob", "cem", "dua"]
    assert found.source == file.name


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_arrow_files(tmp_path: Path, form: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pyarrow.table({"wave": [1, 1, 1], "ego": [a for a, _ in EDGES], "alter": [b for _, b in EDGES]})
    file = tmp_path / f"ties.{form}"
    (parquet.write_table if form == "parquet" else feather.write_feather)(table, file)
    assert set(ties(read_graph(file))) == {tuple(sorted(edge)) for edge in EDGES}
    assert ties(read_graph(file, columns=("ego", "alter"))) == ties(read_graph(file))
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(BadGraph, match="damaged or cut off"):
        read_graph(file)


def test_polars_needs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    frame = polars.DataFrame({"ego": ["ann", "bob"], "alter": ["bob", "cem"]})
    assert ties(read_graph(frame)) == ties(read_graph(frame.lazy())) == [("ann", "bob"), ("bob", "cem")]


def test_a_pandas_matrix_is_not_read_as_two_columns() -> None:
    pandas = pytest.importorskip("pandas")
    names = ["ann", "bob", "cem"]
    frame = pandas.DataFrame([[0, 1, 0], [1, 0, 1], [0, 1, 0]], index=names, columns=names)
    assert ties(read_graph(frame)) == [("ann", "bob"), ("bob", "cem")]


def test_pajek_labels_that_are_not_unique_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "ties.net"
    file.write_text('*Vertices 3\n1 "ann"\n2 "ann"\n3 "bob"\n*Edges\n1 3\n2 3\n')
    with pytest.raises(BadGraph, match="3 vertices but only 2 different labels"):
        read_graph(file)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"PK\x03\x04rest", "Excel workbook or a ZIP"),
        (b'{"nodes": []}', "JSON"),
        (b'[["ann", "bob"]]', "JSON"),
        (b'<?xml version="1.0"?>\n<gexf>', "GEXF"),
        (b"$FL2@(#) SPSS", "SPSS"),
        (b"<graphml><graph", "looks like GraphML but cannot be read"),
        (b"graph [\n node [", "looks like GML but cannot be read"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, content: bytes, hint: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(BadGraph, match=hint):
        read_graph(file)


def test_options_of_text_files_are_refused_elsewhere() -> None:
    with pytest.raises(BadGraph, match="belong to text files"):
        read_graph(EDGES, header=True)
    with pytest.raises(BadGraph, match="Columns can be chosen"):
        read_graph(EDGES, columns=(1, 2))


def test_names_that_differ_in_capitals_or_blanks_are_pointed_out() -> None:
    found = read_graph([("Ann", "bob"), ("ann", "bob"), ("Bob ", "cem")])
    assert found.n == 5
    assert any("differ only in capitals or blanks" in note and "and 1 more" in note for note in found.notes)
