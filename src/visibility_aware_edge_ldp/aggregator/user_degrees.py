"""USER degrees: a collection of reports, and every statistic of degrees from it.  [DEGREESUM.1-6]"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval, estimate_of
from visibility_aware_edge_ldp.aggregator.plausible import degree_band
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.degree_report import DegreeReport
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.hidden import users_with
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.subgraphs import degree_functions
from visibility_aware_edge_ldp.subgraphs.degree_bins import fitted_histogram
from visibility_aware_edge_ldp.subgraphs.degree_distribution import LAPLACE
from visibility_aware_edge_ldp.subgraphs.degree_functions import Floats, Ints, NoisyDegrees
from visibility_aware_edge_ldp.subgraphs.max_degree import max_degree
from visibility_aware_edge_ldp.subgraphs.statistic import check_statistics, star_size, tail_start

PLAIN = ("edges", "degrees", "max_degree", "degree_histogram")

# A chance that rounding alone may have left.
_CRUMB = 1e-9
# What a class adds to a degree is cut off here, so that no sum of classes wraps around; honest numbers are far below.
_FARTHEST = 1 << 60
# The chance that a normal deviate lies within one standard deviation.
_ONE_SIGMA = 2 * NormalDist().cdf(1) - 1


class DegreeCollection:
    """All that has arrived for one survey of degrees: a bit a user, and a number a user and class."""

    def __init__(self, survey: DegreeSurvey, view: PublicView) -> None:
        if survey != degree_survey(view, survey.epsilon):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")
        self.survey, self.view = survey, view
        self._answered = np.zeros(view.n, np.bool_)
        self._values = np.zeros((len(survey.classes), view.n), np.int64)
        self._seen: set[str] = set()

    def absorb(self, report: DegreeReport) -> None:
        """Take a report in. The same report again changes nothing; a second answer is refused."""
        digest = report.digest
        if digest in self._seen:
            return
        if report.survey != self.survey.identity or report.classes != len(self.survey.classes):
            raise ProtocolViolation("A report for another survey was sent here.")
        if report.start + report.count > self.view.n:
            raise ProtocolViolation(f"A report names users beyond the last, {self.view.n - 1}.")
        place = slice(report.start, report.start + report.count)
        if (self._answered[place] & report.who_answered).any():
            raise ProtocolViolation("A second, different answer of a user to the same survey; the first one stands.")
        self._answered[place] |= report.who_answered
        self._values[:, place] += report.values
        self._seen.add(digest)

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        digest = hashlib.sha256(self._answered.tobytes())
        digest.update(self._values.tobytes())
        return tuple(replace(release, transcript=digest.hexdigest()) for release in self.survey.releases)

    @property
    def response_rate(self) -> float:
        """The share of those who hide something that answered; 1 where nobody hides anything."""
        hiding = self.hiding.any(axis=0)
        return float(self._answered[hiding].mean()) if hiding.any() else 1.0

    @cached_property
    def hiding(self) -> degree_functions.Bits:
        """(classes, n): which users have positions of each class.  [DEGREESUM.4]"""
        return users_with(self.view, self.survey.classes)

    @cached_property
    def public_degrees(self) -> Ints:
        """Everybody's public degree."""
        return np.bincount(self.view.edges.ravel(), minlength=self.view.n).astype(np.int64)

    @property
    def took_part(self) -> degree_functions.Bits:
        """Who has sent a report, whether or not it hides anything."""
        return self._answered

    @property
    def answered(self) -> degree_functions.Bits:
        """Who hides something and has answered."""
        return self._answered & self.hiding.any(axis=0)

    def noisy_degrees(self) -> NoisyDegrees:
        """All that is known of everybody's degree.  [DEGREESUM.4]"""
        hides, answered, public = self.hiding.any(axis=0), self.answered, self.public_degrees
        constants = self._constants[:, answered]
        return NoisyDegrees(
            self.view.n,
            certain=public[~hides],
            noisy=self.reported[answered],
            public=public[answered],
            first=constants.sum(axis=0),
            second=constants.prod(axis=0) if len(constants) == 2 else np.zeros(constants.shape[1]),
            absent=public[hides & ~answered],
        )

    @property
    def reported(self) -> Ints:
        """Everybody's public degree plus what it reported of classes that it can have."""
        said = np.clip(self._values, -_FARTHEST, _FARTHEST)
        found: Ints = self.public_degrees + np.where(self.hiding, said, 0).sum(axis=0)
        return found

    def plausible(self, degrees: NoisyDegrees) -> NoisyDegrees:
        """The same degrees, with each moved to the nearest that an honest user reports; for fits, not for sums.

        An honest degree is moved with less than a chance of 10⁻⁹; a lie of 2⁶² would leave a fit no room for the rest.
        """
        bands = [degree_band(self.survey, kind) for kind in self.survey.classes]
        low, high = (sum(ends) for ends in zip(*bands, strict=True)) if bands else (0, 0)
        return replace(degrees, noisy=np.clip(degrees.noisy, degrees.public + low, degrees.public + high))

    @property
    def _constants(self) -> Floats:
        """(classes, n): c of the noise in each reported number, 0 where it is not used."""
        each = [self.survey.mechanism(kind).second_difference_constant for kind in self.survey.classes]
        return np.array(each).reshape(-1, 1) * self.hiding


