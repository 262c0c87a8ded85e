"""USER rows from one part of the first answers: a user sums over what its part holds.  [PARTS.1-3, PARTS.9]

A public coin gives every user one part of the answers. A user's *list* are its friends after it. Of triangles a user
sums over pairs of friends in one group: a part holds the answers within groups of its own. Whether the list is *short*
is decided by its noisy length, which everybody is told: of a short list only pairs count that are alone in their group,
of a long one all pairs in one group, and the noise is drawn for the one or the other sum. Of 4-cycles a user sums over
those whose opposite vertex is in the part's group: the part holds all answers about users of that group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.reporter import Bits
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.list_groups import Pairs, pairs_in_groups, short_weights
from visibility_aware_edge_ldp.compute.plain.bitset import Words
from visibility_aware_edge_ldp.counts.row_cycles import Rates, largest_path, part_paths, through_users
from visibility_aware_edge_ldp.counts.rows import BLOCK, RowBlock, block_reaches, lists_as_bits
from visibility_aware_edge_ldp.counts.scores import Floats, Matrix, Scores
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.power_noise import cut_sum, smooth_bound
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.surveys.row_parts import CyclePartSurvey, PartSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowReport
from visibility_aware_edge_ldp.public.transcript import holders, response_rate
from visibility_aware_edge_ldp.public.transcript_parts import FirstAnswers, largest_score, sums_of_scores
from visibility_aware_edge_ldp.public.view import PublicView

Ints = npt.NDArray[np.int64]
Members = npt.NDArray[np.int32]
# Double precision errs by far less than these; they keep both conditions of a smooth bound true.  [TRIANGLE.2]
_SLOWER, _LARGER = 1 - 1e-6, 1 + 1e-9
# Up to this, sums are exact to half a unit, after so many roundings.
_EXACT, _ROUNDINGS = 1 << 52, 64


@dataclass(frozen=True, eq=False)
class FirstPart:
    """What a client makes of the part that it downloaded; it takes nothing but the bits from it."""

    survey: PartSurvey
    public: PublicView
    transcript: FirstAnswers

    @property
    def answered(self) -> Bits:
        """Which users answered for their row."""
        return self.transcript.answered

    @cached_property
    def asked(self) -> Bits:
        """Which users were asked: those who hold a non-public position."""
        return holders(self.public)

    @cached_property
    def rate(self) -> float:
        """The chance that a row was answered, given that one's own was."""
        return response_rate(int(self.asked.sum()), int((self.answered & self.asked).sum()))

    @cached_property
    def largest(self) -> float:
        """M: no score is further from 0."""
        return largest_score(self.survey, self.public, self.rate)

    def refuse_what_doubles_cannot_hold(self) -> None:
        """Whether sums are exact follows from public numbers alone, so that refusing tells nothing.  [TRIANGLE.2]"""
        survey, n = self.survey, self.public.n
        heaviest = short_weights(np.array([survey.last_weight + 1]), survey.groups, survey.last_weight)[0]
        most = max(heaviest * min(survey.groups, n), survey.groups * n**2 / 2)
        if not self.largest * most * 2.0**survey.fineness * _ROUNDINGS <= _EXACT:
            raise ProtocolViolation(
                f"Scores of up to {self.largest:.3g} are too large to be summed exactly: the first round's epsilon is "
                "too small, or too few users answered. Ask with a larger epsilon."
            )

    def sums(self, count: int, pairs: Pairs, used: Bits) -> Floats:
        """Of each of so many lists, the scores of those of its pairs that are used, added up."""
        owner, u, v = (each[used] for each in (pairs.owner, pairs.u, pairs.v))
        found = sums_of_scores(self.survey, self.public, self.transcript, owner, u, v, self.rate)
        return np.concatenate([found, np.zeros(count - found.size)])


def list_pairs(survey: PartSurvey, start: int, offsets: Ints, members: Members) -> Pairs:
    """Of consecutive users from ``start`` on, the pairs of later friends that their own parts put into one group."""
    parts = survey.part_of(np.arange(start, start + offsets.size - 1))
    groups = survey.group_of(np.repeat(parts, np.diff(offsets)), members.astype(np.int64))
    return pairs_in_groups(offsets, members, groups)


