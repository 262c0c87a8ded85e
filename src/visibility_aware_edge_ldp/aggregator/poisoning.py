"""How far liars can move an estimate from rows: a bound that is published with it.  [LIARS.1-4]

A liar is a user who answered, and whose row may be anything that the collection takes. Bounds hold for any friend
lists, any coins and any choice of the liars, given the answers of the others.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import (
    Leaves,
    ReportedRows,
    matrix_of,
    reported_rows,
)
from visibility_aware_edge_ldp.aggregator.report_screening import degree_bands, rounded_up
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import Words, unpack_rows
from visibility_aware_edge_ldp.compute.reproducible_math import product
from visibility_aware_edge_ldp.counts.degrees.degree_functions import DegreeFunction, NoisyDegrees, binomial, per_answer
from visibility_aware_edge_ldp.counts.mixing import LINEAR
from visibility_aware_edge_ldp.counts.scores import Floats, score
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.statistic import star_size, tail_start
from visibility_aware_edge_ldp.public.transcript import ones_between
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
    from visibility_aware_edge_ldp.aggregator.groups import GroupCollection
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection

Ints = npt.NDArray[np.int64]
# Beyond so many users the bound on triangles does without the answers: it needs a few n × n arrays.
FEW_USERS, MOST_USERS = 1_000, 5000


def poisoning_bound(collection: PositionCollection, statistic: str, liars: int) -> float:
    """By how much so many liars can move this estimate at most; infinite where no bound is known.  [LIARS.1-4]"""
    return RowPoisoning.of(collection).bound(statistic, liars)


@dataclass(frozen=True, eq=False)
class RowPoisoning:
    """What a row may say: between ``low`` and ``high`` at every position that is not public.  [LIARS.1]

    Parameters
    ----------
    sizes
        How many positions that are not public each user holds.
    classes
        For each class: its positions, the middle of its scores, and half of their range.
    """

    rows: ReportedRows = field(repr=False)
    sizes: Ints = field(repr=False)
    low: float
    high: float
    classes: tuple[tuple[Words, float, float], ...] = field(repr=False)

    @staticmethod
    def of(collection: PositionCollection) -> RowPoisoning:
        view, n = collection.view, collection.view.n
        kinds = [kind for kind in NON_PUBLIC if view.class_sizes[kind]]
        ranges = [[float(score) for score in collection.survey.channel(kind).scores] for kind in kinds]
        users = np.arange(n + 1, dtype=np.int64)
        starts = users * (2 * n - users - 1) // 2
        sizes = np.zeros(n, np.int64) + sum(ones_between(view.class_bits[kind], starts) for kind in kinds)
        planes = [backend.plane_of(view.class_bits[kind], n) for kind in kinds]
        classes = tuple(
            (plane, (max(each) + min(each)) / 2, (max(each) - min(each)) / 2)
            for plane, each in zip(planes, ranges, strict=True)
        )
        low, high = (pick((0.0, *(value for each in ranges for value in each))) for pick in (min, max))
        return RowPoisoning(reported_rows(collection), sizes, low, high, classes)

    @property
    def width(self) -> float:
        """How much a lie changes one score, at most."""
        return self.high - self.low

    def bound(self, statistic: str, liars: int) -> float:
        """By how much so many liars can move this statistic's estimate.  [LIARS.1-4]"""
        if liars < 0:
            raise BadInput(f"A number of liars is not negative; got {liars}.")
        k, among = star_size(statistic), min(liars, self.rows.users.size)
        if not among:
            return 0.0
        if k is not None:
            return rounded_up(self._stars(k, among))
        each = {"edges": self._edges, "triangles": self._triangles}.get(statistic)
        return rounded_up(each(among)) if each else math.inf

    def _edges(self, liars: int) -> float:
        """[LIARS.1]"""
        weight, later = float(self.rows.weights(1)[1]), np.zeros(self.rows.scores.n)
        for plane, _, half in self.classes:
            later += 2 * half * _later_bits(plane, self.rows.scores.n)
        return self._worst(weight * later, liars)

    def _worst(self, each: Floats, liars: int) -> float:
        """The sum of the largest, over those who answered."""
        return float(np.sort(each[self.rows.users])[::-1][:liars].sum())

    def _stars(self, k: int, liars: int) -> float:
        """[LIARS.2]"""
        weights, most = self.rows.weights(k), max(self.high, -self.low)
        found = Leaves.of(self.rows, k)
        public, later, earlier = (np.abs(part) for part in (found.public, found.later, found.earlier))
        grown = np.stack([_grown(earlier, _growth(most, liars, k), order) for order in range(k + 1)])
        at_liar = np.stack([most**j * _binomials(self.sizes, j) for j in range(k + 1)])
        near, far, own = (np.zeros(self.rows.scores.n) for _ in range(3))
        for i, j in itertools.product(range(k), repeat=2):
            m = k - 1 - i - j
            if m >= 0:
                weight = float(weights[m + 1 + (j > 0)])
                near += weight * public[i] * later[j] * grown[m]
                far += weight * public[i] * at_liar[j] * grown[m]
                own += float(weights[m + 1]) * public[i] * grown[m] * self._extremes(j + 1)
        beyond = np.cumsum(near[::-1])[::-1] - near
        others = float(np.sort(far)[::-1][: liars - 1].sum())
        return self._worst(own + self.width * beyond, liars) + liars * self.width * others

    def _extremes(self, order: int) -> Floats:
        """By how much the symmetric polynomial of each user's own row can differ between two rows, at most."""
        most = max(self.high, -self.low)
        return (most - self.low) * most ** (order - 1) * _binomials(self.sizes, order)

    def _triangles(self, liars: int) -> float:
        """[LIARS.3]"""
        n, two = self.rows.scores.n, float(self.rows.weights(2)[2])
        low, high = self.low, max(self.high, 1.0)
        squares = max(high**2, low**2) - low * high
        pairs = liars * (liars - 1) / 2 * max(n - 2, 0) * two * squares * self.width
        if n > MOST_USERS:
            heaviest = max(two, float(self.rows.weights(1)[1]))
            triples = np.arange(n) * self.sizes + np.arange(n)[::-1] * np.arange(-1, n - 1)[::-1] / 2
            return self._worst(heaviest * (high * squares + high**2 * self.width) * triples, liars)
        return self._worst(self._triangle_ranges(), liars) + pairs

    def _triangle_ranges(self) -> Floats:
        """Over how wide a range each user's row can move the triangles, at most, while all others stay."""
        rows, n = self.rows, self.rows.scores.n
        _, one, two = rows.weights(2).tolist()
        public, hidden = rows.is_public, rows.scores.weights(score) - rows.is_public
        sides = matrix_of(rows.scores.planes, one * public + two * hidden, n)
        known = matrix_of(rows.later, public, n)
        answers = matrix_of(rows.later, public + hidden, n)
        firsts = (one - two) * product(known.T, known) + two * product(answers.T, answers)
        reported = np.zeros(n)
        reported[rows.users] = 1
        middles, halves = known, np.zeros((n, n))
        for plane, middle, half in self.classes:
            held = np.triu(unpack_rows(plane, n), 1) * reported[:, None]
            middles, halves = middles + middle * held, halves + half * held
        bent = spectral_width(sides) / 2 * (halves**2).sum(axis=1)
        ranges: Floats = 2 * (halves * np.abs(firsts + product(middles, sides))).sum(axis=1) + bent
        return ranges


