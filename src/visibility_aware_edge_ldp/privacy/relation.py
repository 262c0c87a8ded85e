"""Notions of neighbour: which two worlds a promise says cannot be told apart.  [COMPOSITION.1-3]"""

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


class OneDegree(Relation):
    """The worlds differ in the whole degree of one user, however much, and only that user's reports are seen.

    Stricter than :class:`OneListEntry`, which is the special case of one friend more or less. An edge is in the
    degrees of both its ends, so :class:`OneEdge` loses at most twice as much.
    """

    words = (
        "per degree: two worlds in which one user's degree differs in any way, seen by everybody who sees that "
        "user's reports; an edge is in two degrees, so it loses at most twice this"
    )
