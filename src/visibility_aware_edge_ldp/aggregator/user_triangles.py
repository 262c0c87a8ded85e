"""USER triangles: what everybody can make of the rows' answers and sums.  [TRIANGLE.3-4]"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of
from visibility_aware_edge_ldp.aggregator.first_answers import (
    TWO_SIDES,
    Counted,
    Shape,
    first_cycle_noise,
    first_noise,
    shape_of,
    size_and_spread,
)
from visibility_aware_edge_ldp.aggregator.row_absence import (
    CYCLE_PLACES,
    CYCLES_IN_COMMON,
    TRIANGLE_PLACES,
    TRIANGLES_IN_COMMON,
    Held,
    Places,
    absence,
)
from visibility_aware_edge_ldp.aggregator.row_errors import Counts, Owned, noise_part, owned, second_noise
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.row_report import RowReport
from visibility_aware_edge_ldp.public.transcript import Transcript, holders, pair_rate, refuse_part_rows, response_rate
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.subgraphs.absence import Spread
from visibility_aware_edge_ldp.subgraphs.row_cycles import Rates, cycle_pulls, largest_path, path_scores
from visibility_aware_edge_ldp.subgraphs.row_noise import first_vertices
from visibility_aware_edge_ldp.subgraphs.rows import Members, Step, over_rows, scores_of_rows, triangle_total
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores

Bits = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


class TriangleCollection:
    """All that has arrived for one survey: first answers, then two numbers of every user."""

    def __init__(self, survey: TriangleSurvey, view: PublicView) -> None:
        self.survey, self.view = survey, view
        self.first = PositionCollection(survey.first, view)
        self.answered = np.zeros(view.n, dtype=np.bool_)
        self.reaches, self.totals = np.zeros((2, view.n), dtype=np.int64)
        self._seen: set[str] = set()

    def absorb_answers(self, report: PositionReport) -> None:
        """Take a first report in; refused once the first round is closed."""
        if "_closed" in vars(self):
            raise ProtocolViolation("The first round is closed: its transcript has been broadcast.")
        refuse_part_rows(report, self.view)
        self.first.absorb(report)

    def close_first_round(self) -> Transcript:
        """The transcript that everybody hears; no first answer is taken after this."""
        return self._closed[0]

    @cached_property
    def _closed(self) -> tuple[Transcript, Bits]:
        """The transcript, and who answered; from when this is first asked for, the first round is closed."""
        transcript = self.first.transcript
        return transcript, transcript.rows_heard(self.view)

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

    @property
    def heard(self) -> Bits:
        """Who answered in round 1."""
        return self._closed[1]

    @property
    def counts(self) -> Counts:
        """How many users were asked, answered first, and answered twice."""
        return Counts(int(self.holders.sum()), int((self.heard & self.holders).sum()), int(self.answered.sum()))

    @property
    def response_rate(self) -> float:
        """The share of those asked who answered twice; 1 where nobody was asked."""
        asked, _, twice = self.counts
        return twice / asked if asked else 1.0

    @property
    def sums(self) -> Floats:
        """What those who answered twice said that they own."""
        found: Floats = self.totals[self.answered] / 2.0**self.survey.fineness
        return found

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        content = (self.answered, self.reaches, self.totals)
        digest = hashlib.sha256(b"".join(array.tobytes() for array in content)).hexdigest()
        return (*self.first.releases, replace(self.survey.releases[-1], transcript=digest))

    def prepared(self) -> TriangleCollection:
        """The same, with what can be worked out before the second reports come."""
        _ = self.heard_scores
        return self

    @cached_property
    def heard_scores(self) -> Scores:
        """The score of every position that was heard, and 0 elsewhere; the first round is closed by it."""
        self.close_first_round()
        groups = [([self.view.edge_bits], [1.0])] if len(self.view.edges) else []
        for kind in NON_PUBLIC:
            held, ones = self.first.nested(kind)
            if held.any():
                groups.append(([held, ones], [float(v) for v in self.survey.first.channel(kind).scores]))
        return scores_of_rows(groups, self.view.n)

    def scores(self, rate: float) -> Scores:
        """The score of every position, for a chance ``rate`` that its row was heard; public edges always are."""
        values = self.heard_scores.values.copy()
        values[int(len(self.view.edges) > 0) :] /= rate
        return replace(self.heard_scores, values=values)


def triangles(collection: TriangleCollection, step: Step | None = None) -> Estimate:
    """The triangle count, without bias, and its standard error; ``step`` hears which share is done.  [TRIANGLE.3-4]"""
    asked, first, second = _responses(collection, 2)
    kept = first / asked if asked else 1.0
    value = _public_rows(collection, partial(triangle_total, collection.scores(kept)))
    if not asked:
        return Estimate("triangles", value, 0.0, collection.releases)
    rate = response_rate(asked, first)
    value += asked / second * float(collection.sums.sum())
    largest, shape = float(np.abs(collection.scores(rate).values).max()), shape_of(collection.heard_scores, kept)
    rows = _owned(collection, largest, shape.own_noise / rate**2)
    counted = Counted(value, (asked / second) ** 2 * rows.noise)
    # Each answer stands for those who stayed away, too: as a first vertex, and as the holder of the far side.
    told = first_vertices(collection.heard_scores, step)
    answers = first_noise(told.noise, collection.view.n, shape, counted)
    held = _held(collection, shape, answers, max(value, 0.0), told.middles)
    spread = _spread(collection, rows, TRIANGLE_PLACES, held).plus(answers.times(1 / (kept * rate)))
    return estimate_of("triangles", value, spread, collection.releases)


def four_cycles(collection: TriangleCollection, step: Step | None = None) -> Estimate:
    """The number of 4-cycles, without bias, and its standard error; ``step`` hears which share is done.  [CYCLE.1-2]"""
    asked, first, second = _responses(collection, 3)
    kept, public = first / asked if asked else 1.0, int(len(collection.view.edges) > 0)
    seen_by_all = Rates(kept, kept * response_rate(asked, first), public)
    everything = collection.scores(kept)
    value = _public_rows(collection, partial(_cycle_total, everything, seen_by_all))
    if not asked:
        return Estimate("four_cycles", value, 0.0, collection.releases)
    rates = Rates(response_rate(asked, first), pair_rate(asked, first), public)
    value += asked / second * float(collection.sums.sum())
    scores, shape = collection.scores(rates.one), shape_of(collection.heard_scores, kept)
    largest = largest_path(path_scores(scores, rates), scores)
    by_answers = TWO_SIDES * collection.view.n * shape.variance * shape.own_noise / kept**4
    rows = _owned(collection, largest, by_answers)
    counted = Counted(value, (asked / second) ** 2 * rows.noise)
    answers = first_cycle_noise(collection.heard_scores, shape, counted, step)
    held = Held(shared=CYCLES_IN_COMMON * (max(value, 0.0) + value**2 / shape.edges))
    spread = _spread(collection, rows, CYCLE_PLACES, held).plus(answers)
    return estimate_of("four_cycles", value, spread, collection.releases)


def _responses(collection: TriangleCollection, fewest: int) -> tuple[int, int, int]:
    """Who was asked, answered first and answered twice; refuses fewer than one subgraph's holders."""
    asked, first, second = collection.counts
    if asked and not second:
        raise BadStatistic("No user has answered in both rounds, so nothing can be estimated yet.")
    if first < min(fewest, asked):
        raise BadStatistic(f"Only {first} of {asked} users have answered; at least {min(fewest, asked)} are needed.")
    return asked, first, second


