"""Headers and columns of tables, by comparing the first line with the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.edge_list import EXTRA_COLUMNS, HEADER
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.header import TableOptions, choose_columns, is_header, known_columns
from visibility_aware_edge_ldp.truth.readers import read_graph

HEADERS = [
    "ego,alter", "person,contact", "user_id,friend_id", "u,v", "source,target", "from,to", "src,dst", "node1,node2",
    "id1,id2", "person_a,person_b", "Sender,Receiver", "follower,followee", "i,j", "egoID,alterID",
    "Person 1,Person 2", "userId,friendId", "x,y", "case,contact", "FROM,TO", "name_1,name_2",
    "origin,destination", "payer,payee",
]  # fmt: skip
BODIES = [
    ("ann", "bob", "cem"),
    ("Ann Lee", "Bob Ray", "Cem Öz"),
    ("p001", "p002", "p003"),
    ("a@x.org", "b@x.org", "c@x.org"),
    ("3", "17", "29"),
]


def read(folder: Path, text: str, **options: object) -> Graph:
    file = folder / "ties.csv"
    file.write_text(text, encoding="utf-8")
    return read_graph(file, **options)  # type: ignore[arg-type]


def ties(graph: Graph) -> list[list[str]]:
    return [[str(graph.names[u]), str(graph.names[v])] for u, v in graph.edges.tolist()]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("names", BODIES)
def test_ordinary_headers_are_never_people(tmp_path: Path, header: str, names: tuple[str, str, str]) -> None:
    first, second, third = names
    graph = read(tmp_path, f"{header}\n{first},{second}\n{second},{third}\n")
    assert sorted(map(str, graph.names)) == sorted(names)
    assert graph.m == 2
    assert HEADER in graph.notes


@pytest.mark.parametrize(
    "text",
    [
        "ann,bob\nbob,cem\ncem,ann\n",
        "a,b\nb,c\nc,d\n",
        "p001,p002\np003,p004\np005,p001\n",
        "p1,p2\np3,p4\n",
        "user1,user2\nuser3,user4\n",
        "ann,bob,3\ncem,dua,5\n",
        "ann,bob,friend\ncem,dua,kin\neve,fay,friend\n",
    ],
)
def test_first_lines_that_are_edges(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, text)
    assert graph.m == text.count("\n")
    assert HEADER not in graph.notes


@pytest.mark.parametrize(
    "text",
    [
        "ann,bob\ncem,dua\neve,fay\n",
        "u,v\nw,x\ny,z\n",
        "Mentor,Helper\nAnn,Bob\nBob,Cem\n",
        "ann,bob,cost\nann,bob,3\n",
    ],
)
def test_what_may_be_either_is_refused_with_the_way_out(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadGraph, match=r"may be a header or an edge.*--header or --no-header"):
        read(tmp_path, text)
    lines = text.count("\n")
    assert read(tmp_path, text, header=True).m == lines - 1
    assert read(tmp_path, text, header=False).m == len({tuple(line.split(",")[:2]) for line in text.split()})


def test_a_header_may_be_forced_over_names_that_come_again(tmp_path: Path) -> None:
    graph = read(tmp_path, "ann,bob\nbob,cem\nann,dua\n", header=True)
    assert ties(graph) == [["ann", "dua"], ["bob", "cem"]]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("wave,ego_code,alter_code", ["1,ann,bob", "1,bob,cem"]),
        (",source,target", ["0,ann,bob", "1,bob,cem"]),
        (",0,1", ["0,ann,bob", "1,bob,cem"]),
        ("date,person,contact,minutes", ["2020-01-01,ann,bob,3", "2020-01-02,bob,cem,4"]),
        ("giver,taker,weight", ["ann,bob,1", "bob,cem,2"]),
        ("edgeID,from,to", ["1,ann,bob", "2,bob,cem"]),
    ],
)
def test_columns_are_found_by_their_names(tmp_path: Path, header: str, rows: list[str]) -> None:
    graph = read(tmp_path, "\n".join([header, *rows]) + "\n")
    assert ties(graph) == [["ann", "bob"], ["bob", "cem"]]
    assert {HEADER, EXTRA_COLUMNS} <= set(graph.notes)


def test_columns_that_cannot_be_told_are_asked_for(tmp_path: Path) -> None:
    text = "school,giver,taker\n3,ann,bob\n4,bob,cem\n"
    with pytest.raises(BadGraph, match=r"'school', 'giver', 'taker'.*--columns FROM,TO"):
        read(tmp_path, text)
    for columns in [("giver", "taker"), "giver,taker", (2, 3), "2,3"]:
        assert ties(read(tmp_path, text, columns=columns)) == [["ann", "bob"], ["bob", "cem"]]
    with pytest.raises(BadGraph, match=r"no column 'givver'\. The table has: school, giver, taker"):
        read(tmp_path, text, columns=("givver", "taker"))


def test_delimiters(tmp_path: Path) -> None:
    assert ties(read(tmp_path, "ann|bob\nbob|cem\n", delimiter="|")) == [["ann", "bob"], ["bob", "cem"]]
    assert ties(read(tmp_path, "Ann Lee\tBob\nBob\tCem\n", delimiter="tab")) == [["Ann Lee", "Bob"], ["Bob", "Cem"]]
    assert read(tmp_path, "3|4\n4|5\n", delimiter="|").names == [3, 4, 5]
    with pytest.raises(BadGraph, match="one character"):
        read(tmp_path, "ann bob\n", delimiter="ab")


@pytest.mark.parametrize("columns", ["a", "a,b,c", "a,a"])
def test_options_that_make_no_sense(columns: str) -> None:
    with pytest.raises(BadGraph, match="two different columns"):
        TableOptions(columns)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (["id", "Target", "Source"], (2, 1)),
        (["dst", "src"], (1, 0)),
        (["w", " FROM", "to "], (1, 2)),
        (["v", "w", "u"], (2, 0)),
        (["a", "b", "c"], (0, 1)),
        (["weight", "friend_1", "friend_2"], (1, 2)),
        (["from", "to", "networkCanvasSourceUUID", "networkCanvasTargetUUID"], (2, 3)),
    ],
)
def test_known_columns(header: list[str], columns: tuple[int, int]) -> None:
    assert known_columns(header) == columns
    assert choose_columns(header, "x") == columns


def test_a_word_above_numbers_decides_and_a_missing_value_does_not() -> None:
    assert is_header(["ann", "bob", "strength"], [["cem", "dua", "3"]], (0, 1), False) is True
    assert is_header(["ann", "bob", "NA"], [["cem", "ann", "3"]], (0, 1), True) is False
    assert is_header(["ann", "bob", "strength"], [["ann", "dua", "3"]], (0, 1), True) is None


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        (".egoID,.altID,age", "egor table"),
        ("egoID,altID", "egor table"),
        (".egoID,.srcID,.tgtID", "egor table"),
        ("nodeID,networkCanvasEgoUUID,networkCanvasUUID,name", "Network Canvas list of people"),
    ],
)
def test_tables_of_other_programs_are_refused_by_name(tmp_path: Path, header: str, hint: str) -> None:
    row = ",".join(str(number) for number in range(1, header.count(",") + 2))
    with pytest.raises(BadGraph, match=hint):
        read(tmp_path, f"{header}\n{row}\n{row}\n")


def test_a_network_canvas_edge_list_is_read_by_its_identifiers(tmp_path: Path) -> None:
    header = "edgeID,from,to,networkCanvasEgoUUID,networkCanvasUUID,networkCanvasSourceUUID,networkCanvasTargetUUID"
    graph = read(tmp_path, f"{header}\n1,1,2,e-1,t-1,n-11,n-12\n2,1,2,e-2,t-2,n-21,n-22\n")
    assert ties(graph) == [["n-11", "n-12"], ["n-21", "n-22"]]
