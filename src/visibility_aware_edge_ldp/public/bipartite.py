"""People and places: every edge joins a person to a place, and everybody knows it.  [BIPARTITE.0]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.rules import (
    BoundRule,
    ByTable,
    Classes,
    Ends,
    Names,
    Rule,
    SameClass,
    classes_in_table,
)
from visibility_aware_edge_ldp.public.trust import POSITION, USER, Trust
from visibility_aware_edge_ldp.public.visibility import Visibility

PEOPLE, PLACES = "people", "places"
ASSUMPTION = "everybody knows who is a person and who a place, and that every edge joins one to the other"
DEFAULTS = ("edges", "people_degrees", "place_degrees", "butterflies")
ANSWERED: dict[str, tuple[str, ...]] = {
    POSITION.name: (*DEFAULTS, "four_cycles", "degrees", "max_degree", "degree_histogram", "stars"),
    USER.name: (*DEFAULTS, "four_cycles"),
}
"""By trust model: the kinds of statistics that are answered on people and places. Places hold and answer nothing."""


@dataclass(frozen=True)
class Between:
    """A policy's rule for people and places: two people, or two places, are PUBLIC and empty.  [BIPARTITE.1]

    The first ``people`` nodes of the roster are people, the others places. A position of both has the class that
    ``rule`` gives it.
    """

    rule: Rule
    people: int

    def bind(self, names: Names) -> BoundRule:
        places = (np.arange(len(names)) >= self.people).astype(np.int64)
        inner = self.rule.bind(names)
        if isinstance(self.rule, SameClass):
            inner = ByTable(np.zeros(len(names), np.int64), np.array([[self.rule.visibility]], np.uint8))
        if not isinstance(inner, ByTable):
            return lambda u, v: _between(places, inner(u, v), u, v)
        # Every kind of node twice: as people, and as places.
        side, kind = np.divmod(np.arange(2 * len(inner.table)), len(inner.table))
        table = np.where(side[:, None] == side, np.uint8(Visibility.PUBLIC), inner.table[np.ix_(kind, kind)])
        return ByTable(places * len(inner.table) + inner.kinds, table)

    def present(self, names: Names) -> frozenset[Visibility]:
        bound = self.bind(names)
        if isinstance(bound, ByTable):
            table = [[Visibility(int(cell)) for cell in row] for row in bound.table]
            return classes_in_table(table, bound.kinds)
        return self.rule.present(names) | {Visibility.PUBLIC}

    def describe(self) -> dict[str, Any]:
        return {"kind": "between people and places", "people": self.people, "rule": self.rule.describe()}

    def __str__(self) -> str:
        return f"{self.rule}, between people and places alone"


def _between(places: Ends, classes: Classes, u: Ends, v: Ends) -> Classes:
    return np.where(places[u] == places[v], np.uint8(Visibility.PUBLIC), classes)


def members(side: str, people: int) -> slice:
    """The nodes of one side, as a slice of the roster."""
    return slice(0, people) if side == PEOPLE else slice(people, None)


def answered(model: Trust, kind: str) -> bool:
    """Whether a trust model answers statistics of this kind on people and places."""
    return kind in ANSWERED.get(model.name, ())


def refuse_unanswered(model: Trust, kinds: Sequence[str]) -> None:
    """Refuse, in a sentence, statistics that a trust model does not answer on people and places."""
    if model.name not in ANSWERED:
        raise BadStatistic(
            f"People and places are asked in the {' and '.join(ANSWERED)} models, not in {model.name}; use one of them."
        )
    known = ANSWERED[model.name]
    for kind in kinds:
        if kind not in known:
            why = "places answer nothing there, so " if kind in ANSWERED[POSITION.name] else ""
            raise BadStatistic(
                f"{kind} is not told of people and places in the {model.name} model: {why}ask for {', '.join(known)}."
            )
