"""Three classes and their words."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def test_smaller_is_more_open() -> None:
    assert PUBLIC < FRIEND_VISIBLE < PRIVATE
    assert [int(kind) for kind in Visibility] == [0, 1, 2]


def test_only_public_is_not_asked() -> None:
    assert NON_PUBLIC == (FRIEND_VISIBLE, PRIVATE)


@pytest.mark.parametrize("kind", list(Visibility))
def test_every_spelling_of_a_class(kind: Visibility) -> None:
    name = kind.name
    dashed, spaced = name.replace("_", "-").lower(), name.replace("_", " ").title()
    spellings = [name, name.lower(), dashed, f" {spaced} ", kind]
    assert [Visibility.of(word) for word in spellings] == [kind] * len(spellings)
    assert str(kind) == name


@pytest.mark.parametrize("word", ["", "secret", "publicly", "friend"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(BadPolicy, match="is not a visibility class"):
        Visibility.of(word)


@pytest.mark.parametrize("number", [3, -1, 99])
def test_other_numbers_are_refused(number: int) -> None:
    with pytest.raises(BadPolicy, match="is not a visibility class"):
        Visibility.of(number)