def _public_rows(collection: TriangleCollection, total: Callable[[Integers, Members], float]) -> float:
    """The sums of the users whose whole row is public: everybody can work them out."""
    edges = collection.view.edges.astype(np.int64)
    first, second = edges.min(axis=1, initial=collection.view.n), edges.max(axis=1, initial=-1)
    kept = ~collection.holders[first] if len(edges) else np.zeros(0, np.bool_)
    if not kept.any():
        return 0.0
    order = np.lexsort((second[kept], first[kept]))
    lengths = np.bincount(first[kept], minlength=collection.view.n)
    return total(np.concatenate([[0], np.cumsum(lengths)]), second[kept][order].astype(np.int32))


def _cycle_total(scores: Scores, rates: Rates, offsets: Integers, members: Members) -> float:
    pulls = cycle_pulls(path_scores(scores, rates), rates)
    return float(np.sum(over_rows(scores, 0, offsets, members, lambda block: float(block.totals.sum()), pulls)))


def _owned(collection: TriangleCollection, largest: float, by_answers: float) -> Owned:
    """Which part of the sums is noise; ``by_answers`` is what first answers add to the squares of all heard rows."""
    asked, first, second = collection.counts
    noise = second_noise(collection.survey, collection.reaches[collection.answered], largest)
    tail = float(collection.survey.total_noise.alpha)
    return owned(collection.sums, noise, by_answers * second / first, asked, tail)


def _held(collection: TriangleCollection, shape: Shape, answers: Spread, value: float, middles: Floats | None) -> Held:
    """What users are needed for as holders of far sides, with noise of one, two and three sides.  [TRIANGLE.8]"""
    asked, first, second = collection.counts
    shared = TRIANGLES_IN_COMMON * (value + value**2 / shape.edges)
    if middles is None:
        return Held(shared=shared)
    n, rate = collection.view.n, response_rate(asked, first)
    noise = 2 * answers.variance + shape.own_noise + shape.variance**2 * n * shape.edges
    noise += shape.variance**3 * n**3 / 6 / shape.kept
    return Held(middles[collection.answered] / rate, noise / rate**2 * second / first, shared)


def _spread(collection: TriangleCollection, rows: Owned, places: Places, held: Held) -> Spread:
    """How a sum over all rows varies by second-round noise and by who stayed away."""
    share, counts = hidden_share(collection), collection.counts
    here = places.hidden(share)
    missed = absence(collection.sums, rows, counts, here, held._replace(shared=held.shared * share**2))
    return missed.plus(noise_part(rows, counts, here.both + here.held))


def hidden_share(collection: TriangleCollection) -> float:
    """About the share of edges that are not public."""
    asked, first, _ = collection.counts
    public = len(collection.view.edges)
    hidden = max(size_and_spread(collection.heard_scores)[0] - public, 0.0) * asked / first
    return hidden / (hidden + public) if hidden else 0.0
