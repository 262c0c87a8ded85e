"""Notions of neighbour: which two worlds a promise says cannot be told apart."""

from __future__ import annotations

from typing import ClassVar


class Relation:
    """Two worlds are neighbours under a relation; a guarantee is always about one relation."""

    words: ClassVar[str]


class OneEdge(Relation):
    """The worlds differ in the bit of one non-public position, and all reports are seen."""

    words = (
        "per edge: two worlds that differ in one non-public bit, seen by everybody "
        "who sees every report of every round of every user"
    )


class OneListEntry(Relation):
    """The worlds differ in one entry of one user's list, and only that user's reports are seen.

    Half as strict as :class:`OneEdge`, because an edge stands in two lists.
    """

    words = "per list: one entry of one user's neighbour list, seen by everybody who sees that user's reports"
