"""What written names mean."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.truth.edge_list import interpret, is_whole
from visibility_aware_edge_ldp.truth.header import is_word


@pytest.mark.parametrize("name", [b"0", b"-12", b"+7", b"007", b"9" * 100])
def test_whole_numbers(name: bytes) -> None:
    assert is_whole(name)
    assert not is_word(name)


@pytest.mark.parametrize("name", [b"", b"1_000", b"0x1f", b"1.0", b"-", "٣".encode(), b"12a"])
def test_not_whole_numbers(name: bytes) -> None:
    assert not is_whole(name)


def test_names_that_are_all_whole_numbers_become_numbers() -> None:
    found = interpret([b"3", b"4"], np.array([[0, 1]]), ["said before"], "x")
    assert found.names == [3, 4]
    assert found.pairs.tolist() == [[0, 1]]
    assert found.notes[0] == "said before"


def test_one_word_makes_all_names_text() -> None:
    assert interpret([b"from", b"to", b"3"], np.array([[0, 1], [2, 1]]), [], "x").names == ["3", "from", "to"]
