"""A bound from below on the loss, from the bytes that would leave clients in two neighbouring worlds.  [SHOWN.1-2]

It rests on an event that tells the worlds apart, chosen on runs that are not counted afterwards. A *score* says how
much more likely what was sent is with the edge than without, as far as one half of the choosing runs can tell; the
event is a high (or a low) score, and the other half chooses how high: where its own bound would be largest, so that
chance finds among few runs do not win. Scores are tried on grids of several widths, and as sums over the columns. A
bad choice costs strength and nothing else.  [SHOWN.2]

What counts of an event show are exact limits on its probability (Clopper and Pearson 1934).  [SHOWN.1]
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist

import numpy as np

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss
from visibility_aware_edge_ldp.audit.statistical import power
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import Columns, Floats, Ints, Shipment
from visibility_aware_edge_ldp.errors import BadInput

ALPHA = 0.001
"""The chance that an audit rings although every claim holds, for a whole finding."""
# So many runs, and at most a quarter of them, choose the event and are not counted.
MOST_TO_CHOOSE = 200_000
# Fewer runs than these show nothing.
FEWEST = 400
# Logarithms of factorials err by a few parts in 10^16 of their size, 2·10^9 at this many trials.
MOST_TRIALS = 10**8
# More than all rounding can move a tail: the limits are those of an alpha that is smaller by this.
_SAFER = 1 - 1e-5
_CLOSE, _SMALLEST = 1e-13, 1e-300
# The most parts that a column is cut into, coarse to fine: where it stands in a grid, and where it stands alone.
_WIDTHS = (2, 4, 8, 16, 64)
_WIDTHS_ALONE = (2, 8, 128)
_MOST_CELLS = 1 << 16
# Runs are scored so many at a time, which keeps ten million of them small.
_AT_ONCE = 1 << 20
# Added to both counts of a cell, so that a cell that was hardly met says little.
_SHY = 2.0
# Where long columns are cut: quantiles in even steps, and halvings towards both ends for events in the tails.
_TAILS = 0.5 ** np.arange(5, 18)
_QUANTILES = np.unique(np.concatenate([np.linspace(0.0, 1.0, 33)[1:-1], _TAILS, 1 - _TAILS]))


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells over some columns, each cut after its values, and the score of each cell."""

    columns: tuple[int, ...]
    cuts: tuple[Ints, ...] = field(repr=False)
    scores: Floats = field(repr=False)

    def score(self, sent: Columns) -> Floats:
        """The score of each run's cell."""
        return self.scores[_cells(sent, self.columns, self.cuts)]


@dataclass(frozen=True, eq=False)
class Event:
    """A total score of at least ``least``; of what was sent without the edge if ``reverse``."""

    grids: tuple[Grid, ...] = field(repr=False)
    reverse: bool = False
    least: float = -np.inf

    def happened(self, sent: Columns) -> int:
        """In how many runs it happened."""
        parts = (sent[start : start + _AT_ONCE] for start in range(0, len(sent), _AT_ONCE))
        return sum(int(np.count_nonzero(self.score(part) >= self.least)) for part in parts)

    def score(self, sent: Columns) -> Floats:
        """How much what was sent speaks for the world in which the event is likely."""
        return -total_score(self.grids, sent) if self.reverse else total_score(self.grids, sent)


def total_score(grids: tuple[Grid, ...], sent: Columns) -> Floats:
    """How much what was sent speaks for the edge; rounded, so that equal sums of unequal order stay equal."""
    total: Floats = np.sum([grid.score(sent) for grid in grids], axis=0)
    return np.round(total, 9)


def choose_event(without: Columns, with_edge: Columns, delta: float, alpha: float) -> Event:
    """The event that promises the largest bound."""
    half = len(without) // 2
    ways = candidates(without[:half], with_edge[:half])
    best, promised = Event(ways[0]), -np.inf
    for grids in ways:
        for event, likely, rare in ((Event(grids), with_edge, without), (Event(grids, True), without, with_edge)):
            least, promise = _least_score(event.score(likely[half:]), event.score(rare[half:]), delta, alpha)
            if promise > promised:
                best, promised = Event(grids, event.reverse, least), promise
    return best


def candidates(without: Columns, with_edge: Columns) -> list[tuple[Grid, ...]]:
    """Ways to score: every column by itself and summed, and all of them in one grid of some width."""
    every = range(without.shape[1])
    found = [tuple(_grid(without, with_edge, (column,), width) for column in every) for width in _WIDTHS_ALONE]
    for width in _WIDTHS if len(every) > 1 else ():
        grid = _grid(without, with_edge, tuple(every), width)
        if grid.scores.size > _MOST_CELLS:
            break
        found.append((grid,))
    return found


