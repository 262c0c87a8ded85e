"""The three classes of visibility and how well each is guarded.  [POSITION.1]"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import partial

from visibility_aware_edge_ldp.errors import BadPolicy, BadPrivacyParameter
from visibility_aware_edge_ldp.privacy import Number, parse_number

LARGEST_MULTIPLIER = 1000


class Visibility(IntEnum):
    """Who may know whether an edge is at a position. Smaller is more open."""

    PUBLIC = 0
    FRIEND_VISIBLE = 1
    PRIVATE = 2

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, word: "Visibility | str") -> "Visibility":
        """From a word such as "public" or "friend-visible"."""
        if isinstance(word, Visibility):
            return word
        key = str(word).strip().upper().replace("-", "_").replace(" ", "_")
        if key not in cls.__members__:
            raise BadPolicy(f"{word!r} is not a visibility class; use public, friend_visible or private.")
        return cls[key]


NON_PUBLIC = (Visibility.FRIEND_VISIBLE, Visibility.PRIVATE)


@dataclass(frozen=True)
class Multipliers:
    """The loss allowed per edge of each class, in units of epsilon: how well each kind of secret is guarded.

    A policy owns them and surveys repeat them. They are exact and public.
    """

    friend_visible: Fraction = Fraction(2)
    private: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        for kind in NON_PUBLIC:
            if not 0 < self.of(kind) <= LARGEST_MULTIPLIER:
                raise BadPolicy(
                    f"A loss multiplier is above 0 and at most {LARGEST_MULTIPLIER}; {kind} was given {self.of(kind)}."
                )
        if self.friend_visible < self.private:
            raise BadPolicy(
                f"FRIEND_VISIBLE positions are known to more people than PRIVATE ones and cannot be guarded better: "
                f"{self.friend_visible} is below {self.private}. Raise friend_visible or lower private."
            )

    def of(self, kind: Visibility) -> Fraction:
        """The loss per edge of this class, in units of epsilon; a public bit has no claim, and 0 stands for it."""
        return {Visibility.FRIEND_VISIBLE: self.friend_visible, Visibility.PRIVATE: self.private}.get(kind, Fraction(0))

    @property
    def steps(self) -> int:
        """How many PRIVATE changes a FRIEND_VISIBLE one counts as, where distance goes in whole steps.  [SENS.1]"""
        ratio = self.friend_visible / self.private
        if ratio.denominator != 1:
            raise BadPolicy(
                "A curator's smooth bounds count changes in whole steps: FRIEND_VISIBLE must lose a whole number of "
                f"times what PRIVATE loses, not {ratio}; change the policy's loss multipliers."
            )
        return int(ratio)

    @property
    def is_default(self) -> bool:
        """Whether these are the usual 2 and 1, which digests leave out."""
        return self == DEFAULT_MULTIPLIERS

    def describe(self) -> dict[str, str]:
        """As canonical JSON values, for digests."""
        return {str(kind): str(self.of(kind)) for kind in NON_PUBLIC}

    def __str__(self) -> str:
        return ", ".join(f"{kind} {times_epsilon(self.of(kind))}" for kind in NON_PUBLIC)


DEFAULT_MULTIPLIERS = Multipliers()


def parsed(parse: Callable[[Number, str], Fraction], value: Number, what: str) -> Fraction:
    """A number of a policy as it was written; what ``parse`` refuses is a bad policy."""
    try:
        return parse(value, what)
    except BadPrivacyParameter as error:
        raise BadPolicy(str(error)) from error


parse_multiplier = partial(parsed, parse_number)


def times_epsilon(multiplier: Fraction) -> str:
    """ε, 2ε, 3/2·ε."""
    if multiplier == 1:
        return "ε"
    return f"{multiplier}ε" if multiplier.denominator == 1 else f"{multiplier}·ε"
