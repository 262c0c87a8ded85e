"""Promises as values: notions of neighbour, guarantees, releases and their bill.  [COMPOSITION.1-4]

Epsilon and delta are exact numbers: what a user types is what is promised.  [RR.1], [DL.1]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import ClassVar, Generic, TypeVar

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, MissingPart, RelationMismatch

R = TypeVar("R", bound="Relation")
Number = Fraction | float | int | str
# Far beyond anything that protects; it keeps arithmetic on promises finite.
LARGEST_EPSILON = 1000


class Relation:
    """Two worlds are neighbours under a relation; a guarantee is always about one relation."""

    words: ClassVar[str]


class OneEdge(Relation):
    """The worlds differ in the bit of one non-public position, and all reports are seen."""

    words = (
        "per edge: even someone who sees every report of every round of every user learns at most this about one edge"
    )


class OneListEntry(Relation):
    """The worlds differ in one entry of one user's list, and only that user's reports are seen.

    Half as strict as :class:`OneEdge`, because an edge stands in two lists.
    """

    words = "per list: what someone who sees one user's reports learns at most about one entry of that user's list"


class OneDegree(Relation):
    """The worlds differ in the whole degree of one user, however much, and only that user's reports are seen.

    Stricter than :class:`OneListEntry`, which is the special case of one friend more or less. An edge is in the
    degrees of both its ends, so :class:`OneEdge` loses at most twice as much.
    """

    words = (
        "per degree: even someone who sees all of a user's reports learns at most this about that user's degree; an "
        "edge is in two degrees, so it loses at most twice this"
    )


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


def optimal_epsilon(guarantees: Iterable[Guarantee[OneEdge]], delta: float) -> float:
    """The epsilon of all these together at this delta, by privacy loss distributions.  [COMPOSITION.5]

    An outside figure to compare with: the software's own promise is the sum.
    """
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise MissingPart("dp-accounting", "accounting", "Tighter composition") from error
    total = privacy_loss_distribution.identity()
    for guarantee in guarantees:
        parameters = common.DifferentialPrivacyParameters(float(guarantee.epsilon), float(guarantee.delta))
        total = total.compose(privacy_loss_distribution.from_privacy_parameters(parameters))
    return float(total.get_epsilon_for_delta(delta))


def parse_number(value: Number, what: str) -> Fraction:
    """The decimal number that was written: 0.1 means one tenth, not the nearest binary fraction."""
    if isinstance(value, bool) or not isinstance(value, (Real, str)):
        raise BadPrivacyParameter(f"{what} must be a number such as 1 or 0.5; got {value!r}.")
    try:
        # repr of a float is the shortest decimal that names it, which is what the user wrote.
        if isinstance(value, Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        text = str(value).strip()
        # Fraction("1e999999999") would write out a billion digits.
        if abs(Decimal(text).adjusted() if "/" not in text else 0) > 400:
            raise ValueError(text)  # noqa: TRY301
        return Fraction(text)
    except (ValueError, ZeroDivisionError, ArithmeticError) as error:
        raise BadPrivacyParameter(f"{what} must be a finite number such as 1 or 0.5; got {value!r}.") from error


def parse_epsilon(value: Number, what: str = "epsilon") -> Fraction:
    """A positive, finite epsilon."""
    epsilon = parse_number(value, what)
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise BadPrivacyParameter(
            f"{what} must be above 0 and at most {LARGEST_EPSILON}; got {value}. Values from 0.1 to 4 are usual."
        )
    return epsilon


def parse_delta(value: Number, what: str = "delta") -> Fraction:
    """A delta in [0, 1)."""
    delta = parse_number(value, what)
    if not 0 <= delta < 1:
        raise BadPrivacyParameter(f"{what} must be at least 0 and below 1; got {value}. 1e-6 is usual, 0 is pure.")
    return delta


def parse_share(value: Number, what: str) -> Fraction:
    """A fraction in [0, 1]."""
    share = parse_number(value, what)
    if not 0 <= share <= 1:
        raise BadPrivacyParameter(f"{what} must be between 0 and 1; got {value}.")
    return share
