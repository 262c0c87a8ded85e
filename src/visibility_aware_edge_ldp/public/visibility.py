"""The three classes of visibility and how well each is guarded."""

from __future__ import annotations

from enum import IntEnum

from visibility_aware_edge_ldp.errors import BadPolicy


class Visibility(IntEnum):
    """Who may know whether an edge is at a position. Smaller is more open."""

    PUBLIC = 0
    FRIEND_VISIBLE = 1
    PRIVATE = 2

    @property
    def multiplier(self) -> int:
        """The loss allowed per edge, in units of epsilon; a public bit has no claim."""
        return {Visibility.PUBLIC: 0, Visibility.FRIEND_VISIBLE: 2, Visibility.PRIVATE: 1}[self]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, word: Visibility | str) -> Visibility:
        """From a word such as "public" or "friend-visible"."""
        if isinstance(word, Visibility):
            return word
        key = str(word).strip().upper().replace("-", "_").replace(" ", "_")
        if key not in cls.__members__:
            raise BadPolicy(f"{word!r} is not a visibility class; use public, friend_visible or private.")
        return cls[key]


NON_PUBLIC = (Visibility.FRIEND_VISIBLE, Visibility.PRIVATE)
