"""USER triangles from parts of the first answers, walked exactly: every list, every coin, all first answers.  [PARTS.0]

User 0 of five has every list; the coin puts the four others into groups in every way there is; the others' first
answers are all that anybody could write. Both rules are walked, for a list is short or long by a number that is told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise, words_then
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss, exact, exact_finding, largest
from visibility_aware_edge_ldp.audit.engine.noise_laws import (
    FAR,
    Floats,
    Noised,
    Pair,
    RecordingPower,
    another_noise,
    laplace_losses,
    power_losses,
)
from visibility_aware_edge_ldp.audit.engine.small_worlds import view_of
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.row_parts import FirstPart, part_report
from visibility_aware_edge_ldp.client.rows import TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import Integers, RandomBytes, keyed_random_bytes
from visibility_aware_edge_ldp.public.layout import Ints
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.row_parts import PartSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowReport
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.transcript_parts import AllAnswers
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

NAME = "user triangles, parts of the first answers"
N, GROUPS = 5, 5
FIRST, LENGTH, TOTAL, SHARE, FINENESS = Fraction(1), Fraction(1), Fraction(2), Fraction(1, 5), 3
ALL = (Visibility.PRIVATE,) * 10
# What mutants are walked with.
NONE_OR_ALL = ((0,) * 6, (1,) * 6)
MIXED = tuple(
    {"p": Visibility.PRIVATE, "f": Visibility.FRIEND_VISIBLE, "o": Visibility.PUBLIC}[each] for each in "fpopfpopfp"
)
Friends = tuple[int, ...]


@dataclass(frozen=True)
class Narrow(RecordingPower):
    """Noise on a part of the bound that it is asked for; all of it for the real code."""

    part: Fraction = Fraction(1)

    def sample_each(self, bounds: Floats, coins: RandomBytes) -> Integers:
        return super().sample_each(bounds * float(self.part), coins)


@dataclass(frozen=True)
class WalkedSurvey(PartSurvey):
    """A survey whose coin is given: the group of each user; and which rule all lists have."""

    given: tuple[int, ...] = (0,) * N
    short: bool = True
    part: Fraction = Fraction(1)

    def group_of(self, part: Ints, users: Ints) -> Ints:
        return np.array(self.given)[users]

    @property
    def longest_short(self) -> int:
        return super().longest_short if self.short else -1

    @cached_property
    def pair_noise(self) -> RecordingPower:
        noise = PartSurvey.pair_noise.func(self)  # type: ignore[attr-defined]
        return Narrow(noise.epsilon, noise.share, part=self.part)

    @cached_property
    def total_noise(self) -> RecordingPower:
        return Narrow(self.multipliers.private * self.total, self.share, part=self.part)

    @property
    def noise(self) -> RecordingPower:
        """The noise of the rule."""
        return self.pair_noise if self.short else self.total_noise


class FreshClient(TwoRoundClient):
    """Draws its first answers anew for every part that holds them."""

    def answer(self, *given: object, **more: object) -> object:
        self._answers.clear()
        vars(self).pop("_row_bits", None)
        return super().answer(*given, **more)  # type: ignore[arg-type]


class Sums(NamedTuple):
    """A list's number before noise, with its bound."""

    length: int
    total: Noised


@dataclass(frozen=True, eq=False)
class PartStage:
    """User 0 of five under a policy; ``part`` of every bound has noise, and ``peeking`` coins look at user 0's list."""

    pattern: tuple[Visibility, ...] = ALL
    part: Fraction = Fraction(1)
    peeking: bool = False
    client: type[TwoRoundClient] = field(default=TwoRoundClient)
    answers: tuple[tuple[int, ...], ...] = tuple(product((0, 1), repeat=6))

    @cached_property
    def view(self) -> PublicView:
        return view_of(self.pattern, N, ("2", "1"), 1)

    def survey(self, given: tuple[int, ...], short: bool) -> WalkedSurvey:
        """The survey with this coin and this rule."""
        policy = self.view.policy
        first = PositionSurvey(self.view.roster_digest, N, policy.digest, FIRST, multipliers=policy.multipliers)
        return WalkedSurvey(
            first, LENGTH, TOTAL, SHARE, FINENESS, "triangles", GROUPS, GROUPS, "", given, short, self.part
        )

    @cached_property
    def lists(self) -> list[Friends]:
        """Every list of user 0; public edges are what they are."""
        worlds = product(*((1,) if kind is Visibility.PUBLIC else (0, 1) for kind in self.pattern[: N - 1]))
        return [tuple(x for x, bit in enumerate(bits, 1) if bit) for bits in worlds]

    def neighbours(self) -> Iterator[tuple[Visibility, int, int]]:
        """The class, and places of two lists that differ by one friend at a position of it."""
        place = {friends: index for index, friends in enumerate(self.lists)}
        for friends, x in product(self.lists, range(1, N)):
            if x in friends and self.pattern[x - 1] is not Visibility.PUBLIC:
                yield self.pattern[x - 1], place[friends], place[tuple(y for y in friends if y != x)]

    def first(self, survey: WalkedSurvey, said: tuple[int, ...]) -> FirstPart:
        """First answers that everybody gave; user 0's own do not matter to its sum."""
        asked = [kind is not Visibility.PUBLIC for kind in self.pattern]
        ones = [False] * (N - 1) + [bool(bit) and here for bit, here in zip(said, asked[N - 1 :], strict=True)]
        planes = (np.packbits(each, bitorder="little") for each in (asked, ones))
        return FirstPart(survey, self.view, AllAnswers(Transcript(survey.first.identity, *planes), self.view))

    def sums(self, given: tuple[int, ...], short: bool, said: tuple[int, ...]) -> list[Sums]:
        """What the client's own code makes of each list, before noise, and the bounds that it asks noise for."""
        found = []
        survey = self.survey(given, short)
        first = self.first(survey, said)
        for chosen in self._together(survey):
            survey = chosen[0]
            survey.noise.bounds.clear()
            report = _report(survey, FirstPart(survey, self.view, first.transcript), chosen[1])
            found += [
                Sums(int(length), Noised(int(total), bound))
                for length, total, bound in zip(report.reaches, report.totals, survey.noise.bounds, strict=True)
            ]
        return found

    def _together(self, survey: WalkedSurvey) -> list[tuple[WalkedSurvey, list[Friends]]]:
        """All lists under the one coin; or, where coins look, each list under its own."""
        if not self.peeking:
            return [(survey, self.lists)]
        apart = tuple(range(N))
        return [(survey if 1 in friends else self.survey(apart, survey.short), [friends]) for friends in self.lists]

    def check_client(self, friends: Friends, survey: WalkedSurvey, said: tuple[int, ...], sums: Sums) -> int:
        """The real client sends these numbers where its noises are 0; how often it draws its first answers."""
        held = FriendLists(0, np.array([0, len(friends)]), np.array(friends, np.int32))
        client = self.client(held, self.view, Purse({kind: Fraction(100) for kind in NON_PUBLIC}))
        drawn = {client.answer(survey, 1, keyed_random_bytes(bytes([each] * 32))).digest for each in range(4)}
        sent = client.total(survey, self.first(survey, said), no_noise)
        if (int(sent.reaches[0]), int(sent.totals[0])) != (sums.length, sums.total.number):
            raise ProtocolViolation("A client of parts sends other numbers than the audit walks.")
        # The first word is for the length, the second for the sum: both must move their numbers.
        noisy = _report(survey, self.first(survey, said), [friends], words_then((FAR, FAR), no_noise))
        if noisy.reaches[0] == sums.length or noisy.totals[0] == sums.total.number:
            raise another_noise()
        return len(drawn)


