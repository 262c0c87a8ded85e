"""USER histogram: a collection of Hadamard responses, and the degree histogram from it.  [WHOLE.4]"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import pairwise

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.histogram_report import HistogramReport
from visibility_aware_edge_ldp.public.histogram_survey import HistogramSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.subgraphs.degree_bins import projected


class HistogramCollection:
    """All that has arrived for one survey of whole degrees: a bit and a column a user."""

    def __init__(self, survey: HistogramSurvey, view: PublicView) -> None:
        if (survey.roster, survey.policy) != (view.roster_digest, view.policy.digest):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")
        self.survey, self.view = survey, view
        self._answered = np.zeros(view.n, np.bool_)
        self._columns = np.zeros(view.n, np.int64)
        self._seen: set[str] = set()

    def absorb(self, report: HistogramReport) -> None:
        """Take a report in. The same report again changes nothing; a second answer is refused."""
        digest = report.digest
        if digest in self._seen:
            return
        if report.survey != self.survey.identity:
            raise ProtocolViolation("A report for another survey was sent here.")
        if report.start + report.count > self.view.n:
            raise ProtocolViolation(f"A report names users beyond the last, {self.view.n - 1}.")
        if (report.values >= self.survey.mechanism.columns).any():
            raise ProtocolViolation(f"A report names columns beyond the last, {self.survey.mechanism.columns - 1}.")
        place = slice(report.start, report.start + report.count)
        if (self._answered[place] & report.who_answered).any():
            raise ProtocolViolation("A second, different answer of a user to the same survey; the first one stands.")
        self._answered[place] |= report.who_answered
        self._columns[place] += report.values
        self._seen.add(digest)

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        digest = hashlib.sha256(self._answered.tobytes())
        digest.update(self._columns.tobytes())
        return tuple(replace(release, transcript=digest.hexdigest()) for release in self.survey.releases)

    @property
    def response_rate(self) -> float:
        """The share of the users that answered."""
        return float(self._answered.mean())

    def histogram(self) -> Estimate:
        """How many users have a degree in each bin, without bias; entries may be negative.  [WHOLE.4]"""
        answers, nodes = int(self._answered.sum()), self.view.n
        if not answers:
            raise BadStatistic("Nobody has answered yet, so nothing can be estimated.")
        mechanism, edges = self.survey.mechanism, self.survey.edges
        counts = mechanism.counts(self._columns[self._answered])
        noise = mechanism.variances(counts, answers)
        share = np.clip(counts / answers, 0.0, 1.0)
        sampling = nodes * (nodes - answers) / answers * share * (1 - share)
        bins = [(low, high - 1) for low, high in pairwise(edges)]
        variance = np.maximum((nodes / answers) ** 2 * noise + sampling, 0.0)
        return Estimate("degree_histogram", nodes / answers * counts, variance, self.releases, labels=bins)

    def projected(self) -> Estimate:
        """The nearest histogram that is not negative and sums to the number of users: less error, some bias."""
        found = self.histogram()
        value = projected(np.asarray(found.value), self.view.n)

        def limits(level: float) -> Interval:
            low, high = (np.clip(end, 0, self.view.n) for end in found.interval(level))
            return np.minimum(low, value), np.maximum(high, value)

        return replace(found, value=value, unbiased=False, limits=limits)