def _grid(without: Columns, with_edge: Columns, columns: tuple[int, ...], width: int) -> Grid:
    both = np.concatenate([without, with_edge])
    cuts = tuple(_cuts(both[:, column], width) for column in columns)
    size = int(np.prod([cut.size + 1 for cut in cuts]))
    if size > _MOST_CELLS:
        return Grid(columns, cuts, np.zeros(size))
    rare, likely = (np.bincount(_cells(sent, columns, cuts), minlength=size) + _SHY for sent in (without, with_edge))
    return Grid(columns, cuts, np.log(likely / rare))


def _cells(sent: Columns, columns: tuple[int, ...], cuts: tuple[Ints, ...]) -> Ints:
    """The number of the cell of each run."""
    cells = np.zeros(len(sent), np.int64)
    for column, cut in zip(columns, cuts, strict=True):
        cells = cells * (cut.size + 1) + np.searchsorted(cut, sent[:, column])
    return cells


def _cuts(column: Columns, most: int) -> Ints:
    """After which values to cut one column into at most so many parts."""
    values = np.unique(column).astype(np.int64)
    if values.size <= most:
        return values[:-1]
    wanted = _QUANTILES if most > _QUANTILES.size else np.arange(1, most) / most
    return np.unique(np.sort(column)[(wanted * (column.size - 1)).astype(np.int64)]).astype(np.int64)


def _least_score(likely: Floats, rare: Floats, delta: float, alpha: float) -> tuple[float, float]:
    """From which score on the event promises most, and what it promises."""
    levels = np.unique(np.concatenate([likely, rare]))
    above = [len(scores) - np.searchsorted(np.sort(scores), levels) for scores in (likely, rare)]
    promises = _promise(above[0] / len(likely), above[1] / len(rare), len(likely), delta, alpha)
    best = int(np.argmax(promises))
    return float(levels[best]), float(promises[best])


def _promise(p: Floats, q: Floats, runs: int, delta: float, alpha: float) -> Floats:
    """About the bound that events of these frequencies would give; only the choice rests on it."""
    z = NormalDist().inv_cdf(1 - alpha)
    low = p - z * np.sqrt(p * (1 - p) / runs) - delta
    high = q + z * np.sqrt(q * (1 - q) / runs) - np.log(alpha) / runs
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > 0, np.log(low / high), -np.inf)


@dataclass(frozen=True)
class Bound:
    """What was shown of one pair of worlds: an event and its limits in the two.

    ``low`` is a limit from below in the world where it is likely, ``high`` one from above in the other; ``counts`` say
    how often it happened in either, and in how many runs.
    """

    epsilon: float
    low: float
    high: float
    reverse: bool
    counts: tuple[int, int, int] = (0, 0, 0)


