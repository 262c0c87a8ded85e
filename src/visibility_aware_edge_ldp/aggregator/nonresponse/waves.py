"""How many edges formed and ended between two waves, from noisy flags; and how a count went through all waves.

[CHANGED.1-3]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.mechanisms.changes import Changes
from visibility_aware_edge_ldp.privacy import Release
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.view import PublicView

FORMED, ENDED, NET = "edges_formed", "edges_ended", "edges_change"
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Changed:
    """One number of a wave: its estimate, and which part of its variance is the noise of flags."""

    estimate: Estimate
    noise: float

    @property
    def sampling(self) -> float:
        """The rest: that not all rows answered."""
        return max(float(self.estimate.variance) - self.noise, 0.0)


class Flags(Protocol):
    """One row's report of a wave: packed flags of what formed and what ended at its positions."""

    @property
    def start(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def formed(self) -> bytes: ...
    @property
    def ended(self) -> bytes: ...


@dataclass(frozen=True, eq=False)
class WaveFlags:
    """What rows said in a wave, for each class: how many positions they have of it, and how many flags of 1.

    ``counts`` holds three lines: positions, formed and ended flags of 1, with one entry for each row that is counted.
    ``rows`` were asked in all, and have ``positions`` that are asked about.
    """

    mechanisms: Mapping[Visibility, Changes]
    counts: Mapping[Visibility, Counts] = field(repr=False)
    rows: int
    positions: int

    @classmethod
    def of(
        cls, view: PublicView, mechanism: Callable[[Visibility], Changes], reports: Sequence[Flags], rows: int
    ) -> WaveFlags:
        """From the reports that are counted: of rows that answered this wave and the one before it."""
        sizes = {kind: view.inside_sizes[kind] for kind in NON_PUBLIC if view.class_sizes[kind]}
        counts = {kind: np.zeros((3, len(reports)), np.int64) for kind in sizes}
        for place, report in enumerate(reports):
            classes = view.classes.range(report.start, report.count)
            flags = [unpack(each, report.count) for each in (report.formed, report.ended)]
            for kind, found in counts.items():
                own = classes == kind
                found[:, place] = own.sum(), *((own & each).sum() for each in flags)
        return cls({kind: mechanism(kind) for kind in sizes}, counts, rows, sum(sizes.values()))

    @property
    def noise(self) -> dict[str, float]:
        """Which part of each variance is the noise of flags; nothing where nothing can be estimated."""
        with suppress(BadStatistic):
            return {name: each.noise for name, each in self.changed().items()}
        return {}

    def bound(self, name: str, liars: int) -> float:
        """By how much so many liars move a number at most: by all their flags."""
        flips = {kind: float(1 / (Fraction(1, 2) - each.quiet.flip)) for kind, each in self.mechanisms.items()}
        reach = np.sort(self._sum({kind: flip * self.counts[kind][0] for kind, flip in flips.items()}))[::-1]
        scale = self.positions / max(1, int(self._sizes.sum()))
        return scale * float(reach[:liars].sum()) * (2 if name == NET else 1)

    def changed(self, releases: tuple[Release, ...] = ()) -> dict[str, Changed]:
        """How many edges formed, ended, and by how many there are more, with standard errors.  [CHANGED.1-2]"""
        size, rows = self._sizes, self.rows
        if not size.sum() or (size.size < 2 and size.size < rows):
            raise BadStatistic("Too few answered this wave and the one before it: nothing can be said of what changed.")
        formed, ended = (self._sum(self._scores(line)) for line in (1, 2))
        noise = sum(
            float(self.mechanisms[k].channel.variance(0)) * int(each[0].sum()) for k, each in self.counts.items()
        )
        raised = [max(math.fsum(each), 0.0) for each in (formed, ended)]
        parts = {
            FORMED: (formed, noise + raised[0]),
            ENDED: (ended, noise + raised[1]),
            NET: (formed - ended, 2 * noise + sum(raised)),
        }
        scale, share = self.positions / int(size.sum()), size.size / rows
        return {name: _scaled(name, each, size, own, scale, share, releases) for name, (each, own) in parts.items()}

    @property
    def _sizes(self) -> Counts:
        found: Counts = np.sum([each[0] for each in self.counts.values()], axis=0) if self.counts else np.zeros(0, int)
        return found

    def _sum(self, parts: Mapping[Visibility, Floats]) -> Floats:
        found: Floats = np.sum(list(parts.values()), axis=0) if parts else np.zeros(0)
        return found

    def _scores(self, line: int) -> dict[Visibility, Floats]:
        """For each class, each row's sum of unbiased scores.  [CHANGES.3]"""
        flips = {kind: float(each.quiet.flip) for kind, each in self.mechanisms.items()}
        return {kind: (each[line] - flips[kind] * each[0]) / (0.5 - flips[kind]) for kind, each in self.counts.items()}


def _scaled(
    name: str, scores: Floats, size: Counts, noise: float, scale: float, share: float, releases: tuple[Release, ...]
) -> Changed:
    """The sum over all rows from those that answered, in proportion to their positions.  [CHANGED.2]"""
    whole = math.fsum(scores)
    own = scale**2 * noise
    if share >= 1:
        return Changed(Estimate(name, whole, own, releases), own)
    apart = scores - whole / int(size.sum()) * size
    between = math.fsum(apart**2) * scores.size / (scores.size - 1)
    variance = scale**2 * ((1 - share) * between + share * noise)
    found = Estimate(name, scale * whole, variance, releases, unbiased=False, freedom=float(scores.size - 1))
    return Changed(found, min(share * own, variance))


def between_waves(name: str, waves: Sequence[Changed]) -> Estimate:
    """What changed over several waves in a row: sums, with errors that may go together where rows stayed away.

    [CHANGED.3]
    """
    if not waves:
        raise BadInput("At least one wave says what changed.")
    value = math.fsum(float(each.estimate.value) for each in waves)
    together = math.fsum(math.sqrt(each.sampling) for each in waves) ** 2
    variance = math.fsum([*(each.noise for each in waves), together])
    return replace(
        waves[0].estimate,
        statistic=name,
        value=value,
        variance=variance,
        unbiased=all(each.estimate.unbiased for each in waves),
        freedom=min(each.estimate.freedom for each in waves),
        conservative=len(waves) > 1 and together > 0,
    )


def level(first: Estimate, waves: Sequence[Changed]) -> Estimate:
    """How many edges there are at the last of some waves: the first one's count and all changes since.  [CHANGED.3]"""
    since = between_waves(first.statistic, waves)
    return replace(
        first,
        value=float(first.value) + float(since.value),
        variance=float(first.variance) + float(since.variance),
        unbiased=first.unbiased and since.unbiased,
        freedom=min(first.freedom, since.freedom),
        conservative=since.conservative,
        skew=0.0,
        limits=None,
    )