def _report(survey: WalkedSurvey, first: FirstPart, lists: list[Friends], coins: RandomBytes = no_noise) -> RowReport:
    """The second report of many users at once, one for each list; without noise unless coins are given."""
    offsets = np.concatenate([[0], np.cumsum([len(friends) for friends in lists])])
    members = np.array([x for friends in lists for x in friends], np.int32)
    return part_report(survey, first, np.ones(len(lists), np.bool_), 0, offsets, members, coins)


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """Every way to put so many users into groups, as the group of each."""
    for groups in product(range(size), repeat=size):
        if all(group <= max(groups[:index], default=-1) + 1 for index, group in enumerate(groups)):
            yield groups


def audit_parts(name: str, *stages: PartStage) -> Finding:
    """The largest loss of both rounds over all coins, lists, first answers and both rules."""
    losses, cases = list[Loss](), 0
    for stage in stages:
        found, compared = _walk(stage)
        cases += compared
        for kind, loss in found.items():
            claim = stage.view.policy.multiplier(kind) * (FIRST + LENGTH + TOTAL)
            losses.append(Loss(str(kind), float(claim), loss))
    return exact_finding(name, losses, cases, f"every list of one of {N} users, every coin, all first answers")


def _told_apart(survey: WalkedSurvey, one: Sums, other: Sums) -> float:
    """How well two second reports are told apart, at most."""
    return max(_lengths(survey.reach_noise, one.length, other.length)) + max(
        _totals(survey.noise, one.total, other.total)
    )


@cache
def _lengths(noise: DiscreteLaplace, one: int, other: int) -> Pair:
    return laplace_losses((one, noise), (other, noise))


@cache
def _totals(noise: RecordingPower, one: Noised, other: Noised) -> Pair:
    return power_losses(noise, one, other)


def _walk(stage: PartStage) -> tuple[dict[Visibility, float], int]:
    found, cases, pairs = dict[Visibility, float](), 0, list(stage.neighbours())
    for groups, short in product(partitions(N - 1), (True, False)):
        given = (GROUPS - 1, *groups)
        survey = stage.survey(given, short)
        for said in stage.answers:
            sums = stage.sums(given, short, said)
            drawn = 1
            if not any(said) and not stage.peeking:
                drawn = max(
                    stage.check_client(friends, survey, said, each)
                    for friends, each in zip(stage.lists, sums, strict=True)
                )
            for kind, more, less in pairs:
                # The loss of the answer at the position itself, as often as it is drawn.
                told = drawn * survey.first.channel(kind).loss
                cases += 1
                found[kind] = largest([found.get(kind, 0.0), told + _told_apart(survey, sums[more], sums[less])])
    return found, cases


AUDITS: tuple[Audit, ...] = (exact(NAME, audit_parts, PartStage(), PartStage(MIXED)),)
LONG: tuple[Audit, ...] = ()
MUTANTS: tuple[Audit, ...] = tuple(
    exact(NAME, audit_parts, stage, broken=broken)
    for broken, stage in (
        ("the share is missing in the noise", PartStage(part=Fraction(1, GROUPS), answers=NONE_OR_ALL)),
        ("noise for three quarters of the bound", PartStage(part=Fraction(3, 4), answers=NONE_OR_ALL)),
        ("a coin that a private edge has a say in", PartStage(peeking=True, answers=NONE_OR_ALL)),
        ("first answers drawn anew for every part", PartStage(client=FreshClient, answers=NONE_OR_ALL)),
    )
)
