"""A scope in words, with the public tables that the words go by: what one writes down so that others find the same.

``lists & group:year`` needs the year of everybody; who has that, the roster, the policy and the public edges works the
same scope out.  [SCOPE.1]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.scope import (
    PublicPositions,
    Scope,
    group_scope,
    list_scope,
    named_scope,
    parse_scope,
)

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.view import PublicView

Pair = tuple[Hashable, Hashable]
MISSING = ",missing="


@dataclass(frozen=True, eq=False)
class ScopeWords:
    """Words such as ``lists | group:year``, and what stands behind them.

    Parameters
    ----------
    words
        As they are typed; of files, the names without their folders.
    columns
        For what follows each ``group:``, the attribute's value of every node that has one.
    files
        For what follows each ``file:``, the positions that it names.
    """

    words: str
    columns: Mapping[str, Mapping[Hashable, Hashable]] = field(default_factory=dict, repr=False)
    files: Mapping[str, Sequence[Pair]] = field(default_factory=dict, repr=False)

    def scope(self, view: PublicView) -> Scope:
        """The scope on what everybody knows under the policy without a scope."""
        makers: dict[str, Callable[[str], Scope]] = {
            "lists": lambda rest: list_scope(view),
            "public": lambda rest: PublicPositions(),
            "group": lambda rest: group_scope(view.names, rest.partition(MISSING)[0], self.columns[rest]),
            "file": lambda rest: named_scope(view.names, self.files[rest]),
        }
        return parse_scope(self.words, makers)

    def needs(self) -> tuple[set[str], set[str]]:
        """What the words call groups, and what they call files."""
        found: dict[str, set[str]] = {kind: set() for kind in ("lists", "public", "group", "file")}

        def noted(kind: str) -> Callable[[str], Scope]:
            def note(rest: str) -> Scope:
                found[kind].add(rest)
                return PublicPositions()

            return note

        parse_scope(self.words, {kind: noted(kind) for kind in found})
        return found["group"], found["file"]

    def for_roster(self, names: Sequence[Hashable]) -> ScopeWords:
        """The same for people whose names are written alike: the number 7 and the text "7" are one person."""
        own = {str(name): name for name in names}

        def name_of(name: Hashable) -> Hashable:
            if str(name) not in own:
                raise BadPolicy(f"The scope names {name!r}, who is not in the roster; check both files.")
            return own[str(name)]

        columns = {key: {name_of(name): value for name, value in each.items()} for key, each in self.columns.items()}
        files = {key: [(name_of(a), name_of(b)) for a, b in pairs] for key, pairs in self.files.items()}
        return replace(self, columns=columns, files=files)
