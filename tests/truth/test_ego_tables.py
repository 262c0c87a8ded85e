"""Every shape in which egor and Network Canvas write an ego survey is read as the same survey."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from support import ego_surveys
from support.ego_surveys import NAMED, SHAPES
from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth import ego_tables
from visibility_aware_edge_ldp.truth.ego_tables import open_tables


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_the_same_survey(shape: str, tmp_path: Path) -> None:
    tables = open_tables(SHAPES[shape](tmp_path / "survey"))
    named: dict[str, list[str]] = {ego: [] for ego in tables.egos}
    for ego, _, row in tables.alters:
        named[ego].append(row.get("name") or row["label"])
    assert sorted(named.values()) == sorted(list(names) for _, names in NAMED.values())
    keys = {(ego, alter): row.get("name") or row["label"] for ego, alter, row in tables.alters}
    assert [tuple(keys[ego, end] for end in ends) for ego, *ends in tables.ties] == [("li wei", "Zoe Krol")]
    assert sorted(float(row["weight"].replace(",", ".")) for row in tables.egos.values()) == [1.5, 2.0, 4.0]


def test_a_list_of_files_and_an_ego_without_alters(tmp_path: Path) -> None:
    folder = ego_surveys.egor(tmp_path / "survey")
    with (folder / "egos.csv").open("a", encoding="utf-8") as out:
        out.write("9,Jo Ann,1\n")
    tables = open_tables([folder / "egos.csv", folder / "alters.csv"])
    assert (len(tables.egos), len(tables.alters), tables.ties) == (4, 9, [])


def test_guards_of_spreadsheets_are_taken_off_and_empty_tables_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "a_ego.csv").write_text("networkCanvasEgoUUID,networkCanvasCaseID\nu,'=x\n", encoding="utf-8")
    (tmp_path / "a_edgeList_Knows.csv").write_text("", encoding="utf-8")
    assert open_tables(tmp_path).egos["u"]["networkCanvasCaseID"] == "=x"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("from,to\na,b\n", "no table of an ego survey"),
        (".egoID,.altID,name\n1,1\n", "Row 2 of t.csv has 2 values for 3 columns"),
        (".egoID,name\n1,a\n1,b\n", "two rows for the ego '1'"),
        ("<graphml><graph>", "damaged or cut off"),
        ("<graphml><!ENTITY a 'b'></graphml>", "declares entities"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    with pytest.raises(BadGraph, match=said):
        open_tables(tmp_path)


def test_a_file_that_cannot_be_read_is_named_and_hides_no_missing_survey(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(BadGraph, match=r"is a folder that holds no table .* notes.txt is not UTF-8"):
        open_tables(tmp_path)
    (tmp_path / "egos.csv").write_text(".egoID,name\n1,a\n", encoding="utf-8")
    with pytest.raises(BadGraph, match=r"^notes\.txt is not UTF-8"):
        open_tables(tmp_path)


def test_a_workbook_and_a_bomb_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "book.xlsx"
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(BadGraph, match="no table of an ego survey"):
        open_tables(book)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.csv", bytes(10_000))
    monkeypatch.setattr(ego_tables, "_MOST_OCTETS", 9_999)
    with pytest.raises(BadGraph, match="more than 1 GB"):
        open_tables(bomb)
