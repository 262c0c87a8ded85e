"""USER triangles: what everybody can make of the rows' answers and sums.  [TRIANGLE.3-4]"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from math import comb
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt

import visibility_aware_edge_ldp.aggregator.round_noise as round_noise
from visibility_aware_edge_ldp.aggregator.collection import COLLECTIONS, Bits, Estimators, UserCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of, largest_seen, with_large_absent
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import reported_rows
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_triangles import earlier_share, middles
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing
from visibility_aware_edge_ldp.counts.row_cycles import Rates, cycle_pulls, largest_path, path_scores
from visibility_aware_edge_ldp.counts.row_noise import Shape, first_vertex_noise, shape_of, size_and_spread
from visibility_aware_edge_ldp.counts.rows import Members, Step, over_rows, triangle_total
from visibility_aware_edge_ldp.counts.scores import Floats, Scores
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Release
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES, TRIANGLES
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, RowSurvey
from visibility_aware_edge_ldp.public.transcript import (
    Transcript,
    at_rate,
    holders,
    pair_rate,
    refuse_part_rows,
    response_rate,
)
from visibility_aware_edge_ldp.public.view import PublicView

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection

Integers = npt.NDArray[np.int64]
# What a user owns is taken as at most so many times less than what it is a middle user of, where that is a guess.
MOST_GAIN = 2.0


class RowCollection(UserCollection[RowSurvey, RowReport]):
    """Both rounds of one survey: first answers for every position, then two numbers of every user."""

    protocol = "rows"
    estimators: ClassVar[Estimators] = {
        TRIANGLES.name: lambda given, asked: triangles(given),
        FOUR_CYCLES.name: lambda given, asked: cycles(given),
    }
    OTHER = "A report for another survey or on another transcript was sent here."
    SECOND = "A second, different answer of a user in the same round; the first one stands."

    def __init__(self, survey: RowSurvey, view: PublicView) -> None:
        self.first = cast("PositionCollection", COLLECTIONS[survey.first.protocol](survey.first, view))
        super().__init__(survey, view, numbers=2)

    def absorb_answers(self, report: PositionReport) -> None:
        """Take a first report in; refused once the first round is closed."""
        if "_closed" in vars(self):
            raise ProtocolViolation("The first round is closed: its transcript has been broadcast.")
        refuse_part_rows(report, self.view)
        self.first.absorb(report)

    def close_first_round(self) -> Transcript:
        """The transcript that is broadcast; no first answer is taken after this."""
        return self._closed[0]

    @cached_property
    def _closed(self) -> tuple[Transcript, Bits]:
        """The transcript, and who answered; from when this is first asked for, the first round is closed."""
        transcript = self.first.transcript
        return transcript, transcript.rows_answered(self.view)

    def is_for_this_survey(self, report: RowReport) -> bool:
        """Whether the report answers this survey, after the transcript of its first round."""
        return (report.survey, report.transcript) == (self.survey.identity, self.close_first_round().digest)

    def validate(self, users: slice, answered: Bits, numbers: Integers) -> None:
        """Refuse numbers of users who cannot have any."""
        if (answered & ~(self.answered_first & self.asked)[users]).any():
            raise ProtocolViolation("A report is of users who were not asked, or did not answer in round 1.")

    @property
    def answered(self) -> Bits:
        """Who answered in both rounds."""
        return self.took_part

    @property
    def reaches(self) -> Integers:
        """The first number of every user: how far its row reaches, with noise."""
        return np.asarray(self.numbers[0])

    @property
    def totals(self) -> Integers:
        """The second number of every user: the sum over its row, with noise."""
        return np.asarray(self.numbers[1])

    @cached_property
    def asked(self) -> Bits:
        """Who was asked."""
        return holders(self.view)

    @property
    def answered_first(self) -> Bits:
        """Who answered in round 1."""
        return self._closed[1]

    @property
    def counts(self) -> round_noise.Counts:
        """How many users were asked, answered first, and answered twice."""
        return round_noise.Counts(
            int(self.asked.sum()), int((self.answered_first & self.asked).sum()), int(self.answered.sum())
        )

    @property
    def response_rate(self) -> float:
        """The share of those asked who answered twice; 1 where nobody was asked."""
        asked, _, twice = self.counts
        return twice / asked if asked else 1.0

    @property
    def sums(self) -> Floats:
        """What those who answered twice said that they own."""
        return np.asarray(self.totals[self.answered] / 2.0**self.survey.fineness)

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for in both rounds, named by what arrived."""
        # Once the first round is closed, its answers stay what they are, and are hashed once.
        first = self._first_releases if "_closed" in vars(self) else self.first.releases
        return (*first, super().releases[-1])

    @cached_property
    def _first_releases(self) -> tuple[Release, ...]:
        return self.first.releases

    @cached_property
    def reported_scores(self) -> Scores:
        """The score of every position that was reported, and 0 elsewhere; the first round is closed by it."""
        return self.close_first_round().scores(self.view, self.survey.first)

    def scores(self, rate: float) -> Scores:
        """The score of every position, for a chance ``rate`` that its row was reported; public edges always are."""
        return at_rate(self.reported_scores, self.view, rate)

    def most_paths(self, scores: Scores, rates: Rates) -> Floats | float:
        """M, in which those who answered twice count the reaches of 4-cycles."""
        return largest_path(path_scores(scores, rates), scores)

    def by_coin(self, shape: Shape, counted: round_noise.Counted) -> Spread:
        """What a coin adds to the sums of 4-cycles, each by itself; nothing where users read all first answers."""
        return Spread(0.0)


