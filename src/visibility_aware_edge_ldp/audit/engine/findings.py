"""What an audit finds: the loss claimed beside the loss found; audits, mutants; how far exact laws are apart."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.visibility import Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law

# Sums of logarithms are rounded; a loss may exceed its claim by this part of it.
ROUNDING = 1e-9
Kind = TypeVar("Kind")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """The largest loss of one class: for an exact audit all of it, for a statistical one a bound from below.

    Parameters
    ----------
    kind
        The class of the position that differs: ``"PRIVATE"`` or ``"FRIEND_VISIBLE"``.
    claimed, found
        Epsilons; ``found`` is infinite where one of two neighbouring worlds says what the other cannot, and not a
        number where it could not be computed, which never holds.
    claimed_delta, found_delta
        Deltas; the found one contains all probability that was not walked.
    visible
        The least factor on ε that samples would show in 99 of 100 audits; 0 where nothing is left to chance.
    """

    kind: str
    claimed: float
    found: float
    claimed_delta: float = 0.0
    found_delta: float = 0.0
    visible: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no more was found than was claimed."""
        return self.found <= self.claimed * (1 + ROUNDING) and self.found_delta <= self.claimed_delta * (1 + ROUNDING)

    @property
    def exceeds(self) -> bool:
        """Whether more was found than was claimed; what is not a number neither holds nor exceeds."""
        numbers = self.claimed, self.found, self.claimed_delta, self.found_delta
        return not self.holds and not any(map(math.isnan, numbers))


@dataclass(frozen=True)
class Finding:
    """One mechanism or protocol, audited in one way.

    Parameters
    ----------
    name
        What was audited, such as ``"user triangles"``.
    way
        ``"exact"``, ``"statistical"``, ``"one run"`` or ``"time"``.
    losses
        One for each class.
    cases
        How many pairs of neighbouring worlds, or how many runs a side.
    about
        One sentence: what was walked, or which event told most.
    """

    name: str
    way: str
    losses: tuple[Loss, ...]
    cases: int
    about: str

    @property
    def holds(self) -> bool:
        """Whether every class keeps its claim; an audit of nothing shows nothing."""
        return self.looked and all(loss.holds for loss in self.losses)

    @property
    def caught(self) -> bool:
        """Whether some class was seen to lose more than its claim."""
        return self.looked and any(loss.exceeds for loss in self.losses)

    @property
    def looked(self) -> bool:
        """Whether there was something to look at."""
        return bool(self.losses) and self.cases > 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "holds": self.holds}


def largest(values: Iterable[float]) -> float:
    """The largest of these; not a number if one of them is not, in whatever order they come."""
    found = list(values)
    return math.nan if any(map(math.isnan, found)) else max(found)


@dataclass(frozen=True)
class Audit:
    """An audit that can be run: of the real code, or of a mutant of it, which must be caught.

    Parameters
    ----------
    name, way
        As on the finding.
    run
        Does it.
    broken, of
        Of a mutant, what is wrong with it and where that was seen, and the audited name whose mutant it is where its
        own name does not say so; empty for the real code.
    """

    name: str
    way: str
    run: Callable[[], Finding]
    broken: str = ""
    of: str = ""


def exact(name: str, run: Callable[..., Finding], *case: object, broken: str = "") -> Audit:
    """An exact audit that calls ``run`` with its name and this case; ``broken`` says what is wrong with a mutant."""
    return Audit(name, "exact", partial(run, name, *case), broken)


def exact_mutants(run: Callable[..., Finding], rows: Iterable[tuple[str, str, object]]) -> tuple[Audit, ...]:
    """From rows (name, what is wrong, in which cases it must be caught) to audits that tell what is wrong with each."""
    return tuple(exact(name, run, cases, broken, broken=broken) for name, broken, cases in rows)


# ── broken variants of real classes ──


def replaced(kind: type[Kind], **members: Any) -> type[Kind]:
    """A class, and what of it is replaced by what, to the broken class; everything else stays as it is.

    What is replaced must be there, under that name: else the broken class would be the real one.
    """
    missing = [name for name in members if not hasattr(kind, name)]
    if missing:
        raise BadInput(f"{kind.__name__} has no {', '.join(missing)} that could be replaced.")
    broken: type[Kind] = type(f"Broken{kind.__name__}", (kind,), members)
    return broken


def altered(kind: type[Kind], method: str, change: Callable[..., Any]) -> type[Kind]:
    """A class with one method whose result is changed: by ``change(self, result, *arguments)``."""
    real = getattr(kind, method)
    return replaced(kind, **{method: lambda self, *given: change(self, real(self, *given), *given)})


def recast(kind: type[Kind], value: Any) -> Kind:
    """A dataclass value as one of another class, with the fields that both have."""
    wanted = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{each.name: getattr(value, each.name) for each in fields(value) if each.name in wanted})


# ── what is reported ──


