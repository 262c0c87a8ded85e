"""How much of each claim the audit found, and how small a fault it would see.  [SHOWN.6]"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from visibility_aware_edge_ldp.audit.engine.findings import Loss
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.audit.runner import Outcome

# These words of a name say in which worlds or how something is audited, and not what.
_HOW = ("at size", "many at once", "one round", "two rounds", "one edge")
# Below this part of a claim the bound is explained.
TIGHT = 0.9
_KINDS = frozenset(map(str, NON_PUBLIC))
# What is told as nothing in audits of what must not be lost at all: there is no ε to put a factor on.
_NOTHING = 1e-6
_HALF = (
    "Walked on four nodes alone: where the bound moves, an edge moves the number by 0.55 to 0.79 of it, and at size by "
    "nearly all of it."
)
_INSIDE = "Inside a scope the clients do what they do without one, and that is audited at size."
WHY: dict[str, str] = {
    "neighbourhood (a), weighted": "The bound is reached in the limit of large bounds alone; the largest graphs that "
    "are walked have 62 users.",
    "curator triangles, with delta": "A friend-visible edge is charged three steps of number and bound; one edge moves "
    "the bound by one.",
    "curator 2-stars, with delta": "A friend-visible edge is charged three steps of number and bound; one edge moves "
    "the bound by one.",
    "curator 3-stars, with delta": "Walked on four nodes alone, where bounds hardly move.",
    "curator 4-stars, with delta": "Walked on five nodes alone, where bounds hardly move.",
    **{f"curator {what}, with delta, published": _HALF for what in ("triangles", "2-stars", "3-stars")},
    "scope, user triangles": f"Walked on four users alone. {_INSIDE}",
    "scope, neighbourhood (a)": f"Walked on four users alone. {_INSIDE}",
    "scope, neighbourhood (b)": f"Walked with two hubs of four users alone. {_INSIDE}",
    "campaign triangles, both rounds": "Rows of three positions alone, where a sum moves by less than its bound; the "
    "same client is audited at size (user triangles).",
    "user triangles, parts of the first answers": "The second round's noise is made for a PRIVATE edge, whatever its "
    "class: a friend-visible one loses less there than it may.",
    "user 4-cycles, parts of the first answers": "Walked on four users, and second rounds of seven, whose sums and "
    "bounds move by less than they may; users who read all first answers draw by the same law, and are audited at "
    "size.",
    "many power noises": "A bound from samples; one such noise is walked exactly (power noise).",
}


@dataclass(frozen=True)
class SmallestFault:
    """Of one mechanism and class: the largest part of a claim that was found, and the least factor on ε that is seen.

    ``way`` sees it; ``why`` says why the bound is not tight, where less than nine tenths of it were found.
    """

    mechanism: str
    kind: str
    part: float
    factor: float
    way: str
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = asdict(self)
        return {"mechanism": told.pop("mechanism"), "class": told.pop("kind"), **told}


def subject(name: str) -> str:
    """What is audited, without how: ``"user triangles"`` of ``"user triangles, at size"``."""
    return ", ".join(part for part in name.split(", ") if part not in _HOW)


def factor_of(loss: Loss, way: str) -> float:
    """The least factor on ε that this audit sees in 99 of 100 runs."""
    if way == "exact":
        return loss.claimed / loss.found if loss.found > 0 else math.inf
    return loss.visible or math.inf


def smallest_faults(outcomes: Sequence[Outcome]) -> list[SmallestFault]:
    """For each mechanism and class the best that any way of auditing the real code does."""
    found: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
    for outcome in outcomes:
        for loss in outcome.finding.losses if outcome.finding and outcome.way != "time" else ():
            if loss.kind in _KINDS and loss.claimed > _NOTHING:
                rows = found.setdefault((subject(outcome.name), loss.kind), [])
                rows.append((factor_of(loss, outcome.way), loss.found / loss.claimed, outcome.way))
    return [_row(*key, rows) for key, rows in found.items()]


def unexplained(faults: Sequence[SmallestFault]) -> list[SmallestFault]:
    """Those of which less than nine tenths of the claim were found, and nobody says why."""
    return [fault for fault in faults if fault.part < TIGHT and not fault.why]


def _row(mechanism: str, kind: str, rows: list[tuple[float, float, str]]) -> SmallestFault:
    factor, _, way = min(rows)
    part = max(each for _, each, _ in rows)
    why = WHY.get(mechanism, "") if part < TIGHT else ""
    return SmallestFault(mechanism, kind, part, factor, way, why)
