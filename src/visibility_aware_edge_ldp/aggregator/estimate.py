"""An estimate: a value, how sure we are of it, and the releases it was made from."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.privacy import Release
from visibility_aware_edge_ldp.public.statistic import bounds_of, columns_of
from visibility_aware_edge_ldp.tabular import Records, Tabular

Floats = npt.NDArray[np.float64]
Value = float | Floats
Interval = tuple[Value, Value]
# With fewer degrees of freedom the series for Student's t would be off by more than a hundredth; more than the others
# are as good as infinite, and their fourth power is still a number.
FEWEST, ENOUGH = 4.0, 1e60
STRAIGHT = 1e-6
# Beyond this the correction for skew, which is one for small skews, makes intervals far too long.  [HOLDERS.5]
MOST_SKEW = 0.4
# One user who stayed away is allowed to have so much of all that is counted.  [ABSENT.3]
LARGE_SHARE = 0.1
# Halvings in a search, and how many standard errors away it gives up.
STEPS, FARTHEST = 30, 1024.0
# Looks along straight lines before a search halves: smooth functions need about six.
LINES = 12
# What a row of a table tells of an entry, after its value.
ERRORS = ("standard_error", "low", "high", "uncut_low", "uncut_high")


@dataclass(frozen=True, eq=False)
class Estimate(Tabular):
    """One statistic's estimate.

    Parameters
    ----------
    value, variance
        Numbers, or arrays with one entry per node or bin. The variance is NaN where no right one can be stated.
    labels
        What the entries of an array are: node names, or the bins' (first, last) degrees.
    unbiased
        Whether the estimator's mean is the truth.
    freedom, skew
        Where the variance was read off few answers: its degrees of freedom, and how much it falls where the estimate
        falls. The interval takes both into account.  [STUDENT.1-3]
    limits
        A function from a level to an interval, where that would not do.
    conservative
        Whether the interval holds the truth at least as often as its level says, and may do so more often: where it
        contains a bound on what was left out, or is made for the worst graph.
    holds_if
        What the interval takes for granted of users who stayed away; empty where it takes nothing for granted.
    scope
        Inside what the statistic is counted; empty where that is the whole graph.
    """

    statistic: str
    value: Value
    variance: Value = field(repr=False)
    releases: tuple[Release, ...] = field(repr=False, default=())
    labels: Sequence[Hashable] | None = field(repr=False, default=None)
    unbiased: bool = True
    freedom: float = math.inf
    skew: float = 0.0
    limits: Callable[[float], Interval] | None = field(repr=False, default=None)
    conservative: bool = field(repr=False, default=False)
    holds_if: str = field(repr=False, default="")
    scope: str = field(repr=False, default="")

    @property
    def standard_error(self) -> Value:
        """The square root of the estimated variance."""
        root = np.sqrt(np.maximum(self.variance, 0))
        return root if isinstance(self.variance, np.ndarray) else float(root)

    @property
    def has_standard_error(self) -> bool:
        """Whether the variance is known: of no fit it is, for what its smoothing hides is not."""
        return not bool(np.isnan(np.max(self.variance)))

    def interval(self, level: float = 0.95) -> Interval:
        """The interval that covers the truth with probability ``level``, uncut."""
        if not 0 < level < 1:
            raise BadInput(f"A level is between 0 and 1, such as 0.95; got {level}.")
        if self.limits is not None:
            return self.limits(level)
        reach = student(0.5 + level / 2, self.freedom)
        error = self.standard_error
        return self.value - skew_corrected(reach, self.skew) * error, self.value - skew_corrected(
            -reach, self.skew
        ) * error

    def shown_interval(self, level: float = 0.95) -> Interval:
        """The same, cut where the true value cannot be: below 0 for a count, above 1 for a share.

        It holds every possible truth that ``interval`` holds.
        """
        low, high = self.interval(level)
        least, most = bounds_of(self.statistic)
        cut = np.clip(low, least, most), np.clip(high, least, most)
        return cut if isinstance(self.value, np.ndarray) else (float(cut[0]), float(cut[1]))

    def records(self, level: float = 0.95) -> Records:
        """One row, or one for each entry of an array: what it is of, its value, standard error and interval."""
        columns = columns_of(self.statistic) or ("label", "value")
        labels: Sequence[Any] = [()] if self.labels is None else self.labels
        parts = [label if isinstance(label, tuple) else (label,) for label in labels]
        numbers = (self.value, self.standard_error, *self.shown_interval(level), *self.interval(level))
        told = zip(*(np.broadcast_to(np.atleast_1d(each), len(parts)).tolist() for each in numbers), strict=True)
        return [
            {
                **dict(zip(columns, map(_label, part), strict=False)),
                **dict(zip((columns[-1], *ERRORS), row, strict=True)),
            }
            for part, row in zip(parts, told, strict=True)
        ]

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain values for JSON; beside an ``interval`` that is cut stands the ``uncut_interval``."""
        shown, uncut = ([_plain(end) for end in ends] for ends in (self.shown_interval(level), self.interval(level)))
        result = {
            "value": _plain(self.value),
            "standard_error": _plain(self.standard_error),
            "interval": shown,
            **({} if shown == uncut or np.isnan(np.max(uncut)) else {"uncut_interval": uncut}),
            "level": level,
            "unbiased": self.unbiased,
            **({"holds_if": self.holds_if} if self.holds_if else {}),
        }
        return result if self.labels is None else {**result, "labels": [_label(label) for label in self.labels]}


