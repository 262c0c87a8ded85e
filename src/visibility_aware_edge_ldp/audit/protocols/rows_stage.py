"""What the audit of rows walks: small rosters under a policy, a survey of them, every list and every transcript."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import permutations, product
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from visibility_aware_edge_ldp.audit.engine import noise_laws
from visibility_aware_edge_ldp.audit.engine.small_worlds import Guard, ListStage, places_of, positions, view_of
from visibility_aware_edge_ldp.client.rows import FirstRound
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import Integers, RandomBytes
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript, holders, pair_rate, response_rate
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Friends = tuple[int, ...]
Numbers = TypeVar("Numbers")
Answers = tuple[int | None, ...]
"""The first answer of each position; none where nobody answered."""
FirstRoundBroadcast = tuple[int, ...]
"""For each position what everybody knows of it: nothing, a public edge, or the answer and the class that gave it."""
Row = list[tuple[int, int, Visibility]]
"""The places, friends and classes of a user's row."""
Rounds = tuple[int, ...]
BOTH: Rounds = (1, 2)
Draw = Callable[[noise_laws.Floats, RandomBytes], Integers]
"""From bounds and coins to noises."""


def no_noise_at_all(bounds: noise_laws.Floats, coins: RandomBytes) -> Integers:
    return np.zeros(bounds.size, np.int64)


class Split(NamedTuple):
    """How a survey spends its epsilon: first answers, reach, sum, and the share that pays for the moving scale."""

    first: str
    reach: str
    total: str
    share: str
    fineness: int
    statistic: str = "triangles"


@dataclass(frozen=True)
class Redrawn(noise_laws.RecordingPower):
    """The noise of a broken client, which draws in another way."""

    draw: Draw = field(default=no_noise_at_all, compare=False)

    def sample_each(self, bounds: noise_laws.Floats, coins: RandomBytes) -> Integers:
        return self.draw(bounds, coins)


@dataclass(frozen=True)
class RecordingSurvey(RowSurvey):
    """The same survey, whose noise on sums notes its bounds; a broken client may draw that noise in another way."""

    draw: Draw | None = field(default=None, compare=False)

    @cached_property
    def reach_noise(self) -> DiscreteLaplace:
        return noise_laws.quick(DiscreteLaplace(self.multipliers.private * self.reach))

    @cached_property
    def total_noise(self) -> noise_laws.RecordingPower:
        noise = noise_laws.RecordingPower(self.multipliers.private * self.total, self.share)
        return Redrawn(noise.epsilon, noise.share, draw=self.draw) if self.draw else noise


@dataclass(frozen=True, eq=False)
class Stage(ListStage):
    """A pattern of classes on n users, whether public positions hold an edge, and a survey of it."""

    split: Split
    public_bit: int = 1
    guard: Guard = ("2", "1")
    dropout: bool = False

    @property
    def setting(self) -> Hashable:
        return self.n, self.split, self.public_bit, self.guard

    @cached_property
    def positions(self) -> list[tuple[int, int]]:
        return positions(self.n)

    @cached_property
    def view(self) -> PublicView:
        return view_of(self.pattern, self.n, self.guard, self.public_bit)

    @cached_property
    def survey(self) -> RecordingSurvey:
        policy, split = self.view.policy, self.split
        first, reach, total, share = (Fraction(x) for x in (split.first, split.reach, split.total, split.share))
        answers = PositionSurvey(self.view.roster_digest, self.n, policy.digest, first, multipliers=policy.multipliers)
        return RecordingSurvey(answers, reach, total, share, split.fineness, split.statistic)

    @cached_property
    def asked(self) -> list[int]:
        """The users with something to hide in their row."""
        return [int(user) for user in np.flatnonzero(holders(self.view))]

    def row(self, user: int) -> Row:
        """The user's positions with later users."""
        found = zip(range(len(self.positions)), self.positions, self.pattern, strict=True)
        return [(place, x, kind) for place, (u, x), kind in found if u == user]

    def lists(self, user: int) -> list[Friends]:
        """Every list that the user may have, friends after it alone: the public ones are what they are."""
        row = self.row(user)
        worlds = product(*((self.public_bit,) if kind is Visibility.PUBLIC else (0, 1) for _, _, kind in row))
        return [tuple(x for (_, x, _), bit in zip(row, bits, strict=True) if bit) for bits in worlds]

    def transcripts(self, user: int) -> Iterator[Answers]:
        """Every transcript that has this user's answers, with the answers of all the others, or of any of them."""
        others = [u for u in self.asked if u != user]
        for here in product((False, True) if self.dropout else (True,), repeat=len(others)):
            reported = {user, *(u for u, there in zip(others, here, strict=True) if there)}
            yield from product(
                *(
                    (0, 1) if kind is not Visibility.PUBLIC and u in reported else (None,)
                    for (u, _), kind in zip(self.positions, self.pattern, strict=True)
                )
            )

    @lru_cache(maxsize=4096)  # noqa: B019 — one for all users of a stage: it reads the transcript once
    def first_round(self, answers: Answers) -> FirstRound:
        """What everybody hears."""
        answered, ones = (
            np.packbits([test(said) for said in answers], bitorder="little")
            for test in (lambda said: said is not None, lambda said: said == 1)
        )
        return FirstRound(self.survey, self.view, Transcript(self.survey.first.identity, answered, ones))

    def agreed(self, kind: Visibility, rounds: Rounds = BOTH) -> Fraction:
        """What was asked for: what an edge of this class may lose, from the split and the guard alone."""
        prices = {1: Fraction(self.split.first), 2: Fraction(self.split.reach) + Fraction(self.split.total)}
        multipliers = dict(zip((Visibility.FRIEND_VISIBLE, Visibility.PRIVATE), self.guard, strict=True))
        return Fraction(multipliers[kind]) * sum(prices[each] for each in rounds)

    def billed(self, kind: Visibility, rounds: Rounds = BOTH) -> Fraction:
        """What the software says that it loses."""
        bills = {release.round: dict(release.prices)[kind] for release in self.survey.releases}
        return sum((bills[each].epsilon for each in rounds), Fraction(0))