def worst(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """For each class the loss that comes nearest to its claim, or exceeds it most; one that is not a number first."""
    claims: dict[tuple[str, float, float], Loss] = {}
    for loss in losses:
        key = (loss.kind, loss.claimed, loss.claimed_delta)
        other = claims.get(key, loss)
        found = largest([loss.found, other.found]), largest([loss.found_delta, other.found_delta])
        claims[key] = replace(loss, found=found[0], found_delta=found[1])
    kinds: dict[str, list[Loss]] = defaultdict(list)
    for loss in claims.values():
        kinds[loss.kind].append(loss)
    return tuple(max(kinds[kind], key=_rank) for kind in sorted(kinds, reverse=True))


def exact_finding(name: str, losses: Iterable[Loss], cases: int, about: str) -> Finding:
    """The finding of an exact audit."""
    return Finding(name, "exact", worst(losses), cases, about)


def exact_finding_over(name: str, stages: Iterable[tuple[Iterable[Loss], int]], about: str) -> Finding:
    """The same from several stages: the losses of each, and how many cases were compared."""
    losses, cases = list[Loss](), 0
    for found, compared in stages:
        losses += found
        cases += compared
    return exact_finding(name, losses, cases, about)


def _rank(loss: Loss) -> tuple[bool, float]:
    """How much of its claim a loss uses up; what is not a number comes before all."""
    spent = loss.found_delta / loss.claimed_delta if loss.claimed_delta else math.inf if loss.found_delta else 0.0
    part = largest([loss.found / loss.claimed, spent])
    return math.isnan(part), part


# ── what was asked for ──


def as_asked(loss: Loss, asked: Fraction, billed: Fraction) -> Loss:
    """A loss beside what was asked for and what the code bills: the less of both is the claim.

    A bill above what was asked for is a loss that nobody agreed to, so it is told as found.
    """
    over = float(billed) if billed > asked else 0.0
    return replace(loss, claimed=float(min(asked, billed)), found=max(loss.found, over))


def family(name: str) -> str:
    """What names of like audits begin with: ``"position"`` of ``"position, one round"``."""
    return name.split(",")[0]


# ── how far two laws are apart ──


@dataclass(frozen=True)
class Gap:
    """How far two laws are apart: the largest log-ratio, and the chance of what was not compared.  [AUDIT.5]"""

    epsilon: float
    delta: float = 0.0

    def __add__(self, other: Gap) -> Gap:
        return Gap(self.epsilon + other.epsilon, self.delta + other.delta)

    def __or__(self, other: Gap) -> Gap:
        return Gap(largest([self.epsilon, other.epsilon]), largest([self.delta, other.delta]))


Gaps = dict[Visibility, Gap]
NO_GAP = Gap(0.0)


@dataclass(frozen=True)
class Spoken:
    """A law with what comparing it again and again needs: the logarithms, in the order of what is said."""

    law: Law

    @cached_property
    def said(self) -> list[bytes]:
        return sorted(self.law)

    @cached_property
    def logarithms(self) -> Floats:
        return self._logarithms_of(self.said)

    @cached_property
    def unwalked(self) -> Fraction:
        return 1 - sum(self.law.values(), Fraction(0))

    def only(self, other: Spoken) -> Fraction:
        """The chance of what the other never says, as far as it was walked."""
        return sum((self.law[said] for said in self.law.keys() - other.law.keys()), Fraction(0))

    def largest_log_ratio(self, other: Spoken) -> float:
        """Over all that both may say: found among floats, told from the exact quotient."""
        if self.said == other.said:
            said, apart = self.said, self.logarithms - other.logarithms
        else:
            said = sorted(self.law.keys() & other.law.keys())
            apart = self._logarithms_of(said) - other._logarithms_of(said)
        if not said:
            return 0.0
        worst = said[int(np.abs(apart).argmax())]
        return abs(math.log(self.law[worst] / other.law[worst]))

    def _logarithms_of(self, said: list[bytes]) -> Floats:
        logarithms: Floats = np.log(np.array([float(self.law[one]) for one in said]))
        return logarithms


def gap_between(one: Spoken, other: Spoken) -> Gap:
    """The gap of two laws: of what both say, and of what one says and the other only where it was not walked."""
    alone = [(one.only(other), other.unwalked), (other.only(one), one.unwalked)]
    # At least so much is lost where one law says with some chance what the other can say with no more than that.
    hidden = (math.log(only / unwalked) if unwalked else math.inf for only, unwalked in alone if only)
    return Gap(
        largest([one.largest_log_ratio(other), *hidden]), largest(float(only + unwalked) for only, unwalked in alone)
    )


def losses_of(gaps: Gaps, claims: Mapping[Visibility, float], closed: bool = True) -> list[Loss]:
    """Gaps beside what was claimed; where the tails are closed, what was not compared costs nothing.  [AUDIT.4]"""
    return [Loss(str(kind), claims[kind], gap.epsilon, 0.0, 0.0 if closed else gap.delta) for kind, gap in gaps.items()]
