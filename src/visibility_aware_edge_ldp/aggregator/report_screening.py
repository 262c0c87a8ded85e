"""Which reports no honest user sends, but for one time in a thousand million: listed, never dropped.  [LIARS.5]

And, of second reports of rows and of hubs, how far liars who are not listed move the estimate.  [LIARS.6]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import reported_rows
from visibility_aware_edge_ldp.compute.plain.bitset import row_sums
from visibility_aware_edge_ldp.compute.reproducible_math import log, weighted
from visibility_aware_edge_ldp.counts.row_cycles import Rates, largest_path, path_scores
from visibility_aware_edge_ldp.counts.scores import Floats, score, spread
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import ones_between, pair_rate, response_rate
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.hubs import HubCollection
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection
    from visibility_aware_edge_ldp.aggregator.rows import RowCollection

Ints = npt.NDArray[np.int64]
# An honest report is flagged with less than this chance.
FALSE_ALARM = Fraction(1, 10**9)
# A row is compared with its peers where there are so many positions on either side.
ENOUGH = 30
# Bounds are rounded up to so many digits.
DIGITS = 4
# The noise's tail is read off at this scale, where rounding to whole numbers does not matter.
UNIT = 10**6


@dataclass(frozen=True, order=True)
class Flag:
    """A number that an honest report hardly ever has: whose, in which round, what, and where honest ones lie."""

    participant: int
    round: int
    what: str
    value: float
    low: float
    high: float

    def as_dict(self) -> dict[str, int | float | str]:
        return asdict(self)


def flags(
    users: Iterable[int], values: npt.ArrayLike, band: tuple[npt.ArrayLike, npt.ArrayLike], what: str, number: int
) -> list[Flag]:
    """Flags for those of the values that lie outside their band."""
    who = np.asarray(list(users), np.int64)
    said, low, high = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in (values, *band)))
    beyond = np.flatnonzero((said < low) | (said > high))
    return [Flag(int(who[i]), number, what, float(said[i]), float(low[i]), float(high[i])) for i in beyond]


def ones_band(positions: Ints, flip: float, chance: float) -> tuple[Ints, Ints]:
    """From how many to how many ones so many randomized answers have, whatever the bits.  [LIARS.5]

    Either tail has less than ``chance``.
    """
    n = np.maximum(positions, 1)
    needed = -math.log(chance) / n
    low, high = np.zeros(n.shape), np.full(n.shape, flip)
    for _ in range(60):
        middle = (low + high) / 2
        far = _divergence(middle, flip) >= needed
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    reachable = -math.log1p(-flip) >= needed
    fewest = np.where(reachable & (positions > 0), np.floor(low * n).astype(np.int64) + 1, 0)
    return fewest, positions - fewest


def _divergence(x: Floats, q: float) -> Floats:
    """x ln(x/q) + (1 − x) ln((1 − x)/(1 − q))."""
    inside = np.clip(x, 1e-300, 1 - 1e-16)
    found: Floats = inside * log(inside / q) + (1 - inside) * log((1 - inside) / (1 - q))
    return found


def flagged_rows(collection: PositionCollection) -> list[Flag]:
    """Rows with fewer or more ones than any friend list would have, and rows that their peers contradict.  [LIARS.5]"""
    first = collection.transcript
    found: list[Flag] = []
    for kind in NON_PUBLIC:
        if collection.view.class_sizes[kind]:
            bits = collection.view.class_bits[kind]
            found += _beyond(collection.view, collection.survey, kind, 1, first.answered & bits, first.ones & bits)
            if collection.survey.rounds == 2:
                found += _beyond(collection.view, collection.survey, kind, 2, *collection.nested(kind)[1:])
    return sorted(found + _against_peers(collection))


def _beyond(
    view: PublicView, survey: PositionSurvey, kind: Visibility, number: int, asked: Octets, ones: Octets
) -> list[Flag]:
    n = view.n
    users = np.arange(n + 1, dtype=np.int64)
    starts = users * (2 * n - users - 1) // 2
    positions, said = ones_between(asked, starts), ones_between(ones, starts)
    flip = float(survey.mechanism(kind, number).channel.given_zero[1])
    band = ones_band(positions, flip, float(FALSE_ALARM / (2 * len(NON_PUBLIC))))
    return flags(range(n), said, band, f"ones at {kind} positions", number)


def _against_peers(collection: PositionCollection) -> list[Flag]:
    """Each row's share of friends beside what earlier users say of the same user; numbers are by a public hash."""
    rows = reported_rows(collection)
    if not rows.users.size:
        return []
    scores, hidden = rows.scores, 1 - rows.is_public
    own = np.stack([row_sums(plane) for plane in rows.later])
    peers = scores.plane_degrees - own
    reported = [_reported(rows.public, scores.member, part) for part in (own, peers)]
    noise = [weighted(scores.weights(spread) * hidden, part) for part in (own, peers)]
    friends = [weighted(scores.weights(score) * hidden, part) for part in (own, peers)]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((friends[0] + friends[1]) / (reported[0] + reported[1]), 0, 1)
        spreads = [np.maximum(noise[i] / reported[i] + share * (1 - share), 0) / reported[i] for i in (0, 1)]
        largest = _range(collection) / np.minimum(reported[0], reported[1])
        expected, error = friends[1] / reported[1] * reported[0], _reach(spreads[0] + spreads[1], largest) * reported[0]
    enough = (reported[0] >= ENOUGH) & (reported[1] >= ENOUGH) & np.isin(np.arange(scores.n), rows.users)
    who = np.flatnonzero(enough)
    return flags(who, friends[0][who], ((expected - error)[who], (expected + error)[who]), "friends, against peers", 1)


