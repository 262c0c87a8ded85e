"""How far liars who report numbers can move an estimate, while each number lies where honest ones do.  [LIARS.6]

A number is 64 bits: a liar whose number lies outside its band can move anything anywhere, and is listed by name.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.hub import HubCollection
from visibility_aware_edge_ldp.aggregator.manipulation import rounded_up
from visibility_aware_edge_ldp.aggregator.plausible import FALSE_ALARM, Flag, degree_band, flags
from visibility_aware_edge_ldp.aggregator.user_degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.public.transcript import pair_rate, response_rate
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.subgraphs.degree_functions import DegreeFunction, NoisyDegrees, binomial, per_answer
from visibility_aware_edge_ldp.subgraphs.row_cycles import Rates, largest_path, path_scores
from visibility_aware_edge_ldp.subgraphs.statistic import star_size, tail_start

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# The noise's tail is read off at this scale, where rounding to whole numbers does not matter.
UNIT = 10**6


def degree_bound(collection: DegreeCollection, statistic: str, liars: int) -> float:
    """By how much so many unflagged liars move a sum over degrees, at most; infinite for what is not one.  [LIARS.6]"""
    function = _summed(statistic)
    if function is None:
        return math.inf
    degrees, survey = collection.noisy_degrees(), collection.survey
    among = min(liars, degrees.noisy.size)
    bands = [degree_band(survey, kind) for kind in survey.classes]
    lowest, highest = sum(low for low, _ in bands), sum(high for _, high in bands) + int(degrees.public.max(initial=0))
    places = np.arange(lowest, highest + 1, dtype=np.int64)
    noises = {(float(first), float(second)) for first, second in zip(degrees.first, degrees.second, strict=True)}
    width = max((_range(survey.nodes, places, noise, function) for noise in sorted(noises)), default=0.0)
    return rounded_up(among * degrees.expansion * width)


def _summed(statistic: str) -> DegreeFunction | None:
    """The function of the degree that a statistic adds up."""
    k, least = star_size(statistic), tail_start(statistic)
    if k is not None:
        return lambda degrees: binomial(degrees, k)
    if least is not None:
        return lambda degrees: degrees >= least
    return (lambda degrees: degrees / 2) if statistic == "edges" else None


def _range(nodes: int, places: Ints, noise: tuple[float, float], function: DegreeFunction) -> float:
    first, second = (np.full(places.size, constant) for constant in noise)
    none = np.zeros(0, np.int64)
    everywhere = NoisyDegrees(nodes, none, places, np.zeros(places.size, np.int64), first, second, none)
    return float(np.ptp(per_answer(everywhere, function)[0]))


class SumLies:
    """What the second reports of rows may say, and how far liars in either round move the estimate.  [LIARS.5-6]"""

    def __init__(self, collection: TriangleCollection) -> None:
        self.collection, survey = collection, collection.survey
        asked, first, _ = collection.counts
        self.rate = response_rate(asked, first) if asked else 1.0
        scores = collection.scores(self.rate)
        self.largest = float(np.abs(scores.values).max(initial=1.0))
        if survey.statistic == "four_cycles":
            rates = Rates(self.rate, pair_rate(asked, first), int(len(collection.view.edges) > 0))
            self.largest = largest_path(path_scores(scores, rates), scores)
        self.later = np.arange(collection.view.n)[::-1].astype(np.float64)
        self.reach = survey.reach_noise.interval(1 - FALSE_ALARM / 2)[1]

    @property
    def sums(self) -> Floats:
        """The largest that each user's sum is, up to its sign, in its unit."""
        survey = self.collection.survey
        pace = 1 / float(survey.total_noise.beta) * (1 + 1e-6)
        scale = np.maximum(self.later, pace) * self.largest * (1 + 1e-6) * 2.0**survey.fineness + 2
        honest = self.later**2 / 2 * self.largest * 2.0**survey.fineness + 1
        found: Floats = honest + _tail(survey.total_noise, FALSE_ALARM / 2) * scale
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
        told = np.arange(collection.view.n) * self.later * width
        each = asked / second * (own + told)[collection.heard]
        return rounded_up(float(np.sort(each)[::-1][:liars].sum()))


def _tail(noise: SmoothNoise, chance: Fraction) -> float:
    """How many bounds away from 0 the noise is at most, but for this chance."""
    return (noise.interval(UNIT, 1 - chance)[1] + 1) / UNIT


class HubLies:
    """What hubs may report, and how far liars among them move the estimate.  [LIARS.5-6]"""

    def __init__(self, collection: HubCollection) -> None:
        self.collection = collection
        plan, nodes = collection.survey.plan, collection.view.n
        self.most: Floats = plan.sizes * (plan.sizes - 1) / 2 * max(nodes - 2, 0)

    def band(self, number: str) -> tuple[Floats, Floats]:
        """Where each reporter's number lies if it is honest."""
        survey = self.collection.survey
        tail = _tail(survey.noises[number], FALSE_ALARM / len(survey.numbers))
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
