"""Reading friend lists: files of several kinds, names in several spellings, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.campaign.participant.friend_lists import read_edges, read_friends
from visibility_aware_edge_ldp.errors import BadInput

ROSTER = ("Ada", "Bob", "Zoë", "Smith, J.", "7")


def named(source: object) -> list[str]:
    found = read_friends(source, ROSTER, 0)  # type: ignore[arg-type]
    assert found.unknown == ()
    return [name for name, bit in zip(ROSTER, found.bits, strict=True) if bit]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.txt", "Bob\nSmith, J.\n\n  Zo\u00eb  \n7\n"),
        ("list.csv", 'Bob,2019\n"Smith, J.",2020\nZo\u00eb\n\n7,x,y\n'),
        ("list.json", '["Bob", "Smith, J.", "Zo\\u00eb", 7]'),
        ("list", '\n ["Bob", "Smith, J.", "Zoe\u0308", "7"]'),
        ("windows.txt", "\ufeffBob\r\nSmith, J.\r\nZoe\u0308\r\n7\r\n"),
    ],
)
def test_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    everybody = ["Bob", "Zoë", "Smith, J.", "7"]
    assert named(tmp_path / name) == named(str(tmp_path / name)) == everybody


def test_standard_input_names_and_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Bob\n"))
    assert named("-") == named(["Bob"]) == named(iter(["Bob", "Bob"])) == named(lambda: {"Bob"}) == ["Bob"]
    assert named([]) == []
    assert named([7]) == ["7"]


def test_unknown_names_are_left_out() -> None:
    found = read_friends(["Bob", "Eve", "bob"], ROSTER, 0)
    assert (found.unknown, found.read_as) == (("Eve",), (("bob", "Bob"),))
    assert found.bits.sum() == 1


def test_edges_are_read_as_forgivingly_as_friends() -> None:
    found = read_edges([("bob", "ADA"), ("Bob", "Ada"), ("Eve", "Bob")], ROSTER)
    assert (len(found.pairs), found.unknown, len(found.read_as)) == (1, ("Eve",), 2)
    with pytest.raises(BadInput, match="joins two people"):
        read_edges([("bob", "BOB")], ROSTER)


def test_lists_do_not_print_themselves() -> None:
    assert "Eve" not in repr(read_friends(["Bob", "Eve"], ROSTER, 0))
    assert "1" not in repr(read_edges([("Bob", "Ada")], ROSTER))


@pytest.mark.parametrize("source", [["Ada"], [" Ada "]])
def test_ones_own_name_is_refused(source: list[str]) -> None:
    with pytest.raises(BadInput, match="its own holder"):
        read_friends(source, ROSTER, 0)


@pytest.mark.parametrize("source", [[None], [1.5], [True], [b"Bob"]])
def test_what_is_no_name_is_refused(source: list[object]) -> None:
    with pytest.raises(BadInput, match="a text or a whole number"):
        read_friends(source, ROSTER, 0)


@pytest.mark.parametrize(("name", "data"), [("a.json", b'{"Bob": 1}'), ("a.json", b"[1, "), ("a.txt", b"\xff\xfe")])
def test_files_that_cannot_be_read(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInput, match="friend list"):
        read_friends(tmp_path / name, ROSTER, 0)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_friends("nowhere.txt", ROSTER, 0)


def test_a_hub_gives_pairs(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("Bob,Ada\nAda,Bob\n7,Zoë\nEve,Bob\n", encoding="utf-8")
    (tmp_path / "edges.txt").write_text("Bob,Ada\n7,Zoë\nEve,Bob\n", encoding="utf-8")
    (tmp_path / "edges.json").write_text('[["Bob", "Ada"], [7, "Zoë"], ["Eve", "Bob"]]', encoding="utf-8")
    for source in (tmp_path / "edges.csv", tmp_path / "edges.txt", tmp_path / "edges.json"):
        found = read_edges(source, ROSTER)
        assert found.pairs.tolist() == [[0, 1], [2, 4]]
        assert found.unknown == ("Eve",)
    assert read_edges([], ROSTER).pairs.shape == (0, 2)


@pytest.mark.parametrize("row", ["Bob", ["Bob"], 7])
def test_what_is_no_pair_is_refused(row: object) -> None:
    with pytest.raises(BadInput, match="pairs of names"):
        read_edges([row], ROSTER)


def test_an_edge_to_oneself_is_refused() -> None:
    with pytest.raises(BadInput, match="both sides"):
        read_edges([("Bob", "Bob")], ROSTER)
