"""Events that tell two worlds apart, chosen on runs that are not counted afterwards.

A *score* says how much more likely what was sent is with the edge than without, as far as one half of the choosing
runs can tell; the event is a high (or a low) score, and the other half chooses how high: where its own bound would be
largest, so that chance finds among few runs do not win. Scores are tried on grids of several widths, and as sums over
the columns. A bad choice costs strength and nothing else.  [SHOWN.2]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Columns = npt.NDArray[np.signedinteger[Any]]
"""(runs, columns): what was sent in each run, as integers."""
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

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