class Needed(NamedTuple):
    """The triangles that each user who answered twice is needed for, as a first vertex and as a holder.  [MIDDLE.1-2]

    ``own`` are those that it owns, and ``each`` all of them; both come with the variance of their noise, together.
    """

    own: Floats
    own_noise: float
    each: Floats
    noise: float
    counts: round_noise.Counts

    @property
    def missing(self) -> Spread:
        """How the number of triangles varies with who answered.  [MIDDLE.3]"""
        (asked, _, answers), (once, twice) = self.counts, self.counts.odds
        found = missing(self.each, self.noise / answers, asked, twice)
        return found.plus(missing(self.own, self.own_noise / answers, asked, once - twice))


def triangles(collection: RowCollection, step: Step | None = None) -> Estimate:
    """The triangle count, without bias, and its standard error; ``step`` is told how much is done.  [TRIANGLE.3-4]"""
    asked, first, second = _responses(collection, 2)
    kept = first / asked if asked else 1.0
    value = public_rows(collection, partial(triangle_total, collection.scores(kept)))
    if not asked:
        return Estimate(TRIANGLES.name, value, 0.0, collection.releases)
    value += asked / second * float(collection.sums.sum())
    rows, rate = owned_triangles(collection), response_rate(asked, first)
    shape = shape_of(collection.reported_scores, kept)
    counted = round_noise.Counted(value, (asked / second) ** 2 * rows.noise)
    # Each answer stands for those who did not report, too: as a first vertex, and as the holder of the far side.
    told = first_vertex_noise(collection.reported_scores, step)
    answers = round_noise.first_noise(told, collection.view.n, shape, counted).times(1 / (kept * rate))
    if second == asked:
        spread = round_noise.noise_part(rows, collection.counts, 0.0).plus(answers)
        return estimate_of(TRIANGLES.name, value, spread, collection.releases)
    pulls = needed(collection, rows)
    spread = pulls.missing.plus(round_noise.second_round(rows, collection.counts)).plus(answers)
    found = estimate_of(TRIANGLES.name, value, spread, collection.releases)
    seen = largest_seen(pulls.each, pulls.noise / second)
    return with_large_absent(found, 1 - second / asked, seen, comb(collection.view.n - 1, 2))


def cycles(collection: RowCollection, step: Step | None = None) -> Estimate:
    """The number of 4-cycles, without bias, and its standard error; ``step`` is told how much is done.  [CYCLE.1-2]"""
    asked, first, second = _responses(collection, 3)
    kept, public = first / asked if asked else 1.0, int(len(collection.view.edges) > 0)
    seen_by_all = Rates(kept, kept * response_rate(asked, first), public)
    everything = collection.scores(kept)

    def total(offsets: Integers, members: Members) -> float:
        pulls = cycle_pulls(path_scores(everything, seen_by_all), seen_by_all)
        return float(np.sum(over_rows(everything, 0, offsets, members, lambda block: float(block.totals.sum()), pulls)))

    value = public_rows(collection, total)
    if not asked:
        return Estimate(FOUR_CYCLES.name, value, 0.0, collection.releases)
    rates = Rates(response_rate(asked, first), pair_rate(asked, first), public)
    value += asked / second * float(collection.sums.sum())
    scores, shape = collection.scores(rates.one), shape_of(collection.reported_scores, kept)
    largest = collection.most_paths(scores, rates)
    by_answers = round_noise.TWO_SIDES * collection.view.n * shape.variance * shape.own_noise / kept**4
    coin = collection.by_coin(shape, round_noise.Counted(value, 0.0))
    rows = _owned(collection, largest, by_answers + coin.variance * kept)
    counted = round_noise.Counted(value, (asked / second) ** 2 * rows.noise)
    answers = round_noise.first_cycle_noise(collection.reported_scores, shape, counted, step)
    shared = round_noise.CYCLES_IN_COMMON * (max(value, 0.0) + value**2 / shape.edges)
    spread = _spread(collection, rows, round_noise.CYCLE_PLACES, shared).plus(answers).plus(coin)
    found = estimate_of(FOUR_CYCLES.name, value, spread, collection.releases)
    seen = largest_seen(collection.sums, rows.noise / second)
    return with_large_absent(found, 1 - second / asked, seen, 3 * comb(collection.view.n - 1, 3))


