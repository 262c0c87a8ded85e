"""USER histogram: a collection of Hadamard responses, and the degree histogram from it.  [WHOLE.4-5]"""

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import Bits, Estimators, Ints, UserCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval
from visibility_aware_edge_ldp.counts.degrees.degree_histogram import projected
from visibility_aware_edge_ldp.counts.scores import Floats
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramReport, HistogramSurvey

# A projected count beyond so many standard errors is more than noise.
CLEAR = 2.0
# Of the mean squared error that one bin in doubt would leave to each of them, so much is always stated.
LEAST = 0.25


class HistogramCollection(UserCollection[HistogramSurvey, HistogramReport]):
    """Hadamard responses: for each user whether it answered, and a column of the matrix."""

    protocol = "histogram"
    estimators: ClassVar[Estimators] = {"degree_histogram": lambda given, asked: given.projected()}

    def validate(self, users: slice, answered: Bits, numbers: Ints) -> None:
        """Refuse columns that the mechanism does not have."""
        if (numbers >= self.survey.mechanism.columns).any():
            raise ProtocolViolation(f"A report names columns beyond the last, {self.survey.mechanism.columns - 1}.")

    @property
    def response_rate(self) -> float:
        """The share of the users that answered."""
        return float(self.took_part.mean())

    def histogram(self) -> Estimate:
        """How many users have a degree in each bin, without bias; entries may be negative.  [WHOLE.4-5]"""
        answers, nodes = int(self.took_part.sum()), self.view.n
        if not answers:
            raise BadStatistic("Nobody has answered yet, so nothing can be estimated.")
        mechanism, edges = self.survey.mechanism, self.survey.edges
        counts = mechanism.counts(self.numbers[0, self.took_part])
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

        variance = self._squared_errors(np.asarray(found.value), value)
        return replace(found, value=value, variance=variance, unbiased=False, limits=limits, conservative=True)

    def _squared_errors(self, unbiased: Floats, value: Floats) -> Floats:
        """Of each bin about the mean squared error of the projected count, by Stein's formula.  [WHOLE.5]"""
        known, kept = self._covariance(value), value > 0
        slope = np.diag(kept.astype(np.float64)) - np.outer(kept, kept) / max(int(kept.sum()), 1)
        each: Floats = (unbiased - value) ** 2 - known.diagonal() + 2 * (known * slope).sum(axis=1)
        small = value <= CLEAR * np.sqrt(known.diagonal())
        each[small] = each[small].mean() if small.any() else 0.0
        return np.maximum(each, LEAST * known.diagonal() / value.size)

    def _covariance(self, value: Floats) -> Floats:
        """How the unbiased counts vary together if these are the true ones.  [HADAMARD.3], [WHOLE.5]"""
        answers, nodes, mechanism = int(self.took_part.sum()), self.view.n, self.survey.mechanism
        counts = answers / nodes * value
        rows = np.arange(1, counts.size + 1)
        together = (rows[:, None] ^ rows) - 1
        inside = (together >= 0) & (together < counts.size)
        noise = np.where(inside, mechanism.scale * counts[np.where(inside, together, 0)], 0.0)
        noise[np.diag_indices(counts.size)] = mechanism.variances(counts, answers)
        drawn = np.diag(value) - np.outer(value, value) / nodes
        found: Floats = (nodes / answers) ** 2 * noise + (nodes - answers) / answers * drawn
        return found
