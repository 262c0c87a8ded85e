"""What users who stayed away add to the variance of sums over rows.  [TRIANGLE.4, TRIANGLE.8, CYCLE.2]"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.aggregator.row_errors import Counts, Owned
from visibility_aware_edge_ldp.subgraphs.absence import Spread
from visibility_aware_edge_ldp.subgraphs.scores import Floats

# For one numbering, what is held may be off by this part of itself; and so may what is said of its noise.  [TRIANGLE.8]
OTHER_NUMBERS, OTHER_NOISE = 1 / 3, 1 / 5
# How often squared subgraphs of one first vertex and one holder were found what equal numbers at every edge would give.
TRIANGLES_IN_COMMON, CYCLES_IN_COMMON = 2.0, 4.0


class Places(NamedTuple):
    """What a user is needed for as a holder, b, beside what it owns, a, if numbers have nothing to do with friendship.

    Σ2ab and Σb² over Σa², Σb over Σa, and Σba² over Σa³.  [TRIANGLE.4]
    """

    both: float
    held: float
    mean: float
    lean: float

    def hidden(self, share: float) -> Places:
        """The same where only this share of what is held is not public, so that nobody need answer for the rest."""
        return Places(self.both * share, self.held * share**2, self.mean * share, self.lean * share)


TRIANGLE_PLACES = Places(1.0, 2 / 3, 1.0, 1 / 3)
CYCLE_PLACES = Places(1.7516, 1.6405, 5 / 3, 0.635)


class Held(NamedTuple):
    """What those who answered twice are needed for as holders, by the first answers, and the variance of its noise.

    ``shared`` is about the sum, over first vertices and holders, of the squares of what they have in common.
    [TRIANGLE.8]
    """

    each: Floats | None = None
    noise: float = 0.0
    shared: float = 0.0


UNTOLD = Held()


def absence(sums: Floats, rows: Owned, counts: Counts, places: Places, held: Held = UNTOLD) -> Spread:
    """What users who stayed away add, whatever their lists: they are missed as first vertices and as holders.

    [TRIANGLE.4]
    """
    asked, _, second = counts
    if second == asked:
        return Spread(0.0)
    if second < 2:
        return Spread(math.inf)
    once, twice = counts.odds
    inner = max(rows.squares - (float(sums.sum()) ** 2 - rows.noise - rows.first) / second, 0.0) / (second - 1)
    squares = max(rows.squares, 0.0) * counts.expansion
    level = max(squares - (asked - 1) * inner, 0.0)
    both, centre = places.both + places.held, (1 + places.mean) ** 2 - 1
    alone = Spread(asked * once * inner)
    guess = twice * max(both * max(squares - twice * held.shared, 0.0) - centre * level, 0.0)
    # What is known of the owned sums' own spread, carried over to all that a user is needed for.
    factor = 1 + both * twice / once
    _, doubt, third = _by_who_came(sums, rows.scatter, counts)
    on_average = Spread(guess, factor * doubt, factor * (1 + places.lean) * third)
    return alone.plus(on_average if held.each is None else _for_these_numbers(sums, rows, counts, held, on_average))


def _for_these_numbers(sums: Floats, rows: Owned, counts: Counts, held: Held, on_average: Spread) -> Spread:
    """What is missed as holders: as the first answers tell for these numbers, as far as they do.  [TRIANGLE.8]"""
    (asked, _, second), (_, twice) = counts, counts.odds
    each = np.zeros(second) if held.each is None else held.each
    together = np.cov(sums, each)
    told = twice * (asked * float(2 * together[0, 1] + together[1, 1] - held.noise / second) - twice * held.shared)
    by_sums, by_each = (rows.noise + rows.first) * float((each**2).sum()), held.noise * max(rows.squares, 0.0)
    error = twice * counts.expansion * math.sqrt(4 * (by_sums + by_each) / second + (OTHER_NOISE * held.noise) ** 2)
    off = max(on_average.doubt, OTHER_NUMBERS * (told - error))
    if not off:
        return on_average
    weight = off**2 / (off**2 + error**2)
    here = _by_who_came(sums + each, rows.scatter, counts)._replace(variance=told)
    variance, doubt, third = (weight * one + (1 - weight) * other for one, other in zip(here, on_average, strict=True))
    return Spread(variance, math.hypot(doubt, math.sqrt(weight) * error), third)


def _by_who_came(each: Floats, scatter: float, counts: Counts) -> Spread:
    """How sure the spread of these numbers is, of which others might have come, and how it leans.  [ABSENT.2]"""
    (asked, _, second), (once, _) = counts, counts.odds
    centred = each - each.mean()
    apart = max(float((centred**2).var()) - scatter / second, 0.0)
    doubt = asked * once * math.sqrt(apart * (1 - second / asked) / second)
    return Spread(0.0, doubt, asked * once**2 * float((centred**3).mean()))
