"""USER triangles: what everybody can make of the rows' answers and sums.  [TRIANGLE.3-4]"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.row_report import RowReport
from visibility_aware_edge_ldp.public.transcript import Transcript, holders, refuse_part_rows, response_rate
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.subgraphs import cycles, pairs
from visibility_aware_edge_ldp.subgraphs import triangles as triangle_sums
from visibility_aware_edge_ldp.subgraphs.row_cycles import cycle_pulls, largest_path, path_scores
from visibility_aware_edge_ldp.subgraphs.rows import Pulls, first_vertex_noise, over_rows, triangle_pulls
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, score, scores_of, spread

Bits = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
# Where the first answers say little of how much they add to the variance, it is guessed from the estimate itself:
# this many times what equal numbers of common friends at every edge would give.  [TRIANGLE.4]
UNEVEN = 4.0


class TriangleCollection:
    """All that has arrived for one survey: first answers, then two numbers of every user."""

    def __init__(self, survey: TriangleSurvey, view: PublicView) -> None:
        self.survey, self.view = survey, view
        self.first = PositionCollection(survey.first, view)
        self.answered = np.zeros(view.n, dtype=np.bool_)
        self.reaches, self.totals = np.zeros((2, view.n), dtype=np.int64)
        self._transcript: Transcript | None = None
        self._seen: set[str] = set()

    def absorb_answers(self, report: PositionReport) -> None:
        """Take a first report in; refused once the first round is closed."""
        if self._transcript is not None:
            raise ProtocolViolation("The first round is closed: its transcript has been broadcast.")
        refuse_part_rows(report, self.view)
        self.first.absorb(report)

    def close_first_round(self) -> Transcript:
        """The transcript that everybody hears; no first answer is taken after this."""
        if self._transcript is None:
            closed = self.first.transcript
            closed.rows_heard(self.view)
            self._transcript = closed
        return self._transcript

    def absorb(self, report: RowReport) -> None:
        """Take a second report in. The same report again changes nothing; a second answer is refused."""
        if report.digest in self._seen:
            return
        here = self._checked(report)
        self.answered[here] |= report.answered
        self.reaches[here] += report.reaches
        self.totals[here] += report.totals
        self._seen.add(report.digest)

    def _checked(self, report: RowReport) -> slice:
        transcript = self.close_first_round()
        if (report.survey, report.transcript) != (self.survey.identity, transcript.digest):
            raise ProtocolViolation("A report for another survey or on another transcript was sent here.")
        here = slice(report.start, report.start + report.answered.size)
        if here.stop > self.view.n:
            raise ProtocolViolation(f"A report names users beyond the last, {self.view.n - 1}.")
        if (report.answered & ~(self.heard & self.holders)[here]).any():
            raise ProtocolViolation("A report is of users who were not asked, or did not answer in round 1.")
        if (report.answered & self.answered[here]).any():
            raise ProtocolViolation("A second, different answer of a user in the same round; the first one stands.")
        return here

    @cached_property
    def holders(self) -> Bits:
        """Who was asked."""
        return holders(self.view)

    @cached_property
    def heard(self) -> Bits:
        """Who answered in round 1."""
        return self.close_first_round().rows_heard(self.view)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many users were asked, answered first, and answered twice."""
        return int(self.holders.sum()), int((self.heard & self.holders).sum()), int(self.answered.sum())

    @property
    def response_rate(self) -> float:
        """The share of those asked who answered twice; 1 where nobody was asked."""
        asked, _, twice = self.counts
        return twice / asked if asked else 1.0

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        content = (self.answered, self.reaches, self.totals)
        digest = hashlib.sha256(b"".join(array.tobytes() for array in content)).hexdigest()
        return (*self.first.releases, replace(self.survey.releases[-1], transcript=digest))

    @cached_property
    def heard_scores(self) -> Scores:
        """The score of every position that was heard, and 0 elsewhere; the first round is closed by it."""
        self.close_first_round()
        return self._scores(1.0)

    def scores(self, rate: float) -> Scores:
        """The score of every position, for a chance ``rate`` that its row was heard."""
        return self.heard_scores if rate == 1 else self._scores(rate)

    def _scores(self, rate: float) -> Scores:
        groups = [([self.view.edge_bits], [1.0])] if len(self.view.edges) else []
        for kind in NON_PUBLIC:
            held, ones = self.first.nested(kind)
            if held.any():
                groups.append(([held, ones], [float(v) / rate for v in self.survey.first.channel(kind).scores]))
        return scores_of(groups, self.view.n)


def triangles(collection: TriangleCollection) -> Estimate:
    """The triangle count, without bias, and its standard error.  [TRIANGLE.3-4]"""
    asked, first, second = _responses(collection)
    rate = response_rate(asked, first)
    sums = collection.totals[collection.answered] / 2.0**collection.survey.fineness
    value = _public_rows(collection, collection.scores(first / asked if asked else 1.0), triangle_pulls)
    if not asked:
        return Estimate("triangles", value, 0.0, collection.releases)
    value += asked / second * float(sums.sum())
    noise = _second_noise(collection, float(np.abs(collection.scores(rate).values).max()))
    # Each answer stands for those who stayed away, too: as a first vertex, and as the holder of the far side.
    kept = first / asked
    answers = _first_noise(collection.heard_scores, value * kept**1.5) / (kept * rate) ** 2
    variance = (asked / second) ** 2 * noise + answers + absence_variance(sums, noise, asked, first, second)
    return Estimate("triangles", value, variance, collection.releases)


