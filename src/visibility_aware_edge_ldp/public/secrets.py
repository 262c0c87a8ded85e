"""What a policy says in words: which secrets there are, how well guarded, and what everybody knows.  [POSITION.1]"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from visibility_aware_edge_ldp.public.visibility import Visibility, times_epsilon

HEAD = ("class", "positions", "share", "loss per edge", "who may know the bit")
KNOWN_BY = {
    Visibility.PUBLIC: "everybody: {edges:,} edges, and that the others are empty",
    Visibility.FRIEND_VISIBLE: "friends of the two ends",
    Visibility.PRIVATE: "the two ends",
}
ADVERSARY = (
    "A secret is the bit of one non-public position: whether there is an edge. What follows from k of them together,",
    "such as a degree, may lose k times as much. The promise holds against somebody who knows the roster, the policy,",
    "every public bit and every other secret, and who sees all reports.",
)


@dataclass(frozen=True)
class Secret:
    """One class of positions: how many, the loss allowed per edge in units of epsilon (0: no promise), who knows."""

    visibility: Visibility
    positions: int
    multiplier: Fraction
    known_by: str


@dataclass(frozen=True)
class Secrets:
    """The classes of a policy on a roster, most open first; prints as a table."""

    rows: tuple[Secret, ...]
    assumptions: tuple[str, ...] = ()

    def table(self) -> list[tuple[str, ...]]:
        """(class, positions, share, loss per edge, who may know the bit) as texts."""
        total = sum(row.positions for row in self.rows)
        return [
            (
                str(row.visibility),
                f"{row.positions:,}",
                f"{row.positions / total:.1%}",
                f"at most {times_epsilon(row.multiplier)}" if row.multiplier else "not protected",
                row.known_by,
            )
            for row in self.rows
        ]

    def __str__(self) -> str:
        rows = [HEAD, *self.table()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join([*lines, "", *ADVERSARY, *(f"Assumes that {text}." for text in self.assumptions)])
