"""What runs of an estimator say against it: bias, coverage, calibration, odd shapes.

Each finding has a chance: that a right estimator looks so wrong. Cells of one estimator may be pooled: their runs are
cut into blocks of three, and what two of them say is measured by the standard error of the third, which is independent.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist

import numpy as np

from support.estimator_runs import Cell, Run
from visibility_aware_edge_ldp.public.statistic import statistic

LEAST, MOST = 0.93, 0.97
"""Between these lies the coverage of a 95 % interval that is called right."""
TIGHT, LOOSE = 0.9, 1.1
"""Between these lies the deviation of estimates, over the standard error that they state."""
SLIGHT = 0.05
"""A mean error below this share of a standard error, or of one that is counted, is not looked at: it is not felt."""
Block = tuple[Run, Run, Run]
Wanted = Callable[[Cell, Run], bool]
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: what kind, in words, and the chance that a right estimator would look so."""

    kind: str
    words: str
    chance: float

    def __str__(self) -> str:
        return self.words if not self.chance else f"{self.words} (by chance {self.chance:.1g})"


def findings(cells: Sequence[Cell], chance: float) -> list[Finding]:
    """All that is wrong with one estimator in these cells, and would come by chance more rarely than this."""
    found = [*odd_shapes(cells), bias(cells), *coverage(cells), *calibration(cells)] if any_runs(cells) else []
    return [each for each in found if each.chance < chance]