def check_degree_statistics(statistics: str | Sequence[str], nodes: int) -> tuple[str, ...]:
    """The statistics asked for: edges, degrees, max_degree, degree_histogram, stars:K, tail:T; "all" for a choice."""
    listed = statistics.split(",") if isinstance(statistics, str) else list(statistics)
    wanted = tuple(dict.fromkeys(name.strip() for name in listed))
    if wanted == ("all",):
        wanted = (*PLAIN, *(f"stars:{k}" for k in (2, 3) if k < nodes))
    for name in check_statistics(wanted, nodes):
        if name not in PLAIN and star_size(name) is None and tail_start(name) is None:
            raise BadStatistic(f"{name!r} takes more than degrees; ask for {', '.join(PLAIN)}, stars:K or tail:T.")
    return wanted


def estimate(collection: DegreeCollection, statistics: str | Sequence[str]) -> dict[str, Estimate]:
    """Estimates of these statistics, all from the same reports: one price for all."""
    wanted = check_degree_statistics(statistics, collection.view.n)
    degrees, releases = collection.noisy_degrees(), collection.releases
    return {name: replace(_one(collection, degrees, name), releases=releases) for name in wanted}


def _one(collection: DegreeCollection, degrees: NoisyDegrees, statistic: str) -> Estimate:
    k, least = star_size(statistic), tail_start(statistic)
    if k is not None:
        return estimate_of(statistic, *degree_functions.stars(degrees, k))
    if least is not None:
        return _tail(degrees, least)
    if statistic == "edges":
        return estimate_of(statistic, *degree_functions.edges(degrees))
    if statistic == "degrees":
        return _degrees(collection, degrees)
    fit = _max_degree if statistic == "max_degree" else _histogram
    return fit(collection.plausible(degrees))


def _tail(degrees: NoisyDegrees, threshold: int) -> Estimate:
    """How many users have at least this degree; few answers that agree do not make the absent agree.  [DEGREESUM.2]"""
    found, spread = degree_functions.tail(degrees, threshold)
    if degrees.absent.size:
        spread = spread._replace(variance=max(spread.variance, _least_variance(degrees, threshold)))
    return estimate_of(f"tail:{threshold}", found, spread)


def _least_variance(degrees: NoisyDegrees, threshold: int) -> float:
    """What a count varies at least by who answered: as a share does that has two more on either side."""
    answers, absent = degrees.noisy.size, degrees.absent.size
    each, noise = degree_functions.per_answer(degrees, lambda degree: degree >= threshold, clamped=True)
    known, away = (int((public >= threshold).sum()) for public in (degrees.public, degrees.absent))
    hidden = 1 - (known + away) / degrees.asked  # the share of those of whom the public does not know it
    counted = float(np.clip(each.sum() - known, 0.0, answers * hidden))
    share = (counted + 2 * hidden) / (answers + 4)
    noisy = max(degrees.expansion**2 * float(noise.sum()), 0.0)
    return noisy + degrees.asked * absent / answers * share * (1 - share)


def _degrees(collection: DegreeCollection, degrees: NoisyDegrees) -> Estimate:
    """Everybody's degree; of the absent what is public plus the mean of what others hide.  [DEGREESUM.2]"""
    hidden = degrees.noisy - degrees.public
    answered, hides = collection.answered, collection.hiding.any(axis=0)
    value = collection.reported.astype(np.float64)
    variance = np.zeros(value.size)
    variance[answered] = degrees.noise
    absent = hides & ~answered
    if absent.any():
        spread = float(hidden.var(ddof=1) - degrees.noise.mean()) if hidden.size > 1 else np.inf
        value[absent] = degrees.absent + hidden.mean()
        # Two answers that agree by chance do not make the mean certain: its noise is known.
        variance[absent] = max(spread, 0.0) + max(float(hidden.var()), float(degrees.noise.mean())) / hidden.size
    names = collection.view.names
    return Estimate("degrees", value, variance, labels=names, unbiased=not absent.any())


def _histogram(degrees: NoisyDegrees) -> Estimate:
    found = fitted_histogram(degrees)
    edges = found.edges.astype(np.int64)
    bins = list(zip(edges[:-1].tolist(), (edges[1:] - 1).tolist(), strict=True))
    variance = found.standard_errors**2
    return Estimate("degree_histogram", found.counts, variance, labels=bins, unbiased=False, limits=found.interval)


def _max_degree(degrees: NoisyDegrees) -> Estimate:
    """The largest degree. Somebody absent may have it: then only public bounds are left.  [DEGREESUM.5]

    The standard error is half of the interval of one standard deviation, so that it grows with the absent, too.
    """
    known, ceiling = degrees.certain.astype(np.float64), float(degrees.nodes - 1)
    noisy, low = (np.concatenate([each, known]) for each in (degrees.noisy, degrees.public))
    high = np.concatenate([np.full(degrees.noisy.size, ceiling), known])
    found = max_degree(noisy, np.concatenate([degrees.noise, np.zeros(known.size)]), low, high, skew=0.0, law=LAPLACE)
    floor = float(degrees.absent.max(initial=0))
    missing = degrees.absent.size / max(degrees.asked, 1)

    def limits(level: float) -> Interval:
        error = 1 - level - 2 * missing
        below, above = found.interval(1 - error if error > _CRUMB else level)
        # Noise and truth are whole numbers: their law is that of rounded ones, half a number wider on either side. The
        # tolerance keeps what is exact exact.
        below, above = np.ceil(below - 0.5 - 1e-9), np.floor(above + 0.5 + 1e-9)
        return max(float(below), floor), max(float(above), floor) if error > _CRUMB else ceiling

    value, error = max(found.value, floor), found.standard_error
    if degrees.absent.size:
        below, above = limits(_ONE_SIGMA)
        error = max(error, float(above - below) / 2)
    return Estimate("max_degree", value, error**2, unbiased=False, limits=limits)