def _range(collection: PositionCollection) -> float:
    """How far apart the scores of two answers may be."""
    asked = [kind for kind in NON_PUBLIC if collection.view.class_sizes[kind]]
    return max(float(np.ptp([float(each) for each in collection.survey.channel(kind).scores])) for kind in asked)


def _reach(variance: Floats, largest: Floats) -> Floats:
    """How far a sum goes, but for a false alarm, whose terms are no larger than this: Bernstein's bound.  [LIARS.5]"""
    rare = math.log(2 / FALSE_ALARM)
    found: Floats = rare * largest / 3 + np.sqrt((rare * largest / 3) ** 2 + 2 * rare * variance)
    return found


def _reported(public: int, member: npt.NDArray[np.bool_], counts: Ints) -> Ints:
    """How many positions that are not public were reported: those in the first plane of each class."""
    firsts = [i for i in range(public, len(member)) if member[i].sum() == 1]
    found: Ints = counts[firsts].sum(axis=0)
    return found


def degree_bands(survey: DegreeSurvey) -> list[tuple[int, int]]:
    """Where each honest number of a report lies, noise and all.  [LIARS.5]"""
    reaches = [survey.mechanism(kind).interval(1 - FALSE_ALARM / len(survey.asked))[1] for kind in survey.asked]
    return [(-reach, most + reach) for reach, most in zip(reaches, survey.largest, strict=True)]


def flagged_degrees(survey: DegreeSurvey, users: Sequence[int], values: Ints) -> list[Flag]:
    """Of (numbers, users) numbers, those that no honest user sends.  [LIARS.5]"""
    found = [
        flags(users, said, band, f"{kind} friends", 1)
        for kind, band, said in zip(survey.asked, degree_bands(survey), values, strict=True)
    ]
    return sorted(flag for each in found for flag in each)


def rounded_up(bound: float) -> float:
    """To a few digits, never below: the last bits of a bound depend on the machine, and say nothing."""
    if not bound or not math.isfinite(bound):
        return bound
    unit = 10.0 ** (math.floor(math.log10(bound)) - DIGITS + 1)
    return float(f"{math.ceil(bound / unit * (1 + 1e-9)) * unit:.{DIGITS - 1}e}")


