"""What an audit finds: the loss that was claimed beside the loss that was found; audits, and mutants.

And what counts of an event show: exact limits on its probability (Clopper and Pearson 1934).  [SHOWN.1]
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.visibility import Visibility

# Sums of logarithms are rounded; a loss may exceed its claim by this part of it.
ROUNDING = 1e-9
# Logarithms of factorials err by a few parts in 10^16 of their size, 2·10^9 at this many trials.
MOST_TRIALS = 10**8
# More than all rounding can move a tail: the limits are those of an alpha that is smaller by this.
_SAFER = 1 - 1e-5
_CLOSE, _SMALLEST = 1e-13, 1e-300
Kind = TypeVar("Kind")


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
    """

    kind: str
    claimed: float
    found: float
    claimed_delta: float = 0.0
    found_delta: float = 0.0

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


def loss_of(kind: Visibility, claimed: float, found: float, deltas: tuple[float, float] = (0.0, 0.0)) -> Loss:
    """A loss by the class itself; ``deltas`` are the claimed and the found one."""
    return Loss(str(kind), claimed, found, *deltas)


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


def _part(loss: Loss) -> float:
    """How much of its claim a loss uses up."""
    spent = loss.found_delta / loss.claimed_delta if loss.claimed_delta else math.inf if loss.found_delta else 0.0
    return largest([loss.found / loss.claimed, spent])


def _rank(loss: Loss) -> tuple[bool, float]:
    part = _part(loss)
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


# ── limits on a probability ──


def lower_limit(successes: int, trials: int, alpha: float) -> float:
    """The probability is at least this, but for a chance of at most ``alpha``.  [SHOWN.1]"""
    _check(successes, trials, alpha)
    if successes == 0:
        return 0.0
    # The largest p at which so many successes or more are still that unlikely.
    return _last(lambda p: tail(successes, trials, p) <= alpha * _SAFER)


def upper_limit(successes: int, trials: int, alpha: float) -> float:
    """The probability is at most this, but for a chance of at most ``alpha``.  [SHOWN.1]"""
    return 1 - lower_limit(trials - successes, trials, alpha)


def tail(successes: int, trials: int, chance: float) -> float:
    """The probability of at least so many successes in independent trials of this chance."""
    if successes <= 0:
        return 1.0
    if successes > trials or chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    a, b = float(successes), float(trials - successes + 1)
    # The fraction converges fast on the side of the mean where the tail is small.
    if chance < (a + 1) / (a + b + 2):
        return _front(a, b, chance) * _fraction(a, b, chance) / a
    return 1 - _front(b, a, 1 - chance) * _fraction(b, a, 1 - chance) / b


def _front(a: float, b: float, x: float) -> float:
    """x^a (1 − x)^b / B(a, b)."""
    return math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated from the front."""
    value, c, d, m = 1.0, 1.0, 0.0, 0
    while True:
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) if m else 0.0
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd) if m else (odd,):
            d = 1 / ((1 + term * d) or _SMALLEST)
            c = (1 + term / c) or _SMALLEST
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            return 1 / value
        m += 1


def _last(holds: Callable[[float], bool]) -> float:
    """A number of [0, 1] at which a condition holds, and which is all but the last: it holds from 0 on."""
    low, high = 0.0, 1.0
    while high - low > _CLOSE * high and high > _SMALLEST:
        # Geometric steps while the ends are far apart, so that tiny probabilities have all their digits.
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _check(successes: int, trials: int, alpha: float) -> None:
    if not 0 <= successes <= trials or not 1 <= trials <= MOST_TRIALS:
        raise BadInput(f"Limits need 1 to {MOST_TRIALS:,} trials and successes among them; got {successes}, {trials}.")
    if not 0 < alpha < 1:
        raise BadInput(f"A chance of error is above 0 and below 1; got {alpha}.")