def part_report(
    survey: PartSurvey,
    first: FirstPart,
    asked: Bits,
    start: int,
    offsets: Ints,
    members: Members,
    random_bytes: RandomBytes,
) -> RowReport:
    """Of each user the noisy length of its list, and its noisy sum by the rule that this decides.  [PARTS.1-3]"""
    lengths = np.diff(offsets)
    noisy = cut_sum(lengths, survey.reach_noise.sample_many(lengths.size, random_bytes))
    short = noisy <= survey.longest_short
    pairs = list_pairs(survey, start, offsets, members)
    # Of a short list only pairs count that are alone in their group; of a long list all pairs.
    scores = first.sums(lengths.size, pairs, ~short[pairs.owner] | (pairs.load == 2))
    unit = 2.0**survey.fineness
    weights = np.where(short, short_weights(lengths, survey.groups, survey.last_weight), survey.groups)
    totals = np.floor(scores * weights * unit + 0.5).astype(np.int64)
    bounds = noise_bounds(survey, first.largest, short, lengths, scores, pairs.loads) * (_LARGER * unit) + 2
    noise = np.zeros(lengths.size, np.int64)
    for kind, law in ((short, survey.pair_noise), (~short, survey.total_noise)):
        noise[kind] = law.sample_each(bounds[kind], random_bytes)
    sent = (np.where(asked, numbers, 0) for numbers in (noisy, cut_sum(totals, noise)))
    return RowReport(survey.identity, first.transcript.digest, start, asked, *sent)


def noise_bounds(survey: PartSurvey, largest: float, short: Bits, lengths: Ints, scores: Floats, loads: Ints) -> Floats:
    """The smooth bound of each list's sum: by its length and its scores if it is short, by its largest group if not.

    [PARTS.2-3]
    """
    s, beta = 1 / survey.groups, float(survey.total_noise.beta) * _SLOWER
    following = short_weights(lengths + 1, survey.groups, survey.last_weight)
    of_short = following * (largest * (1 + s) + s * np.abs(scores))
    of_long = survey.groups * smooth_bound(loads.astype(np.float64) * largest, largest, beta)
    return np.where(short, of_short, of_long)


@dataclass(frozen=True, eq=False)
class CycleParts:
    """What clients make of the parts that they downloaded for 4-cycles; a client needs its own part's answers alone."""

    survey: CyclePartSurvey
    scores: Scores
    rates: Rates
    # M of each part that was read: a public number.
    most: dict[int, float] = field(default_factory=dict)

    @property
    def largest(self) -> float:
        """No M of any part is larger: how many paths there are at most, times the largest one."""
        most = np.bincount(self.survey.group_of_all, minlength=1).max(initial=0) + 1
        weight = max(1.0, self.rates.one**2 / self.rates.two)
        found = self.survey.groups * most * weight * float((self.scores.values**2).max(initial=0.0))
        return max(float(found), 1.0)

    def paths(self, part: int) -> tuple[Matrix, float]:
        """The paths over the users of the part's group, G times each, and M."""
        factor = float(self.survey.groups)
        found = part_paths(self.scores, self.survey.members(part), factor, self.rates)
        self.most[part] = largest_path(found, self.scores, factor) or 1.0
        return found, self.most[part]

    def pulls(self, masks: Words, start: int, offsets: Ints, members: Members) -> tuple[Floats, Floats, Floats]:
        """Of consecutive users: the largest pulls by class, the sums, and M of each one's part.  [PARTS.9]"""
        users = np.arange(start, start + offsets.size - 1)
        pulled, (sums, largest) = np.zeros((len(masks), users.size)), np.zeros((2, users.size))
        mine = self.survey.part_of(users)
        for part in np.unique(mine).tolist():
            paths, of_part = self.paths(part)
            here = np.flatnonzero(mine == part)
            largest[here] = of_part
            for chosen in np.split(here, range(BLOCK, here.size, BLOCK)):
                block = self._block(part, paths, users[chosen], _lists(chosen, offsets, members))
                pulled[:, chosen], sums[chosen] = block_reaches(masks, start, block)
        return pulled, sums, largest

    def _block(self, part: int, paths: Matrix, users: Ints, lists: tuple[Ints, Members]) -> RowBlock:
        bits = lists_as_bits(*lists, self.scores.n)
        pulls = backend.list_sums(paths, *lists)
        # The paths over a user itself are in the part if the user is in its group.
        own = self.survey.group_of_all[users] == part
        factors = np.full(int(own.sum()), float(self.survey.groups))
        pulls[own] -= through_users(self.scores, users[own], factors, bits[own], self.rates)
        return RowBlock(int(users[0]), bits, pulls, users)


def _lists(chosen: Ints, offsets: Ints, members: Members) -> tuple[Ints, Members]:
    """The lists of some users, one after the other."""
    lengths = np.diff(offsets)[chosen]
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(offsets[chosen] - (ends - lengths), lengths)
    return np.concatenate([[0], ends]), members[places]
