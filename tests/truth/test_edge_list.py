"""Edge lists as text, in every shape that is found in the wild."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import BadGraph, TooLarge
from visibility_aware_edge_ldp.truth import text_file
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

GAPS = "node ids are not 0..n-1; the {} ids that occur are the nodes"
EXTRA = "columns beyond the two node names were ignored"
HEADER = "the first line was read as a header"
TWO = [["ann", "bob"], ["bob", "eve"]]


def read(folder: Path, content: str | bytes, name: str = "edges.txt") -> Graph:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_graph(file)


def named(graph: Graph) -> list[list[object]]:
    return [[graph.names[u], graph.names[v]] for u, v in graph.edges.tolist()]


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n",
        "0 1\n1 2",
        "0\t1\n1\t2\n",
        "0,1\n1,2\n",
        "0, 1\n1 ,2\n",
        "0;1\n1;2\n",
        "  0   1  \n\n\n1 2\n   \n",
        "# a comment\n0 1\n% another\n1 2\n",
        "% KONECT\n0 1\n1 2\n",
        "# SNAP\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n",
        "0 1\n# in the middle\n1 2 # at the end\n",
        "0 1\r\n1 2\r\n",
        "0 1\r1 2\r",
        "\ufeff0 1\n1 2\n",
        '"0","1"\n"1","2"\n',
        "0 1\n1,2\n",
        "0\t1\n1 2\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n0 1\n1 2\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_layouts_of_numbers(tmp_path: Path, text: str, packed: bool) -> None:
    graph = read(tmp_path, gzip.compress(text.encode()) if packed else text)
    assert graph.names == range(3)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.source == "edges.txt"


@pytest.mark.parametrize(
    "text",
    [
        "ann bob\nbob eve\n",
        "ann\tbob\nbob\teve\n",
        "ann,bob\nbob,eve\n",
        "ann; bob\nbob ;eve\n",
        "# names\n\nann bob\n% more\nbob eve\n",
        '"ann" "bob"\n"bob"   "eve"\n',
        "ann bob\r\nbob eve\r\n",
    ],
)
def test_layouts_of_names(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, text)
    assert named(graph) == TWO
    assert graph.notes == ()


def test_names_may_hold_spaces_commas_and_any_letters(tmp_path: Path) -> None:
    assert named(read(tmp_path, "Ann Lee\tBob Ray\n")) == [["Ann Lee", "Bob Ray"]]
    assert named(read(tmp_path, '"Lee, Ann","Ray, Bob"\n')) == [["Lee, Ann", "Ray, Bob"]]
    assert named(read(tmp_path, "Žofie 李\n")) == [["Žofie", "李"]]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1 2\n", [1, 2]),
        ("-5 3\n", [-5, 3]),
        ("10 20\n20 40\n", [10, 20, 40]),
        ("0 9000000000000000000\n", [0, 9 * 10**18]),
        (f"0 {10**30}\n", [0, 10**30]),
    ],
)
def test_any_whole_numbers_are_names(tmp_path: Path, text: str, names: list[int]) -> None:
    graph = read(tmp_path, text)
    assert graph.names == names
    assert all(type(name) is int for name in graph.names)
    assert graph.notes == (GAPS.format(len(names)),)


@pytest.mark.parametrize("text", ["007 8\n7 9\n", "+7 8\n07 9\n% c\n# c\n"])
def test_one_number_written_twice_is_one_node(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text).names == [7, 8, 9]


def test_decimals_that_are_whole(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "saved.txt", [[0, 1], [1, 2]])
    graph = read_graph(tmp_path / "saved.txt")
    assert graph.names == range(3)
    assert graph.notes == ("node ids written as decimals were read as whole numbers",)
    assert read(tmp_path, "0.0 1.0\n1 2\n").edges.tolist() == [[0, 1], [1, 2]]  # no header
    assert read(tmp_path, "0.5 1\n").names == ["0.5", "1"]


@pytest.mark.parametrize("text", ["0 1 0.5\n1 2 3.5\n", "0,1,x y\n1,2,z\n", "0 1\n1 2 9\n", "0 1 7\n1 2\n"])
def test_further_columns_are_ignored(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, text)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.notes == (EXTRA,)


@pytest.mark.parametrize(
    "text",
    [
        "source,target\n0,1\n1,2\n",
        "Node-A Node-B\n0 1\n1 2\n",
        "u,v\n0,1\n1,2\n",
        "a b\n0 1\n# x\n% y\n1 2\n",
    ],
)
def test_words_above_numbers_are_a_header(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, text)
    assert graph.names == range(3)
    assert graph.notes == (HEADER,)


def test_a_header_chooses_its_columns(tmp_path: Path) -> None:
    graph = read(tmp_path, "id,Source,Target\n7,0,1\n8,1,2\n")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.notes == (HEADER, EXTRA)


def test_the_usual_words_are_a_header_above_names_too(tmp_path: Path) -> None:
    graph = read(tmp_path, "source,target\nann,bob\nbob,eve\n")
    assert named(graph) == TWO
    assert graph.notes == (HEADER,)


@pytest.mark.parametrize("text", ["ann bob\nbob 3\n", "u v\nv w\n", "ann bob\n", "from to\nto via\n", "x 1\n2 3\n"])
def test_other_first_lines_are_edges(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, text)
    assert graph.m == text.count("\n")
    assert HEADER not in graph.notes


def test_cleaning_is_said(tmp_path: Path) -> None:
    graph = read(tmp_path, "0 0\n0 1\n0 1\n1 0\n1 2\n")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.notes == (
        "1 self-loop was left out",
        "1 duplicate edge was merged",
        "1 edge was listed in both directions and merged",
    )


def test_a_node_with_a_self_loop_only_is_a_node(tmp_path: Path) -> None:
    graph = read(tmp_path, "0 1\n2 2\n")
    assert (graph.n, graph.m) == (3, 1)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0 1\n1\n", "Line 2 of edges.txt does not name two nodes: '1'"),
        ("# c\n\n0 1\n\n7\n", "Line 5 "),
        ("ann bob\neve\n", "Line 2 "),
        ("ann,bob\nann lee\n", "Line 2 "),
        ("0,1\n,2\n", "Line 2 "),
        ("0\t1\n0\t\t3\n", "Line 2 "),
        ("ann,bob\neve,,3\n", "Line 2 "),
        ("5\n6\n", "Line 1 "),
        ("", "holds no edges"),
        ("# only\n\n% comments\n", "holds no edges"),
        ("0 0\n", "at least two nodes is needed"),
        ("0 1\n2 nan\n", "missing node name"),
        ("NaN NA\n2 3\n", "missing node name"),
    ],
)
def test_refused_lines_are_named(tmp_path: Path, text: str, hint: str) -> None:
    with pytest.raises(BadGraph, match=hint):
        read(tmp_path, text)


def test_line_numbers_go_on_after_the_first_batch(tmp_path: Path) -> None:
    with pytest.raises(BadGraph, match="Line 70001 "):
        read(tmp_path, "a b\n" * 70_000 + "c\n")


GARBAGE = bytes(range(256)) * 8


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (GARBAGE, "not a text file"),
        (b"\x00\x01", "not a text file"),
        ("0 1\n".encode("utf-16"), "not a text file"),
        ("café thé\n".encode("latin-1"), "not UTF-8"),
        (gzip.compress(b"0 1\n" * 999, mtime=0)[:-12], "truncated gzip"),
        (gzip.compress(b"0 1\n" * 999, mtime=0)[:15], "truncated gzip"),
        (b"\x1f\x8b" + GARBAGE, "damaged gzip"),
        (gzip.compress(b"0 1\n", mtime=0)[:-8] + bytes(8), "damaged gzip"),
        (gzip.compress(b"", mtime=0), "holds no edges"),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, content: bytes, hint: str) -> None:
    with pytest.raises(BadGraph, match=hint):
        read(tmp_path, content)


@pytest.mark.parametrize("name", ["edges", "edges.txt.gz", "edges.bz2", "edges.csv"])
def test_the_name_of_a_file_does_not_matter(tmp_path: Path, name: str) -> None:
    for content in [b"0 1\n1 2\n", gzip.compress(b"0 1\n1 2\n")]:
        assert read(tmp_path, content, name).m == 2


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(BadGraph, match="There is no file"):
        read_graph(tmp_path / "absent.txt")
    with pytest.raises(BadGraph, match="is a folder"):
        read_graph(tmp_path)
    with pytest.raises(BadGraph, match="cannot be opened"):
        read_graph("a\0b")


def test_a_file_larger_than_memory_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "_physical_memory", lambda: 10)
    with pytest.raises(TooLarge, match="of memory"):
        read(tmp_path, "0 1\n1 2\n")


LETTERS = st.characters(exclude_categories=["C", "Z"], exclude_characters=',;"#%')
WORDS = st.text(LETTERS, min_size=1, max_size=6)
INTEGERS = st.one_of(st.integers(0, 20), st.integers(-(2**70), 2**70))


def write(folder: Path, rows: list[tuple[object, object]], separator: str) -> Path:
    file = folder / "rows.txt"
    file.write_text("".join(f"{u}{separator}{v}\n" for u, v in rows), encoding="utf-8", newline="")
    return file


def as_set(rows: object) -> set[frozenset[object]]:
    return {frozenset(row) for row in rows if len(set(row)) == 2}  # type: ignore[attr-defined]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1), st.sampled_from(" \t,;"))
def test_integers_come_back(tmp_path: Path, rows: list[tuple[int, int]], separator: str) -> None:
    names = {name for row in rows for name in row}
    file = write(tmp_path, rows, separator)
    if len(names) < 2:
        with pytest.raises(BadGraph, match="at least two nodes"):
            read_graph(file)
        return
    graph = read_graph(file)
    assert list(graph.names) == sorted(names)
    assert as_set(named(graph)) == as_set(rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1), st.sampled_from(" \t,;"))
@example([("é", "é́")], " ")
def test_words_come_back(tmp_path: Path, rows: list[tuple[str, str]], separator: str) -> None:
    # The first line's words come again, so that it is no header; words keep numbers among them text.
    rows = [("xx", "yy"), *rows, ("xx", "yy")]
    graph = read_graph(write(tmp_path, rows, separator))
    assert list(graph.names) == sorted({name for row in rows for name in row})
    assert as_set(named(graph)) == as_set(rows)