def four_cycles(collection: TriangleCollection) -> Estimate:
    """The number of 4-cycles, without bias; every row must have answered.  [CYCLE.1-2]"""
    asked, first, second = _responses(collection)
    if not asked == first == second:
        raise BadStatistic(f"4-cycles need every row, and {asked - second} of {asked} are missing; ask for triangles.")
    scores = collection.scores(1.0)
    paths = path_scores(scores)
    value = _public_rows(collection, scores, cycle_pulls(paths))
    value += float(collection.totals.sum()) / 2.0**collection.survey.fineness
    if not asked:
        return Estimate("four_cycles", value, 0.0, collection.releases)
    variance = _second_noise(collection, largest_path(paths, scores)) + _first_cycle_noise(scores, value)
    return Estimate("four_cycles", value, variance, collection.releases)


def _responses(collection: TriangleCollection) -> tuple[int, int, int]:
    asked, first, second = collection.counts
    if asked and not second:
        raise BadStatistic("No user has answered in both rounds, so nothing can be estimated yet.")
    return asked, first, second


def _public_rows(collection: TriangleCollection, scores: Scores, pulls: Pulls) -> float:
    """The sums of the users whose whole row is public: everybody can work them out."""
    edges = collection.view.edges.astype(np.int64)
    first, second = edges.min(axis=1, initial=collection.view.n), edges.max(axis=1, initial=-1)
    kept = ~collection.holders[first] if len(edges) else np.zeros(0, np.bool_)
    if not kept.any():
        return 0.0
    order = np.lexsort((second[kept], first[kept]))
    lengths = np.bincount(first[kept], minlength=collection.view.n)
    offsets, members = np.concatenate([[0], np.cumsum(lengths)]), second[kept][order].astype(np.int32)
    return float(np.sum(over_rows(scores, 0, offsets, members, lambda block: float(block.totals.sum()), pulls)))


def _second_noise(collection: TriangleCollection, largest: float) -> float:
    """The variance of all second-round noise together, from the noisy reaches, without bias.  [TRIANGLE.4]"""
    survey, noise = collection.survey, collection.survey.total_noise
    pace, more = 1 / float(noise.beta), 2 / (largest * 2.0**survey.fineness)
    factor = (largest * noise.standard_deviation(1)) ** 2

    def squared_bound(reach: Integers | float) -> Floats:
        middle = reach + 0.5
        smooth = np.where(middle >= pace, middle, pace * np.exp(np.minimum(middle / pace, 1.0) - 1))
        return np.square(smooth + more)

    reaches = collection.reaches[collection.answered]
    measured = float(survey.reach_noise.unbiased(squared_bound, reaches).sum())
    middling = max(float(reaches.mean()), 0.0) * np.sqrt(2)
    guessed = float(squared_bound(middling)) * reaches.size
    doubt = np.sqrt(5 * reaches.size) * survey.reach_noise.variance
    return factor * max(_believed(measured, guessed, doubt), float(squared_bound(0.0)) * reaches.size)


def _believed(measured: float, guessed: float, doubt: float) -> float:
    """A mean of what was measured, with standard error ``doubt``, and of a guess that may be off by half of itself."""
    off = guessed / 2
    return (off**2 * measured + doubt**2 * guessed) / (off**2 + doubt**2) if guessed else measured


def _first_noise(scores: Scores, value: float) -> float:
    """What the first answers add to the variance: measured where they tell, guessed where they do not.  [TRIANGLE.4]"""
    edges, typical = _size_and_spread(scores)
    guessed = UNEVEN * typical * value**2 / edges
    # The measured part is a sum over pairs of squares of sums of n noisy products: this is how far it may be off.
    doubt = typical**3 * scores.n**2 / np.sqrt(6)
    return max(_believed(first_vertex_noise(scores), guessed, doubt), guessed / UNEVEN)


def _first_cycle_noise(scores: Scores, value: float) -> float:
    """The same for 4-cycles, whose two far sides are both first answers.  [CYCLE.2]"""
    edges, typical = _size_and_spread(scores)
    sums = pairs.sum_over_pairs(
        scores, lambda block: {**cycles.cycle_sums(block), "triangles": triangle_sums.triangle_sums(block)["count"] / 3}
    )
    _, one_round = cycles.four_cycles(scores, sums)
    floor = sums["four"] / 4
    guessed = UNEVEN * typical * (2 * value) ** 2 / edges
    one_side = max(_believed((one_round - floor) / 4, guessed, floor / 4), guessed / UNEVEN)
    return one_side + 0.75 * scores.n * typical * _first_noise(scores, sums["triangles"])


def _size_and_spread(scores: Scores) -> tuple[float, float]:
    """About how many edges there are, and the variance of one score."""
    n = scores.n
    edges = max(float(scores.node_sums(score).sum()) / 2, 1.0)
    return edges, float(scores.node_sums(spread).sum()) / (n * (n - 1))


def absence_variance(sums: Floats, noise: float, asked: int, first: int, second: int) -> float:
    """What users who stayed away add, whatever their lists: they are missed as first and as second vertices.

    [TRIANGLE.4]
    """
    squares = max(float((sums**2).sum()) - noise, 0.0) * asked / second
    mean = float(sums.sum()) / second
    owned = (asked / second - 1) * max(squares - asked * mean**2, 0.0)
    held = (asked / first - 1) * max(5 / 3 * squares - 3 * asked * mean**2, 0.0)
    return owned + held
