"""USER histogram: a collection of Hadamard responses, and the degree histogram from it.  [WHOLE.4]"""

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import Bits, Estimators, Ints, UserCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval
from visibility_aware_edge_ldp.counts.degree_histogram import projected
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramReport, HistogramSurvey


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
        """How many users have a degree in each bin, without bias; entries may be negative.  [WHOLE.4]"""
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

        return replace(found, value=value, unbiased=False, limits=limits, conservative=True)
