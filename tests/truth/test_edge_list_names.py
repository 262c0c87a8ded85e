"""What written names mean."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.truth.edge_list import HEADER, edge_columns, interpret, is_whole, is_word


@pytest.mark.parametrize("name", [b"0", b"-12", b"+7", b"007", b"9" * 100])
def test_whole_numbers(name: bytes) -> None:
    assert is_whole(name)
    assert not is_word(name)


@pytest.mark.parametrize("name", [b"", b"1_000", b"0x1f", b"1.0", b"-", "٣".encode(), b"12a"])
def test_not_whole_numbers(name: bytes) -> None:
    assert not is_whole(name)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (["a", "b", "c"], (0, 1)),
        (["id", "Target", "Source"], (2, 1)),
        (["dst", "src"], (1, 0)),
        (["w", " FROM", "to "], (1, 2)),
        (["v", "w", "u"], (2, 0)),
        (["source", "x"], (0, 1)),
    ],
)
def test_columns_by_name(header: list[str], columns: tuple[int, int]) -> None:
    assert edge_columns(header) == columns


def test_a_header_is_cut_off_with_its_names() -> None:
    found = interpret([b"from", b"to", b"3", b"4"], np.array([[0, 1], [2, 3]]), [], "x")
    assert found.names == [3, 4]
    assert found.pairs.tolist() == [[0, 1]]
    assert found.notes[0] == HEADER


def test_words_used_again_are_no_header() -> None:
    found = interpret([b"from", b"to", b"3"], np.array([[0, 1], [2, 1]]), [], "x")
    assert found.names == ["3", "from", "to"]