def lower_bound(without: Columns, with_edge: Columns, delta: float = 0.0, alpha: float = ALPHA) -> Bound:
    """No mechanism with a smaller loss sends such bytes, but for a chance of ``alpha``.  [SHOWN.2]

    The first runs choose the event; the others are counted.
    """
    pilot = min(len(without) // 4, MOST_TO_CHOOSE)
    event = choose_event(without[:pilot], with_edge[:pilot], delta, alpha / 2)
    likely, rare = (without, with_edge) if event.reverse else (with_edge, without)
    counts = event.happened(likely[pilot:]), event.happened(rare[pilot:]), len(likely) - pilot
    low, high = lower_limit(counts[0], counts[2], alpha / 2), upper_limit(counts[1], counts[2], alpha / 2)
    shown = math.log((low - delta) / high) if low > delta else 0.0
    return Bound(max(shown, 0.0), low, high, event.reverse, counts)


def audit(
    name: str, shipments: Sequence[Shipment], runs: int, seed: str = "audit", alpha: float = ALPHA, why: str = ""
) -> Finding:
    """The bounds of several pairs of worlds, at one ``alpha`` together; ``why`` there are fewer runs than asked for."""
    bounds = [(each, _ship(each, runs, seed, alpha / len(shipments))) for each in shipments]
    kinds = dict.fromkeys(each.kind for each in shipments)
    each = alpha / len(shipments)
    losses = tuple(_worst([pair for pair in bounds if pair[0].kind is kind], each) for kind in kinds)
    _, told = max(bounds, key=lambda pair: pair[1].epsilon)
    there, gone = ("without", "with") if told.reverse else ("with", "without")
    about = (
        f"{runs:,} runs a side{why and f' ({why})'}; the event that told most has probability ≥ {told.low:.4g} "
        f"{there} the edge and ≤ {told.high:.4g} {gone} it"
    )
    return Finding(name, "statistical", losses, runs, about)


def _ship(shipment: Shipment, runs: int, seed: str, alpha: float) -> Bound:
    without, with_edge = (shipment.send(np.full(runs, edge), f"{seed} {edge}") for edge in (False, True))
    return lower_bound(without, with_edge, float(shipment.claimed.delta), alpha)


def _worst(bounds: Sequence[tuple[Shipment, Bound]], alpha: float) -> Loss:
    """The loss of one class: the pair of worlds that comes closest to its claim, or goes farthest beyond it."""
    shipment, bound = max(bounds, key=lambda pair: pair[1].epsilon / float(pair[0].claimed.epsilon))
    claimed, delta = float(shipment.claimed.epsilon), float(shipment.claimed.delta)
    visible = power.two_worlds(*bound.counts, claimed, delta, alpha)
    return Loss(str(shipment.kind), claimed, bound.epsilon, delta, delta, visible)


@dataclass(frozen=True)
class Pace:
    """One run in so many, and why, where time does not allow all."""

    factor: int = 1
    why: str = ""

    def of(self, runs: int) -> int:
        return max(runs // self.factor, FEWEST)


ALL, BITS, ROWS = Pace(), Pace(8, "an eighth for each of eight bits"), Pace(40, "everybody hears everybody")
HUBS = Pace(1000, "each run is a hub of its own")
EDGES, SMOOTH = (Pace(factor, "the centre draws one number at a time") for factor in (200, 500))


def paced(name: str, shipments: Sequence[Shipment], runs: int, pace: Pace, broken: str = "", of: str = "") -> Audit:
    """An audit of as many runs as its pace allows; of a mutant, what is broken and of which audited name."""
    return Audit(name, "statistical", partial(audit, name, shipments, pace.of(runs), why=pace.why), broken, of)


# ── limits on a probability ──


def lower_limit(successes: int, trials: int, alpha: float) -> float:
    """The probability is at least this, but for a chance of at most ``alpha``.  [SHOWN.1]"""
    if not 0 <= successes <= trials or not 1 <= trials <= MOST_TRIALS:
        raise BadInput(f"Limits need 1 to {MOST_TRIALS:,} trials and successes among them; got {successes}, {trials}.")
    if not 0 < alpha < 1:
        raise BadInput(f"A chance of error is above 0 and below 1; got {alpha}.")
    if successes == 0:
        return 0.0
    # The largest p at which so many successes or more are still that unlikely.
    return _last(lambda p: tail(successes, trials, p) <= alpha * _SAFER)


def upper_limit(successes: int, trials: int, alpha: float) -> float:
    """The probability is at most this, but for a chance of at most ``alpha``.  [SHOWN.1]"""
    return 1 - lower_limit(trials - successes, trials, alpha)


def tail(successes: int, trials: int, chance: float) -> float:
    """The probability of at least so many successes in independent trials of this chance."""
    if successes <= 0:
        return 1.0
    if successes > trials or chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    a, b = float(successes), float(trials - successes + 1)
    # The fraction converges fast on the side of the mean where the tail is small.
    if chance < (a + 1) / (a + b + 2):
        return _front(a, b, chance) * _fraction(a, b, chance) / a
    return 1 - _front(b, a, 1 - chance) * _fraction(b, a, 1 - chance) / b


def _front(a: float, b: float, x: float) -> float:
    """x^a (1 − x)^b / B(a, b)."""
    return math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated from the front."""
    value, c, d, m = 1.0, 1.0, 0.0, 0
    while True:
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) if m else 0.0
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd) if m else (odd,):
            d = 1 / ((1 + term * d) or _SMALLEST)
            c = (1 + term / c) or _SMALLEST
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            return 1 / value
        m += 1


def _last(holds: Callable[[float], bool]) -> float:
    """A number of [0, 1] at which a condition holds, and which is all but the last: it holds from 0 on."""
    low, high = 0.0, 1.0
    while high - low > _CLOSE * high and high > _SMALLEST:
        # Geometric steps while the ends are far apart, so that tiny probabilities have all their digits.
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
