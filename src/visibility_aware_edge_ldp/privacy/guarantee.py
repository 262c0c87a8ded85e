"""A promise as a value.  [COMPOSITION.1-3]"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, RelationMismatch
from visibility_aware_edge_ldp.privacy.relation import OneEdge, OneListEntry, Relation

R = TypeVar("R", bound=Relation)


@dataclass(frozen=True)
class Guarantee(Generic[R]):
    """Neighbours under ``relation`` are (epsilon, delta)-indistinguishable."""

    relation: type[R]
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta < 1:
            raise BadPrivacyParameter(f"No guarantee has epsilon {self.epsilon} and delta {self.delta}.")

    def __add__(self, other: Guarantee[R]) -> Guarantee[R]:
        """The same bits asked twice: losses add.  [COMPOSITION.1]"""
        self._same(other)
        return Guarantee(self.relation, self.epsilon + other.epsilon, self.delta + other.delta)

    def __or__(self, other: Guarantee[R]) -> Guarantee[R]:
        """Disjoint bits asked once each: the worse loss holds.  [COMPOSITION.2]"""
        self._same(other)
        return Guarantee(self.relation, max(self.epsilon, other.epsilon), max(self.delta, other.delta))

    def _same(self, other: Guarantee[R]) -> None:
        if self.relation is not other.relation:
            raise RelationMismatch(
                f"A guarantee {self.relation.__name__} cannot be combined with one {other.relation.__name__}; "
                "turn per-list guarantees into per-edge ones with edge_from_lists first."
            )

    def __str__(self) -> str:
        text = f"ε = {float(self.epsilon):g}"
        return f"{text}, δ = {float(self.delta):g}" if self.delta else text


def edge_from_lists(guarantee: Guarantee[OneListEntry], lists: int = 2) -> Guarantee[OneEdge]:
    """An edge recorded in ``lists`` independently answered lists pays for each.  [COMPOSITION.3]"""
    return Guarantee(OneEdge, lists * guarantee.epsilon, lists * guarantee.delta)