def groups(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of each estimator: all, those of each graph, policy and share away, and those with somebody away."""
    found = defaultdict[str, list[Cell]](list)
    for cell in cells:
        at = cell.setting
        names = ["all", at.graph, at.policy, f"{at.away:.0%} away"]
        for group in [*names, *(f"{name}, some away" for name in names[:3] if at.away)]:
            found[f"{cell.estimator}, {group}"].append(cell)
    return found


def any_runs(cells: Sequence[Cell]) -> list[Run]:
    """The runs of all cells."""
    return list(chain.from_iterable(cell.runs for cell in cells))


def odd_shapes(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Values outside their own interval or no numbers, infinite errors, refusals without a reason: one is too many."""
    runs, refusals = any_runs(cells), list(chain.from_iterable(cell.refusals for cell in cells))
    odd = {
        "values outside their own interval": sum(not run.is_inside for run in runs),
        "values that are no numbers": sum(not math.isfinite(run.error) for run in runs),
        "standard errors that are infinite": sum(math.isinf(run.variance) for run in runs),
        "refusals without a reason": sum(len(each.split()) < 4 for each in refusals),
    }
    for words, count in odd.items():
        yield Finding("odd", f"{count} of {len(runs) + len(refusals)} runs have {words}", 0.0 if count else 1.0)


def bias(cells: Sequence[Cell]) -> Finding:
    """How far the mean error is from 0, where estimates say that it is 0."""
    z = z_of_bias(cells)
    return Finding("bias", f"biased by {z:+.1f} z", 2 * _NORMAL.cdf(-abs(z)))


def z_of_bias(cells: Sequence[Cell]) -> float:
    """The mean error of estimates that say that they are unbiased, in its own standard errors.

    0 where it is far below the stated ones, or below one of what is counted: with rare and large errors a mean of few
    runs is not normal.
    """
    blocks = list(_blocks([_with_spread(cell) for cell in cells], lambda cell, run: run.unbiased))
    unit = float(all(_is_whole(cell) for cell in cells))
    errors = [(one.error + two.error) / 2 / scale for (one, two, _), scale in blocks]
    stated = [max(math.sqrt((one.variance + two.variance) / 2), unit) / scale for (one, two, _), scale in blocks]
    return z_of_mean(errors) if abs(math.fsum(errors)) > SLIGHT * math.fsum(stated) else 0.0


def _with_spread(cell: Cell) -> Cell:
    """The same; where a run states no standard error all take the cell's own, for to leave it out would choose errors.

    A count whose answers all agree has none, and is wrong by as much as one or two, in the other direction.
    """
    if all(0 < run.variance < math.inf for run in cell.runs):
        return cell
    own = math.fsum(run.error**2 for run in cell.runs) / len(cell.runs)
    return replace(cell, runs=[run._replace(variance=own) for run in cell.runs])


def coverage(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Whether intervals hold the truth too rarely; or too often, where they neither say so nor are exact."""
    runs = any_runs(cells)
    plain = [run for cell in cells for run in cell.runs if not run.conservative and not _is_nearly_sure(cell, run)]
    yield Finding("coverage", f"{share(runs):.1%} of {len(runs)} held it", at_most(_held(runs), len(runs), LEAST))
    missed = at_most(len(plain) - _held(plain), len(plain), 1 - MOST)
    yield Finding("coverage", f"{share(plain):.1%} of {len(plain)} held it and did not say so", missed)


def share(runs: Sequence[Run]) -> float:
    """The share of intervals that hold the truth."""
    return math.fsum(run.held for run in runs) / max(len(runs), 1)


def _held(runs: Sequence[Run]) -> float:
    return math.fsum(run.held for run in runs)


def calibration(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Whether deviations are larger than the standard errors, or smaller.

    Of arrays, the errors themselves, because their entries may be others in every run.
    """
    words = f"deviations are {ratio(cells):.2f} standard errors"
    large = [each - LOOSE**2 * stated for each, stated in _squares(cells)]
    small = [TIGHT**2 * stated - each for each, stated in _squares(cells, lambda *run: not _is_nearly_sure(*run))]
    for each in (large, small):
        yield Finding("calibration", words, _NORMAL.cdf(-z_of_mean(each)))


def _is_nearly_sure(cell: Cell, run: Run) -> bool:
    """Whether a whole number is told nearly always, and else missed by many standard errors: runs do not show these."""
    known = statistic(cell.statistic)
    return run.variance < 0.25 and (known.per_person or (_is_whole(cell) and abs(run.error) < 0.5))


def _is_whole(cell: Cell) -> bool:
    """Whether the truth is a whole number, and not a share."""
    return statistic(cell.statistic).bounds[1] > 1


def ratio(cells: Sequence[Cell]) -> float:
    """The deviation of estimates over their standard errors, root mean squares; nan where nothing is known."""
    square, stated = (math.fsum(each) for each in zip((0.0, 0.0), *_squares(cells), strict=True))
    return math.sqrt(square / stated) if stated else math.nan


def _squares(cells: Sequence[Cell], wanted: Wanted = lambda cell, run: True) -> Iterator[tuple[float, float]]:
    """For each block the squared deviation, and the variance that was stated, both over the third run's variance."""
    arrays = any(statistic(cell.statistic).per_person for cell in cells)
    for (one, two, _), scale in _blocks(cells, wanted):
        square = (one.square + two.square) / 2 if arrays else (one.error - two.error) ** 2 / 2
        yield square / scale**2, (one.variance + two.variance) / 2 / scale**2


def _blocks(cells: Sequence[Cell], wanted: Wanted) -> Iterator[tuple[Block, float]]:
    """Blocks of three runs of a cell, each three times with another last one, and what measures it: 1 in one cell."""
    for cell in cells:
        runs = [run for run in cell.runs if wanted(cell, run) and 0 < run.variance < math.inf]
        for first in range(0, len(runs) - 2, 3):
            one, two, three = runs[first : first + 3]
            for block in ((one, two, three), (two, three, one), (three, one, two)):
                yield block, math.sqrt(block[2].variance) if len(cells) > 1 else 1.0


def z_of_mean(values: Sequence[float]) -> float:
    """How far the mean of threes is from 0, as a normal deviate: Student's t by Wallace's (1959) approximation."""
    array = np.asarray(values, np.float64).reshape(-1, 3).mean(axis=1)
    freedom = array.size - 1
    if freedom < 1 or not (spread := float(array.std(ddof=1))):
        return 0.0
    t = float(array.mean()) / (spread / math.sqrt(array.size))
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
    return math.copysign(z, t)


def at_most(count: float, of: int, chance: float) -> float:
    """The chance that at most so many of these happen, each with this chance; sums of shares vary less."""
    whole = math.ceil(count - 1e-9)
    if whole >= of:
        return 1.0
    logs = (
        math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1)
        + k * math.log(chance) + (of - k) * math.log1p(-chance)
        for k in range(whole + 1)
    )  # fmt: skip
    return min(1.0, math.fsum(map(math.exp, logs)))