def student(chance: float, freedom: float) -> float:
    """The point that Student's t is below with this chance; the normal one for infinite freedom.  [STUDENT.2]"""
    z, v = NormalDist().inv_cdf(chance), min(max(freedom, FEWEST), ENOUGH)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / v**power for power, term in enumerate(terms, start=1))


def skew_corrected(point: float, skew: float) -> float:
    """Which (estimate − truth)/(standard error) a point of a symmetric law stands for.  [STUDENT.3]"""
    if abs(skew) < STRAIGHT:
        return point
    return 3 / skew * (math.cbrt(1 + skew * (point - skew / 6)) - 1)


def leaning(value: float, variance: float, moving: float) -> float:
    """The skew of an estimate with the part ``moving`` of its variance going like its square.  [HOLDERS.5]"""
    # An estimate below two standard errors says nothing of how the variance moves with it.
    error = math.sqrt(variance)
    return min(2 * moving / (max(value, 2 * error) * error), MOST_SKEW)


def estimate_of(statistic: str, value: float, spread: Spread, releases: tuple[Release, ...] = ()) -> Estimate:
    """An estimate whose variance may have been read off few answers.  [STUDENT.1]"""
    variance, doubt, third = spread
    if not (doubt and math.isfinite(variance)):
        return Estimate(statistic, value, variance, releases)
    skew = third / max(variance, doubt) ** 1.5  # a variance far below its own doubt says nothing
    return Estimate(statistic, value, variance, releases, freedom=2 * (variance / doubt) ** 2, skew=skew)


def with_bias_bound(interval: Callable[[float], Interval], most: float, level: float) -> Interval:
    """Where an estimate lies below the truth by something between 0 and ``most``, beside its noise.  [STUDENT.4]

    ``interval`` is that of what the estimate is right for, at any level. Both ends of the result are as near as they
    may be while each truth between them is held with probability ``level``.
    """
    inner, outer = max(2 * level - 1, 0.0), level
    for _ in range(STEPS if most else 0):
        middle = (inner + outer) / 2
        inner, outer = (inner, middle) if _is_enough(interval, most, middle, level) else (middle, outer)
    low, high = interval(outer)
    return low, high + most


def _is_enough(interval: Callable[[float], Interval], most: float, inner: float, level: float) -> bool:
    """Whether an end at the level ``inner`` leaves what may be missed at the other, farther end."""
    (low, high), (least, largest) = interval(inner), interval(2 * level - inner)
    return bool(np.all(low - most <= least) and np.all(largest <= high + most))


def with_large_absent(
    found: Estimate, absent: float, seen: float, most: float = math.inf, part: float = 1.0
) -> Estimate:
    """The same with an upper end that allows for one absent user larger than all who answered.  [ABSENT.3]

    ``absent`` is the share of users who are absent, ``seen`` what the largest of the others has for certain, and
    ``most`` what a user can have at all; ``part`` of what an absent user has is missed.
    """

    if not absent or not math.isfinite(float(found.variance)):
        return found

    def large(total: float) -> float:
        return min(max(LARGE_SHARE * total / (1 - LARGE_SHARE), seen), most)

    def limits(level: float) -> Interval:
        low, high = found.interval(level)
        missed = (1 - level) / 2
        if absent <= missed:
            return low, high
        # Such a user is absent with this chance, so that less may be missed where it is.
        reach = max(student(1 - min(missed / absent, 0.5), found.freedom), 0.0)
        total = float(found.value) + reach * float(found.standard_error)
        return low, max(float(high), total + part * large(max(total, 0.0)))

    allowed = large(max(float(found.value), 0.0))
    granted = f"nobody who did not report adds more than {allowed:.4g} to it"
    return replace(found, limits=limits, holds_if=granted, conservative=True)


def largest_seen(each: Floats, noise: float | Floats) -> float:
    """What the largest of those who answered has for certain; ``noise`` is the variance of each number."""
    return float(np.max(each - 2 * np.sqrt(np.maximum(noise, 0.0)), initial=0.0))


