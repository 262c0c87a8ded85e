"""USER triangles: a user answers for its row, reads all first answers, and sums over its list.  [TRIANGLE.1-2]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client import row_clipping, row_parts
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Bits, Client, Purse, who_takes_part
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.list_groups import Pairs
from visibility_aware_edge_ldp.compute.plain.bitset import Words, pack_rows, word_count
from visibility_aware_edge_ldp.counts.row_cycles import Rates, cycle_pulls, largest_path, path_scores
from visibility_aware_edge_ldp.counts.rows import (
    Pulls,
    block_reaches,
    later,
    over_rows,
    triangle_pulls,
    triangle_reaches,
)
from visibility_aware_edge_ldp.counts.scores import Floats, Scores
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.power_noise import cut_sum, smooth_bound
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.row_parts import CyclePartSurvey, PartSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, RowSurvey
from visibility_aware_edge_ldp.public.transcript import (
    Transcript,
    at_rate,
    holders,
    ones_between,
    pair_rate,
    response_rate,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Integers = npt.NDArray[np.int64]
# Double precision errs by far less than these; they keep both conditions of a smooth bound true.  [TRIANGLE.2]
_SLOWER, _LARGER = 1 - 1e-6, 1 + 1e-9
# Up to this, sums are exact to half a unit.  [TRIANGLE.2]
_EXACT = 1 << 52


@dataclass(frozen=True, eq=False)
class FirstRound:
    """What a client makes of the broadcast first answers; it takes nothing but the bits from it."""

    survey: RowSurvey
    public: PublicView
    transcript: Transcript

    def __post_init__(self) -> None:
        if self.transcript.survey != self.survey.first.identity:
            raise ProtocolViolation("The transcript is of another survey's first round.")

    def prepared(self) -> FirstRound:
        """The same, with all that users share worked out, so that several may begin at once."""
        backend.kernels("rows")
        by_part = "parts" if isinstance(self.survey, CyclePartSurvey) else "pulls"
        for shared in ("asked", "answered", "largest", "panels" if self.survey.statistic == "triangles" else by_part):
            getattr(self, shared)
        return self

    @cached_property
    def answered(self) -> Bits:
        """Which users answered for their row; refuses a transcript that no honest round could have."""
        return self.transcript.rows_answered(self.public)

    @cached_property
    def scores(self) -> Scores:
        """The unbiased score of every position; 0 where nobody answered."""
        return at_rate(self._reported, self.public, response_rate(*self._counts))

    @property
    def panels(self) -> Words:
        """The planes of the scores, cut into panels."""
        return self._reported.panels

    @property
    def _reported(self) -> Scores:
        return self.transcript.scores(self.public, self.survey.first)

    @cached_property
    def pulls(self) -> Pulls:
        """How much each possible friend would add to a user's sum."""
        return triangle_pulls if self.survey.statistic == "triangles" else cycle_pulls(self._paths, self._rates)

    @cached_property
    def parts(self) -> row_parts.CycleParts:
        """What there is of 4-cycles in parts, of those that this client has."""
        return row_parts.CycleParts(cast(Any, self.survey), self.scores, self._rates)

    @cached_property
    def largest(self) -> float:
        """M: one friend more or less moves no pull by more than this."""
        if self.survey.statistic == "triangles":
            largest = float(np.abs(self.scores.values).max(initial=0.0))
        elif isinstance(self.survey, CyclePartSurvey):
            largest = self.parts.largest
        else:
            largest = largest_path(self._paths, self.scores)
        return largest or 1.0  # without any score nothing moves at all

    def refuse_what_doubles_cannot_hold(self) -> None:
        """Whether sums are exact follows from public numbers alone, so that refusing tells nothing.  [TRIANGLE.2]"""
        n, unit = self.public.n, 2.0**self.survey.fineness
        # Triangles are summed as a few whole counts, 4-cycles one score after another: so many roundings each.
        roundings = 64 if self.survey.statistic == "triangles" else 2 * n
        if not self.largest * n**2 * unit * roundings <= _EXACT:
            raise ProtocolViolation(
                f"Scores of up to {self.largest:.3g} are too large to be summed exactly: the first round's epsilon is "
                "too small, or too few users answered. Ask with a larger epsilon."
            )

    @cached_property
    def _paths(self) -> npt.NDArray[np.float32]:
        return path_scores(self.scores, self._rates)

    @property
    def _rates(self) -> Rates:
        return Rates(response_rate(*self._counts), pair_rate(*self._counts), int(len(self.public.edges) > 0))

    @cached_property
    def _counts(self) -> tuple[int, int]:
        """How many users were asked, and how many of them answered."""
        return int(self.asked.sum()), int(self.answered.sum())

    @cached_property
    def asked(self) -> Bits:
        """Which users were asked: those who hold a non-public position."""
        return holders(self.public)