class SumPoisoning:
    """What the second reports of rows may say, and how far liars in either round move the estimate.  [LIARS.5-6]"""

    def __init__(self, collection: RowCollection, largest: float | None = None) -> None:
        self.collection, survey = collection, collection.survey
        asked, first, _ = collection.counts
        self.rate = response_rate(asked, first) if asked else 1.0
        self.largest = self._largest(asked, first) if largest is None else largest
        self.later = np.arange(collection.view.n)[::-1].astype(np.float64)
        self.reach = survey.reach_noise.interval(1 - FALSE_ALARM / 2)[1]

    def _largest(self, asked: int, first: int) -> float:
        """M: one friend more or less moves no pull by more than this."""
        scores = self.collection.scores(self.rate)
        if self.collection.survey.statistic == FOUR_CYCLES.name:
            rates = Rates(self.rate, pair_rate(asked, first), int(len(self.collection.view.edges) > 0))
            return largest_path(path_scores(scores, rates), scores)
        return float(np.abs(scores.values).max(initial=1.0))

    @property
    def told(self) -> Floats:
        """In how many pairs of earlier users' lists the answers of a row may be."""
        return np.arange(self.collection.view.n) * self.later

    @property
    def sums(self) -> Floats:
        """The largest that each user's sum is, up to its sign, in its unit."""
        survey = self.collection.survey
        pace = 1 / float(survey.total_noise.beta) * (1 + 1e-6)
        scale = np.maximum(self.later, pace) * self.largest * (1 + 1e-6) * 2.0**survey.fineness + 2
        honest = self.later**2 / 2 * self.largest * 2.0**survey.fineness + 1
        found: Floats = honest + noise_tail(survey.total_noise, FALSE_ALARM / 2) * scale
        return found

    def flagged(self) -> list[Flag]:
        """Second reports that no honest user sends."""
        who = np.flatnonzero(self.collection.answered)
        reaches, totals, far = self.collection.reaches[who], self.collection.totals[who], self.sums[who]
        found = flags(who, reaches, (np.full(who.size, -self.reach), self.later[who] + self.reach), "reach", 2)
        return sorted(found + flags(who, totals, (-far, far), "sum", 2))

    def bound(self, liars: int) -> float:
        """By how much so many unflagged liars move the estimate, at most."""
        collection = self.collection
        asked, _, second = collection.counts
        if not second or collection.survey.statistic != "triangles":
            return math.inf
        own = 2 * self.sums / 2.0**collection.survey.fineness
        channels = [collection.survey.first.channel(kind).scores for kind in NON_PUBLIC]
        width = max(float(max(scores) - min(scores)) for scores in channels) / self.rate
        each = asked / second * (own + self.told * width)[collection.answered_first]
        return rounded_up(float(np.sort(each)[::-1][:liars].sum()))


def noise_tail(noise: SmoothNoise, chance: Fraction) -> float:
    """How many bounds away from 0 the noise is at most, but for this chance."""
    return (noise.interval(UNIT, 1 - chance)[1] + 1) / UNIT


class HubPoisoning:
    """What hubs may report, and how far liars among them move the estimate.  [LIARS.5-6]"""

    def __init__(self, collection: HubCollection) -> None:
        self.collection = collection
        plan, nodes = collection.survey.plan, collection.view.n
        self.most: Floats = plan.sizes * (plan.sizes - 1) / 2 * max(nodes - 2, 0)

    def band(self, number: str) -> tuple[Floats, Floats]:
        """Where each reporter's number lies if it is honest."""
        survey = self.collection.survey
        tail = noise_tail(survey.noises[number], FALSE_ALARM / len(survey.numbers))
        far: Floats = survey.floors(number) * np.float64(tail)
        return -far - 1, self.most + far + 1

    def flagged(self, values: dict[int, tuple[int, ...]]) -> list[Flag]:
        """Of the reports' numbers, by the reporter's place, those that no honest hub sends."""
        survey, places = self.collection.survey, sorted(values)
        found: list[Flag] = []
        for index, number in enumerate(survey.numbers):
            low, high = self.band(number)
            said = np.array([values[place][index] for place in places], np.float64)
            who = [survey.plan.hubs[place] for place in places]
            found += flags(who, said, (low[places], high[places]), f"triangles, {number}", 1)
        return sorted(found)

    def bound(self, liars: int) -> float:
        """By how much so many unflagged liars move the estimate, at most."""
        low, high = self.band(self.collection.survey.numbers[0])
        each = (high - low)[self.collection.present]
        return rounded_up(float(np.sort(each)[::-1][:liars].sum()))
