"""Tables of node attributes, and the conditions on them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.truth.attributes import NodeTable, read_attributes

TEXT = 'id,work,country,score\n7,2,NL,0.5\n8,0,"DE, West",\n-9,1,ÅL,2e3\n'


@pytest.fixture
def table(tmp_path: Path) -> NodeTable:
    file = tmp_path / "people.csv"
    file.write_text(TEXT, encoding="utf-8")
    return read_attributes(file)


def test_types(table: NodeTable) -> None:
    assert table.names == [7, 8, -9]
    assert all(type(name) is int for name in table.names)
    assert list(table.columns) == ["work", "country", "score"]
    assert table.column("work").tolist() == [2, 0, 1]
    assert table.column("country").tolist() == ["NL", "DE, West", "ÅL"]
    assert np.isnan(table.column("score")[1])
    assert table.column("score")[2] == 2000.0


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("work > 0", {7, -9}),
        ("work>=1", {7, -9}),
        ("work == 1", {-9}),
        ("work != 1", {7, 8}),
        ("work < 1.5", {8, -9}),
        ("work <= -1", set()),
        ("work <= 1", {8, -9}),
        ("work > 1", {7}),
        ("country == 'NL'", {7}),
        ('country != "NL"', {8, -9}),
        ('country == "ÅL"', {-9}),
        ("score > .1e1", {-9}),
    ],
)
def test_conditions(table: NodeTable, condition: str, met: set[int]) -> None:
    answer = table.where(condition)
    assert set(answer) == {7, 8, -9}
    assert {name for name, yes in answer.items() if yes} == met
    assert all(type(yes) is bool for yes in answer.values())


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "work",
        "work =",
        "work = 1",
        "work > NL",
        "> 1",
        "work > 1 or 1 == 1",
        "__import__('os')",
        "work > 1; 2",
    ],
)
def test_conditions_are_not_code(table: NodeTable, condition: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        table.where(condition)


@pytest.mark.parametrize(
    ("condition", "hint"),
    [("play > 0", "no column 'play'"), ("country > 0", "holds text"), ("work == '1'", "holds numbers")],
)
def test_wrong_columns_are_named(table: NodeTable, condition: str, hint: str) -> None:
    with pytest.raises(BadInput, match=hint):
        table.where(condition)


def test_gzip_text_names_and_another_node_column(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"  # the name does not say that it is packed
    file.write_bytes(gzip.compress(b"\xef\xbb\xbfage,who\r\n3,ann\r\n4,bob\r\n"))
    table = read_attributes(file, node="who")
    assert table.names == ["ann", "bob"]
    assert table.where("age == 4") == {"ann": False, "bob": True}


def test_huge_ids_stay_exact(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"id,x\n{10**30},1\n2,0\n", encoding="utf-8")
    assert read_attributes(file).where("x == 1") == {10**30: True, 2: False}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "empty"),
        ("id,work\n", "no rows"),
        ("name,work\n1,2\n", "no column 'id' .* say node ="),
        ("id,work\n1,2\n3\n", "Row 2"),
        ("id,work,work\n1,2,3\n", "same name"),
        ("id,work\n1,2\n1,3\n", "two rows"),
        ("id,work\n1,2\n,3\n", "without a name"),
    ],
)
def test_refusals(tmp_path: Path, text: str, hint: str) -> None:
    file = tmp_path / "people.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=hint):
        read_attributes(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no file"):
        read_attributes(tmp_path / "absent.csv")
    (tmp_path / "garbage.csv").write_bytes(bytes(range(128, 256)))
    with pytest.raises(BadInput, match="not a CSV file"):
        read_attributes(tmp_path / "garbage.csv")


def test_columns_must_fit_the_names() -> None:
    with pytest.raises(BadInput, match="1 values for 2 nodes"):
        NodeTable(["ann", "bob"], {"work": np.array([1])})


def test_real_profiles(data_folder) -> None:  # type: ignore[no-untyped-def]
    facebook = read_attributes(data_folder / "facebook_profile.csv.gz")
    assert len(facebook) == 4_039
    assert sum(facebook.where("is_ego == 1").values()) == 10
    caltech = read_attributes(data_folder / "fb100-Caltech36.nodes.csv.gz")
    disclosed = caltech.where("n_disclosed >= 4")
    assert len(disclosed) == 769
    assert 0 < sum(disclosed.values()) < 769


@pytest.mark.parametrize("condition", ["kind == 'Member'", "kind != 'Member'"])
def test_a_misspelt_text_would_make_nobody_public_or_everybody(condition: str) -> None:
    table = NodeTable(["ann", "bob"], {"kind": np.array(["member", "creator"])})
    with pytest.raises(BadInput, match="No node has 'Member' in the column 'kind', which has 'creator', 'member'"):
        table.where(condition)
    assert table.where("kind > 'creator'") == {"ann": True, "bob": False}