First = FirstRound | row_parts.FirstPart


class TwoRoundClient(Client[RowSurvey, FriendLists, Any]):
    """Users with consecutive numbers: their lists, their purse and what they have answered.  [TRIANGLE.1-2]

    Round 1 is every bit of a user's row by randomized response. Surveys that share a first round share its answers,
    which are paid for once. Round 2 is asked for by :meth:`total`, which takes the broadcast first answers.
    """

    def __init__(self, view: FriendLists, public: PublicView, purse: Purse) -> None:
        super().__init__(view, public, purse)
        self._offsets, self._members = later(self._view.start, self._view.offsets, self._view.neighbours)
        self._took_part: dict[str, Bits] = {}
        self._gone: set[tuple[str, int]] = set()
        self._first: First | None = None
        self._row_bits  # noqa: B018 - now, since it takes longer for a longer list, and an answer must not

    @property
    def _row_bits(self) -> PositionClient:
        # Kept by hand: Python 3.11 lets only one thread at a time work out a property that it caches.
        kept = vars(self)
        if "_row_bits" not in kept:
            kept["_row_bits"] = PositionClient(self._bits(), self._public, self._purse)
            kept["_row_bits"]._forgotten |= self._gone
        return cast(PositionClient, kept["_row_bits"])

    def forget_rows(self) -> None:
        """Let go of the rows' bits and of the first answers; other surveys of the same first round are refused too."""
        self.forget(1)
        self._row_bits.forget(1)
        self._gone = vars(self).pop("_row_bits")._forgotten

    def recall(self, survey: RowSurvey, report: PositionReport) -> None:
        """Round 1 was answered with this report before this program was started, by the same users."""
        super().verify(survey, 1)
        starts = np.concatenate([[0], np.cumsum(self._row_lengths)])
        own = survey.first.identity, 1, row_start(self._public.n, self._view.start), int(starts[-1])
        if (report.survey, report.round, report.start, report.count) != own:
            raise ProtocolViolation("The first report is of another survey or of other users.")
        # Other surveys with the same first round share this answer.
        kept = (self._answers, survey.identity), (self._row_bits._answers, survey.first.identity)
        if any(answers.setdefault((identity, 1), report) != report for answers, identity in kept):
            raise ProtocolViolation("Round 1 was answered with another report; there is one answer a round.")
        self._took_part[survey.identity] = ones_between(np.frombuffer(report.answered, np.uint8), starts) > 0

    def total(
        self, survey: RowSurvey, first: First, random_bytes: RandomBytes, present: Bits | None = None
    ) -> RowReport:
        """Round 2: the row's noisy reach and noisy sum; asked again, the same report again."""
        sent = self._answers.get((survey.identity, 2))
        if isinstance(sent, RowReport) and sent.transcript != first.transcript.digest:
            raise ProtocolViolation("Round 2 was answered on another transcript; there is one answer a round.")
        self._first = first
        try:
            return cast(RowReport, self.answer(survey, 2, random_bytes, present))
        finally:
            self._first = None

    def verify(self, survey: RowSurvey, round_number: int) -> RowSurvey:
        """Refuse rounds out of order too, and a first round that was not read whole."""
        super().verify(survey, round_number)
        if round_number == 2:
            self._verify_first(survey, self._first)
        return survey

    def _verify_first(self, survey: RowSurvey, first: First | None) -> None:
        if survey.identity not in self._took_part:
            raise ProtocolViolation("Round 2 was asked for before round 1 was answered.")
        if first is None or first.survey != survey or first.public is not self._public:
            raise ProtocolViolation("The first round was read with another survey or another public view.")
        if not first.answered[self._users][self._asked_again(survey, first)].all():
            raise ProtocolViolation("The transcript lacks this user's own first answers; it was not read whole.")
        first.refuse_what_doubles_cannot_hold()
        if survey.clip == "double":
            row_clipping.refuse_missing_rows(cast(FirstRound, first))

    def _asked_again(self, survey: RowSurvey, first: First) -> Bits:
        """Who took part in round 1, of those who hold a non-public position."""
        again: Bits = self._took_part[survey.identity] & first.asked[self._users]
        return again

    def prices(self, survey: RowSurvey, round_number: int) -> Mapping[Visibility, Guarantee[Any]]:
        """What the purse pays for the sum; the bits of the row pay for themselves."""
        return {} if round_number == 1 else survey.payment(2)

    def randomize(
        self, survey: RowSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> PositionReport | RowReport:
        """Round 1: the bits of each row. Round 2: the row's reach and sum, each with noise.  [TRIANGLE.1-2]"""
        if round_number == 1:
            here = who_takes_part(present, self._view.count)
            by_position = None if present is None else np.repeat(here, self._row_lengths)
            report = self._row_bits.answer(survey.first, 1, random_bytes, by_position)
            self._took_part[survey.identity] = here
            return report
        first, lists = cast(FirstRound, self._first), (self._view.start, self._offsets, self._members)
        asked = self._asked_again(survey, first) & who_takes_part(present, self._view.count)
        if isinstance(survey, PartSurvey):
            return row_parts.part_report(survey, cast(Any, first), asked, *lists, random_bytes)
        if survey.clip == "double":
            return row_clipping.clipped_report(cast(Any, survey), first, asked, *lists, random_bytes)
        if isinstance(survey, CyclePartSurvey):
            weights, masks = _weights(self._public, self._view.start, self._view.count, float(1 / survey.ratio))
            pulls, sums, largest = first.parts.pulls(masks, *lists)
            reaches = (pulls * weights[:, None]).max(axis=0, initial=0.0)
            return _noised(survey, first, lists[0], asked, reaches, sums, random_bytes, largest)
        return _noised(survey, first, lists[0], asked, *self._measure(survey, first), random_bytes)

    def pairs(self, survey: PartSurvey) -> Pairs:
        """Which first answers these users will look up in their parts: private, for they show who their friends are."""
        return row_parts.list_pairs(survey, self._view.start, self._offsets, self._members)

    def _measure(self, survey: RowSurvey, first: FirstRound) -> tuple[Floats, Floats]:
        """Of each user the reach, and the sum."""
        weights, masks = _weights(self._public, self._view.start, self._view.count, float(1 / survey.ratio))
        lists = self._view.start, self._offsets, self._members
        if survey.statistic == "triangles":
            largest, sums = triangle_reaches(first.scores, first.panels, masks, *lists)
        else:
            parts = over_rows(first.scores, *lists, partial(block_reaches, masks, self._view.start), first.pulls)
            largest, sums = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
        return (largest * weights[:, None]).max(axis=0, initial=0.0), sums

    @property
    def _users(self) -> slice:
        return slice(self._view.start, self._view.start + self._view.count)

    @cached_property
    def _row_lengths(self) -> npt.NDArray[np.int64]:
        return self._public.n - 1 - np.arange(self._view.start, self._view.start + self._view.count)

    def _bits(self) -> PositionBits:
        """The users' rows as bits, in the canonical order of positions."""
        n, first = self._public.n, self._view.start
        start, stop = row_start(n, first), row_start(n, first + self._view.count)
        packed = backend.kernels("rows").packed_lists(n, first, self._offsets, self._members)
        return PositionBits.of_packed(start, stop - start, packed)


def _noised(
    survey: RowSurvey,
    first: FirstRound,
    start: int,
    asked: Bits,
    reaches: Floats,
    sums: Floats,
    random_bytes: RandomBytes,
    largest: Floats | None = None,
) -> RowReport:
    """The two numbers of every user, each with its noise; zeros where a user does not answer.

    ``largest`` is M for each user, where users read different parts.
    """
    moved = first.largest if largest is None else largest
    unit = 2.0**survey.fineness
    beta = float(survey.total_noise.beta) * _SLOWER
    bound = smooth_bound(reaches, moved, beta) * (_LARGER * unit) + 2
    steps = np.floor(reaches / (moved * _LARGER)).astype(np.int64)
    total = np.floor(sums * unit + 0.5).astype(np.int64)
    noisy_reach = cut_sum(steps, survey.reach_noise.sample_many(steps.size, random_bytes))
    noisy_total = cut_sum(total, survey.total_noise.sample_each(bound, random_bytes))
    sent = (np.where(asked, numbers, 0) for numbers in (noisy_reach, noisy_total))
    return RowReport(survey.identity, first.transcript.digest, start, asked, *sent)


def _weights(public: PublicView, start: int, count: int, friend_visible: float) -> tuple[Floats, Words]:
    """What a pull counts at a position of each non-public class; and in each user's row, where these are, packed.

    A class that all positions have needs one row for all users.
    """
    worth = {Visibility.PRIVATE: 1.0, Visibility.FRIEND_VISIBLE: friend_visible}
    if public.classes.is_constant and public.n > 1:
        classes = np.full((1, public.n), public.classes.of([0], [1])[0])
        kinds = [kind for kind in NON_PUBLIC if kind == classes[0, 0]]
    else:
        classes, kinds = public.classes.rows(start, start + count), list(NON_PUBLIC)
    masks = np.zeros((len(kinds), len(classes), word_count(public.n)), np.uint64)
    for mask, kind in zip(masks, kinds, strict=True):
        mask[:] = pack_rows(classes == kind, public.n)
    return np.array([worth[kind] for kind in kinds]), masks
