"""Which reports no honest user sends, but for one time in a thousand million: listed, never dropped.  [LIARS.5]"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.reported_rows import reported_rows
from visibility_aware_edge_ldp.compute.exact_products import weighted
from visibility_aware_edge_ldp.compute.functions import log
from visibility_aware_edge_ldp.compute.plain.bitset import row_sums
from visibility_aware_edge_ldp.counts.scores import Floats, score, spread
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import ones_between
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection

Ints = npt.NDArray[np.int64]
# An honest report is flagged with less than this chance.
FALSE_ALARM = Fraction(1, 10**9)
# A row is compared with its peers where there are so many positions on either side.
ENOUGH = 30


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
    heard = [_heard(rows.public, scores.member, part) for part in (own, peers)]
    noise = [weighted(scores.weights(spread) * hidden, part) for part in (own, peers)]
    friends = [weighted(scores.weights(score) * hidden, part) for part in (own, peers)]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((friends[0] + friends[1]) / (heard[0] + heard[1]), 0, 1)
        spreads = [np.maximum(noise[i] / heard[i] + share * (1 - share), 0) / heard[i] for i in (0, 1)]
        largest = _range(collection) / np.minimum(heard[0], heard[1])
        expected, error = friends[1] / heard[1] * heard[0], _reach(spreads[0] + spreads[1], largest) * heard[0]
    enough = (heard[0] >= ENOUGH) & (heard[1] >= ENOUGH) & np.isin(np.arange(scores.n), rows.users)
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


def _heard(public: int, member: npt.NDArray[np.bool_], counts: Ints) -> Ints:
    """How many positions that are not public were reported: those in the first plane of each class."""
    firsts = [i for i in range(public, len(member)) if member[i].sum() == 1]
    found: Ints = counts[firsts].sum(axis=0)
    return found


def degree_band(survey: DegreeSurvey, kind: Visibility) -> tuple[int, int]:
    """Where an honest number of friends of a class lies, noise and all.  [LIARS.5]"""
    reach = survey.mechanism(kind).interval(1 - FALSE_ALARM / len(survey.classes))[1]
    return -reach, survey.nodes - 1 + reach


def flagged_degrees(survey: DegreeSurvey, users: Sequence[int], values: Ints) -> list[Flag]:
    """Of (classes, users) numbers, those that no honest user sends.  [LIARS.5]"""
    found = [
        flags(users, said, degree_band(survey, kind), f"{kind} friends", 1)
        for kind, said in zip(survey.classes, values, strict=True)
    ]
    return sorted(flag for each in found for flag in each)
