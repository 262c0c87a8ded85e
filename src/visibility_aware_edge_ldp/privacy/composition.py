"""Releases and their bill: privacy is paid at release, not at query.  [COMPOSITION.4]"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge


@dataclass(frozen=True)
class Release:
    """All reports of one round of one survey: the thing that costs.

    ``prices`` holds (class, guarantee) pairs, so that a release can stand in a set. ``transcript`` tells two
    collections of the same survey apart: each is paid for.
    """

    survey: str
    round: int
    prices: tuple[tuple[Hashable, Guarantee[OneEdge]], ...]
    transcript: str = ""


class Bill(Mapping[Hashable, Guarantee[OneEdge]]):
    """Total guarantee per visibility class of a set of releases.

    Keys are the classes or their names. Each distinct release is counted once, however many
    estimates were made from it.  [COMPOSITION.4]
    """

    def __init__(self, releases: Iterable[Release]) -> None:
        totals: dict[str, Guarantee[OneEdge]] = {}
        for release in dict.fromkeys(releases):
            for key, price in release.prices:
                name = str(key)
                totals[name] = totals[name] + price if name in totals else price
        self._totals = totals

    def __getitem__(self, key: Hashable) -> Guarantee[OneEdge]:
        return self._totals[str(key)]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._totals)

    def __len__(self) -> int:
        return len(self._totals)

    def __str__(self) -> str:
        return ", ".join(f"{key}: {price}" for key, price in self._totals.items()) or "nothing was asked"

    def __repr__(self) -> str:
        return f"Bill({self})"