def _responses(collection: RowCollection, fewest: int) -> tuple[int, int, int]:
    """Who was asked, answered first and answered twice; refuses fewer than one subgraph's holders."""
    asked, first, second = collection.counts
    if asked and not second:
        raise BadStatistic("No user has answered in both rounds, so nothing can be estimated yet.")
    if first < min(fewest, asked):
        raise BadStatistic(f"Only {first} of {asked} users have answered; at least {min(fewest, asked)} are needed.")
    return asked, first, second


def public_rows(collection: RowCollection, total: Callable[[Integers, Members], float]) -> float:
    """The sums of the users whose whole row is public: everybody can work them out."""
    edges = np.sort(collection.view.edges.astype(np.int64), axis=1)
    first, second = edges[~collection.asked[edges[:, 0]]].T
    if not first.size:
        return 0.0
    order = np.lexsort((second, first))
    lengths = np.bincount(first, minlength=collection.view.n)
    return total(np.concatenate([[0], np.cumsum(lengths)]), second[order].astype(np.int32))


def _owned(collection: RowCollection, largest: Floats | float, by_answers: float) -> round_noise.Owned:
    """Which part of the sums is noise; ``by_answers`` is what first answers add to the squares of all reported rows."""
    (asked, first, second), survey = collection.counts, collection.survey
    noise = round_noise.second_noise(survey, collection.reaches[collection.answered], largest)
    return round_noise.owned(
        collection.sums, noise, by_answers * second / first, asked, float(survey.total_noise.alpha)
    )


def owned_triangles(collection: RowCollection) -> round_noise.Owned:
    """Which part of the sums of triangles is noise."""
    asked, first, _ = collection.counts
    rate, shape = response_rate(asked, first), shape_of(collection.reported_scores, first / asked)
    largest = float(np.abs(collection.scores(rate).values).max())
    return _owned(collection, largest, shape.own_noise / rate**2)


def needed(collection: RowCollection, rows: round_noise.Owned) -> Needed:
    """What those who answered twice are needed for: as the first answers tell, and as they would guess.  [MIDDLE.2]"""
    (_, first, second), here = collection.counts, collection.answered
    reported, own, hidden = reported_rows(collection.first), collection.sums, hidden_share(collection)
    told = middles(reported)
    # A user with the share q of its friends before it is a middle user 2q/(1 − q) times as often as it is a first one.
    before = earlier_share(reported)[here]
    gain = hidden * np.minimum(2 * before / (1 - before), MOST_GAIN)
    guess, late = gain * own, before * (1 - before)
    rest = hidden * float(own.sum()) - float(guess.sum())
    guess = guess + max(rest, 0.0) * late / float(late.sum())
    own_noise, noise = rows.noise + told.far * second / first, told.noise * second / first
    # The guess may be off by half of its variance; what was told, by its noise.
    off, each = float(guess.var()) / 2, max(noise, 0.0) / second
    error = math.sqrt(each * (2 * each + 4 * float((own + guess).var())) / second)
    weight = off**2 / (off**2 + error**2) if off or error else 1.0
    pulls = own + guess + weight * (told.each[here] - guess)
    # Whose list is longer has more noise in what it owns.
    reach = (np.maximum(collection.reaches[here], 0) + 1 / float(collection.survey.total_noise.beta)) ** 2
    spread = own_noise * float(np.average((1 + (1 - weight) * gain) ** 2, weights=reach))
    # What users are needed for beyond the guess is not in the pulls, as far as the guess stands for it.
    spread += weight**2 * noise - (1 - weight**2) * off * second
    return Needed(own, own_noise, pulls, spread, collection.counts)


def _spread(collection: RowCollection, rows: round_noise.Owned, places: round_noise.Places, shared: float) -> Spread:
    """How a sum over all rows varies by second-round noise and by nonresponse, on average over numberings."""
    share, counts = hidden_share(collection), collection.counts
    here = places.hidden(share)
    missed = round_noise.nonresponse_spread(collection.sums, rows, counts, here, shared * share**2)
    return missed.plus(round_noise.noise_part(rows, counts, here.both + here.held))


def hidden_share(collection: RowCollection) -> float:
    """About the share of edges that are not public."""
    asked, first, _ = collection.counts
    found, public = size_and_spread(collection.reported_scores)[0], len(collection.view.edges)
    hidden = max(found - public, 0.0) * asked / first
    return hidden / (hidden + public) if hidden else 0.0