def spectral_width(matrix: Floats) -> float:
    """How far the largest eigenvalue of a symmetric matrix lies from the smallest; of a large one, at most.

    The sum of all eigenvalues' 32nd powers is at least the largest one's, and takes four products.  [LIARS.3]
    """
    if len(matrix) <= FEW_USERS:
        ends = np.linalg.eigvalsh(matrix) if len(matrix) else np.zeros(1)
        return _less_precise(float(ends[-1] - ends[0]))
    power, logarithm = matrix, 0.0
    for doubled in range(4):
        largest = float(np.abs(power).max())
        if not largest:
            return 0.0
        power, logarithm = power / largest, logarithm + math.log(largest) / 2**doubled
        power = product(power, power)
    # The power is now 16, and the squares of its entries sum to the trace of the 32nd.
    logarithm += math.log(float((power**2).sum())) / 32
    return 2 * math.exp(logarithm) * (1 + 1e-9)


def _less_precise(width: float) -> float:
    """A width rounded up to 32 bits, with a little added: its last digits depend on the machine."""
    part, power = math.frexp(width * (1 + 1e-9))
    return math.ldexp(math.ceil(math.ldexp(part, 32)), power - 32)


def _later_bits(plane: Words, n: int) -> Ints:
    found: Ints = np.triu(unpack_rows(plane, n), 1).sum(axis=1)
    return found


def _growth(most: float, liars: int, order: int) -> Floats:
    """The first coefficients of ((1 + Xt)/(1 − Xt))^(liars − 1)/(1 − Xt).  [LIARS.2]"""
    up = np.array([math.comb(liars - 1, q) * most**q for q in range(order + 1)])
    down = np.array([math.comb(liars + q - 1, q) * most**q for q in range(order + 1)])
    return np.convolve(up, down)[: order + 1]


def _grown(symmetric: Floats, growth: Floats, order: int) -> Floats:
    found: Floats = sum((growth[q] * symmetric[order - q] for q in range(order + 1)), np.zeros(symmetric.shape[1]))
    return found


def _binomials(tops: Ints, order: int) -> Floats:
    """C(top, order) for whole tops from 0 on."""
    found = np.ones(tops.shape)
    for i in range(order):
        found *= np.maximum(tops - i, 0) / (i + 1)
    return found


def degree_bound(collection: DegreeCollection, statistic: str, liars: int) -> float:
    """By how much so many unflagged liars move a sum over degrees, at most; infinite for what is not one.  [LIARS.6]"""
    function = _summed(statistic)
    if function is None:
        return math.inf
    degrees, survey = collection.noisy_degrees(), collection.survey
    among = min(liars, degrees.noisy.size)
    bands = degree_bands(survey)
    lowest, highest = sum(low for low, _ in bands), sum(high for _, high in bands) + int(degrees.public.max(initial=0))
    places = np.arange(lowest, highest + 1, dtype=np.int64)
    noises = {(float(first), float(second)) for first, second in zip(degrees.first, degrees.second, strict=True)}
    width = max((_range(survey.nodes, places, noise, function) for noise in sorted(noises)), default=0.0)
    return rounded_up(among * degrees.most_expansion * width)


def group_bound(collection: GroupCollection, statistic: str, liars: int) -> float:
    """By how much so many unflagged liars move any entry of a statistic of groups; infinite for ratios.  [LIARS.6]"""
    if statistic not in LINEAR:
        return math.inf
    known, survey = collection.known, collection.survey
    widths = np.array([high - low for low, high in degree_bands(survey)], np.float64)
    widths = widths.reshape(-1, survey.groups.count).sum(axis=0)
    most = 0.0
    for gradient in LINEAR[statistic](survey.groups.sizes):
        each = known.expansion * (np.abs(known.factors(gradient)) * widths).sum(axis=1)
        most = max(most, float(np.sort(np.repeat(each, known.answers))[::-1][:liars].sum()))
    return rounded_up(most)


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