def inverted(found: Estimate, error: Callable[[float], Estimate], level: float) -> tuple[float, float]:
    """All truths whose ``error``, as it would vary with that truth, may be 0: for ratios.  [STUDENT.5]

    Unbounded where truths far away are among them.
    """

    def inside(truth: float) -> float:
        low, high = error(truth).interval(level)
        return float(np.minimum(-low, high))

    value, step = float(found.value), float(found.standard_error)
    return _farthest(inside, value, -step), _farthest(inside, value, step)


def share_limits(found: Estimate, error: Callable[[float], Estimate], level: float) -> tuple[float, float]:
    """The same of a share: from 0 to 1 where nothing is known."""
    low, high = inverted(found, error, level) if math.isfinite(float(found.variance)) else (-math.inf, math.inf)
    value = float(found.value)
    return low if math.isfinite(low) else min(value, 0.0), high if math.isfinite(high) else max(value, 1.0)


def ratio_of(
    statistic: str,
    value: float,
    nonresponse: Callable[[float], Spread],
    noise: Callable[[float], Spread],
    releases: tuple[Release, ...] = (),
) -> Estimate:
    """A share, with all the shares that it may be an estimate of; where nothing is known, all are.  [STUDENT.5]

    ``nonresponse`` and ``noise`` say how the share less another one varies, by who answered and by noise.
    """
    found = replace(estimate_of(statistic, value, nonresponse(value).plus(noise(value)), releases), unbiased=False)
    # So much of the error, in standard errors, comes from nonresponse.
    here, whole = nonresponse(value).variance, float(found.variance)
    drawn = math.sqrt(here / whole) if 0 < whole < math.inf else 0.0

    def error(share: float) -> Estimate:
        return estimate_of(
            statistic, value - share, nonresponse(share + drawn * (value - share)).plus(noise(share)), releases
        )

    return replace(found, limits=lambda level: share_limits(found, error, level))


def unknown_share(statistic: str, releases: tuple[Release, ...] = ()) -> Estimate:
    """A share of which nothing is known: it has no standard error, and its interval is all that it can be."""
    return Estimate(statistic, 0.0, math.nan, releases, unbiased=False, limits=lambda level: (0.0, 1.0))


def _farthest(inside: Callable[[float], float], start: float, step: float) -> float:
    """The end of what is possible from ``start`` in the direction of ``step``: there ``inside`` falls below 0."""
    if not step:
        return start
    inner, outer, low, high = 0.0, 1.0, math.nan, inside(start + step)
    while high >= 0:
        inner, outer, low = outer, 2 * outer, high
        if outer > FARTHEST:
            return math.copysign(math.inf, step)
        high = inside(start + outer * step)
    each = (outer - inner) / (1 << STEPS)

    def place(number: int) -> float:
        return inside(start + (inner + number * each) * step)

    number = _first_below(place, place(0) if math.isnan(low) else low, high)
    return start + (inner + number * each) * step


def _first_below(place: Callable[[int], float], low: float, high: float) -> int:
    """Of 2^STEPS places after place 0 the first where a falling function is below 0, as STEPS halvings would find it.

    ``low`` and ``high`` are its values at both ends. It looks where the line between the ends crosses 0; an end that
    stays counts for half of its value, so that both ends move. After LINES of them it halves, whatever the function is.
    """
    inner, outer, looks, moved = 0, 1 << STEPS, 0, 0
    while outer - inner > 1:
        looks += 1
        middle = (inner + outer) // 2
        if looks <= LINES and low >= 0 > high and math.isfinite(low - high):
            crossing = inner + int((outer - inner) * (low / (low - high)))
            middle = min(max(crossing, inner + 1), outer - 1)
        found = place(middle)
        if found >= 0:
            inner, low, high, moved = middle, found, high / 2 if moved > 0 else high, 1
        else:
            outer, low, high, moved = middle, low / 2 if moved < 0 else low, found, -1
    return outer


def _plain(value: Value) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else float(value)


def _label(label: Hashable) -> Any:
    if isinstance(label, tuple):
        return [_label(part) for part in label]
    return label.item() if isinstance(label, np.generic) else label if isinstance(label, (int, str)) else str(label)


def cube_root_interval(found: Estimate, level: float) -> Interval:
    """The interval that covers the truth with probability ``level``; its upper end may be infinite.  [HOLDERS.8]"""
    reach, skew = student(0.5 + level / 2, found.freedom), max(found.skew, 0.0)
    # A variance that goes with the square of the estimate is, at the truth itself, below its mean.
    error = found.standard_error * math.sqrt(1 + skew**2 / 4)
    return found.value - cube_root_corrected(reach, skew) * error, found.value - cube_root_corrected(
        -reach, skew
    ) * error


def cube_root_corrected(point: float, skew: float) -> float:
    """Which (estimate − truth)/(standard error) a point of a symmetric law stands for.  [HOLDERS.8]"""
    if skew < STRAIGHT:
        return point
    root = 1 + skew * (point - skew / 6) / 6
    return 2 / skew * (1 - root**-3) if root > 0 else -math.inf