Labels = tuple[tuple[int, ...], ...]
"""For each position what a user's numbers may depend on."""
NOTHING, EDGE = 0, 1
Second = Callable[[Stage, int, Friends, FirstRound], Numbers]


class Case(NamedTuple):
    """All that a user's numbers may depend on but its list."""

    known: Hashable
    user: int
    labels: Labels


class Recall(Generic[Numbers]):
    """The same function of what a user sees, worked out as seldom as that allows.

    ``second`` gives a client's second numbers for a stage, a user, its list and the first round. ``same`` says whether
    two of them are the same up to the rounding of doubles, which depends on the order of summands; ``anew`` works a
    recalled case out again, if that can be done faster. Every so many-th recalled case is worked out again; and of
    every kind of case the first that is recalled because nothing in it differs for the user, and the first because
    names alone do.
    """

    def __init__(
        self,
        second: Second[Numbers],
        same: Callable[[Numbers, Numbers], bool],
        anew: Second[Numbers] | None = None,
        every: int = 1000,
    ) -> None:
        self._second, self._same, self._anew, self._every = second, same, anew or second, every
        self._by_case: dict[tuple[Case, Friends], Case] = {}
        self._by_sight: dict[Case, Numbers] = {}
        self._largest: dict[Hashable, float] = {}
        self._case = lru_cache(maxsize=1)(self._case_of)
        self._checked: set[tuple[Case, bool]] = set()
        self.recalls = self.checks = 0

    def __call__(self, stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
        """The numbers of this case.

        Raises
        ------
        ProtocolViolation
            When a case that is worked out again has other numbers: the client looks at more than is believed.
        """
        case = self._case(stage, user, first)
        known = (case, friends) in self._by_case
        if not known:
            self._by_case[case, friends] = case._replace(labels=_least_names(stage, case, friends))
        sight = self._by_case[case, friends]
        if sight not in self._by_sight:
            self._by_sight[sight] = self._second(stage, user, friends, first)
            return self._by_sight[sight]
        # The first recall of each kind, and some of the others; ``known`` says that not even names differ.
        self.recalls += 1
        if (sight, known) not in self._checked or self.recalls % self._every == 0:
            self.checks += 1
            if not self._same(self._by_sight[sight], self._anew(stage, user, friends, first)):
                raise ProtocolViolation("A client makes other numbers of what the audit believes to be the same to it.")
        self._checked.add((sight, known))
        return self._by_sight[sight]

    @property
    def worked_out(self) -> int:
        """How many cases differ by more than names."""
        return len(self._by_sight)

    def _case_of(self, stage: Stage, user: int, first: FirstRound) -> Case:
        broadcast, users = _broadcast(stage, first)
        rates = (rate(len(stage.asked), users) for rate in (response_rate, pair_rate))
        known = (stage.n, stage.split, stage.guard, *rates)
        if not _of_triangles(stage):
            return Case(known, user, _labels(stage, user, broadcast))
        # The largest score of all is the only thing that a sum over triangles takes from the other rows.
        alike = (known, frozenset(broadcast))
        if alike not in self._largest:
            self._largest[alike] = first.largest
        return Case((known, self._largest[alike]), user, _labels(stage, user, broadcast))


def _of_triangles(stage: Stage) -> bool:
    return stage.split.statistic == "triangles"


def _labels(stage: Stage, user: int, broadcast: FirstRoundBroadcast) -> Labels:
    """The classes of the own row; and what was broadcast, of triangles from later users alone."""
    found = zip(stage.positions, stage.pattern, broadcast, strict=True)
    everything = not _of_triangles(stage)
    return tuple(
        ((int(kind),) if u == user else ()) + ((said,) if everything or u > user else ())
        for (u, _), kind, said in found
    )


def _least_names(stage: Stage, case: Case, friends: Friends) -> Labels:
    """The labels with the list, under the least of the names that the later users might have as well."""
    listed = tuple(
        (*label, int(x in friends)) if u == case.user else label
        for (u, x), label in zip(stage.positions, case.labels, strict=True)
    )
    return min(tuple(listed[place] for place in order) for order in _orders(stage.n, case.user, _of_triangles(stage)))


@cache
def _orders(n: int, user: int, any_later: bool) -> list[tuple[int, ...]]:
    """Where positions go when later users change names: all of them, or the last two."""
    free = n - 1 - user if any_later else min(2, n - 1 - user)
    return [places_of((*range(n - free), *names)) for names in permutations(range(n - free, n))]


@lru_cache(maxsize=4096)
def _broadcast(stage: Stage, first: FirstRound) -> tuple[FirstRoundBroadcast, int]:
    """What everybody knows of each position, and how many users answered."""
    answered, ones = (
        np.unpackbits(octets, bitorder="little", count=len(stage.pattern)).tolist()
        for octets in (first.transcript.answered, first.transcript.ones)
    )
    edge = EDGE if stage.public_bit else NOTHING
    broadcast = tuple(
        edge if kind is Visibility.PUBLIC else 2 * int(kind) + one if here else NOTHING
        for kind, here, one in zip(stage.pattern, answered, ones, strict=True)
    )
    return broadcast, len({u for (u, _), here in zip(stage.positions, answered, strict=True) if here})
