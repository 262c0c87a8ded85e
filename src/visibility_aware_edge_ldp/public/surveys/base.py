"""What all surveys share: identity, price, releases, and the check that both sides mean the same world."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, Release
from visibility_aware_edge_ldp.public.trust import Trust
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.view import PublicView

Content = dict[str, Any]
"""What an identity is made of: canonical JSON values, integers and texts only."""


class Survey(ABC):
    """A public question: what is asked of whom, with which noise, and what an edge of each class pays.  [POSITION.1]"""

    trust: ClassVar[Trust]

    if TYPE_CHECKING:  # attributes or fields of most surveys, properties of the others

        @property
        def protocol(self) -> str:
            """The name of the protocol that this is a survey of."""

        @property
        def roster(self) -> str:
            """The digest of the roster that is asked."""

        @property
        def policy(self) -> str:
            """The digest of the policy that says what is public."""

    @abstractmethod
    def content(self) -> Content:
        """What is particular to this survey and decides what clients do, for the identity."""

    @abstractmethod
    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of this class loses by all reports of one round."""

    @property
    def multipliers(self) -> Multipliers | None:
        """How well the policy guards each class, repeated; None where the price does not depend on the class."""
        return None

    @property
    def classes(self) -> tuple[Visibility, ...] | None:
        """The non-public classes that the survey asks about; None where it does not name them."""
        return None

    @property
    def rounds(self) -> int:
        """How many rounds, or questions, there are."""
        return 1

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the survey in canonical JSON, integers and strings only."""
        content = {"format": "va-edge-ldp survey 1", "trust": self.trust.name, **self._common(), **self.content()}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def _common(self) -> Content:
        return {}

    def payment(self, round_number: int = 1) -> Mapping[Visibility, Guarantee[Any]]:
        """What a client pays for its own report of one round, for each class that is asked."""
        return {kind: self.price(kind, round_number) for kind in self.classes or NON_PUBLIC}

    def release(self, round_number: int) -> Release:
        """All reports of one round and what they cost, the best guarded class first."""
        prices = tuple((kind, self.price(kind, round_number)) for kind in self._billed[::-1])
        return Release(self.identity, round_number, prices)

    @property
    def _billed(self) -> tuple[Visibility, ...]:
        return NON_PUBLIC

    @property
    def releases(self) -> tuple[Release, ...]:
        """What the survey costs: one release for each round, priced per class."""
        return tuple(self.release(number) for number in range(1, self.rounds + 1))


@dataclass(frozen=True)
class RosterSurvey(Survey):
    """A survey of all users of a roster, under a policy, for one epsilon per PRIVATE edge.  [POSITION.1]"""

    roster: str
    nodes: int
    policy: str
    epsilon: Fraction

    def _common(self) -> Content:
        world: Content = {"roster": self.roster, "nodes": self.nodes, "policy": self.policy}
        return {**world, **stated(self.multipliers)}


def stated(multipliers: Multipliers | None) -> dict[str, dict[str, str]]:
    """What a survey's identity says of them; the usual ones are left out, so that old identities stay."""
    return {} if multipliers is None or multipliers.is_default else {"multipliers": multipliers.describe()}


def verify_roster(survey: Survey, public: PublicView, whose: str) -> None:
    """Refuse a survey of another roster or another policy than is known here."""
    if (survey.roster, survey.policy) != (public.roster_digest, public.policy.digest):
        raise ProtocolViolation(f"The survey is about another roster or another policy than {whose}.")


def verify(survey: Survey, public: PublicView, whose: str = "this client's") -> None:
    """Refuse a survey unless its roster, policy, multipliers and classes are those that a client knows itself."""
    verify_roster(survey, public, whose)
    allowed = public.policy.multipliers
    if survey.multipliers not in (None, allowed):
        raise ProtocolViolation(
            f"The survey would cost {survey.multipliers} per edge; {whose} policy allows {allowed}."
        )
    if survey.classes not in (None, public.non_public):
        raise ProtocolViolation(f"The survey asks about other classes than {whose} policy has.")


def least_loss(epsilon: Fraction, multipliers: Multipliers, classes: Iterable[Visibility]) -> Fraction:
    """The loss that every non-public edge may have: that of the best guarded class of the policy.  [OWNER.1]

    A triangle's sides may be of several classes. The noise is made for the strictest; looser classes lose less than
    they may.
    """
    allowed = [multipliers.of(kind) for kind in classes if kind in NON_PUBLIC]
    if not allowed:
        raise BadInput("Every position is PUBLIC, so there is nothing to ask: count the public edges.")
    return epsilon * min(allowed)
