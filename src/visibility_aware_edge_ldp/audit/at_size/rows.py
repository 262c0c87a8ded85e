"""USER triangles and 4-cycles at size: both rounds, on transcripts that nobody honest would have sent.  [LARGE.2-4]

Given a transcript, an edge is in one row alone, whose holder sends two numbers. Searches look at that user; what is
told of a world comes from all users in one call, as a simulation runs them, with every noise tried.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.findings import recast
from visibility_aware_edge_ldp.audit.engine.noise_laws import Floats, Send, another_noise
from visibility_aware_edge_ldp.audit.protocols.rows_stage import RecordingSurvey
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import numbers
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, decode_rows, encode_rows, row_surveys
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Answers = large.Bits
"""What each position is told to have said in the first round."""
# Doubles of the audit and of the client may differ by so much of a bound, which keeps units for that.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class Setting:
    """A roster under a policy, the real survey of it, and which users answered its first round."""

    n: int
    statistic: str
    policy: VisibilityPolicy
    epsilon: str = "1"
    public_edges: tuple[tuple[int, int], ...] = ()
    silent: frozenset[int] = frozenset()
    change: Callable[[RowSurvey], RowSurvey] = lambda survey: survey
    client: type[TwoRoundClient] = TwoRoundClient
    reading: type[FirstRound] = FirstRound

    @cached_property
    def view(self) -> PublicView:
        return PublicView(range(self.n), self.policy, large.edge_array(self.public_edges))

    @cached_property
    def survey(self) -> RecordingSurvey:
        """The survey that the software makes for this epsilon, or one that spends it in another way."""
        real = row_surveys(self.view, self.epsilon, [self.statistic])[self.statistic]
        return recast(RecordingSurvey, self.change(real))

    @cached_property
    def classes(self) -> large.Ints:
        """(users, users): the class of each position."""
        return np.asarray(self.view.classes.rows(0, self.n), np.int64)

    def first(self, ones: Answers) -> FirstRound:
        """What everybody hears."""
        u = np.repeat(np.arange(self.n), np.arange(self.n)[::-1])
        asked = np.unpackbits(self.view.class_bits[PUBLIC], count=self.view.positions, bitorder="little") == 0
        answered = asked & ~np.isin(u, list(self.silent))
        packed = (np.packbits(bits, bitorder="little") for bits in (answered, ones & answered))
        return self.reading(self.survey, self.view, Transcript(self.survey.first.identity, *packed))

    def asked_for(self, kind: Visibility) -> Fraction:
        """What both rounds may cost an edge of this class."""
        whole = self.survey.first.epsilon + self.survey.reach + self.survey.total
        return whole * self.policy.multipliers.of(kind)

    def billed(self, kind: Visibility) -> Fraction:
        """What the software says that both cost."""
        return sum((dict(each.prices)[kind].epsilon for each in self.survey.releases), Fraction(0))


@dataclass(frozen=True, eq=False)
class World:
    """A transcript, everybody's friends as a matrix above its diagonal, and the position whose edge comes and goes."""

    setting: Setting
    ones: Answers
    lists: large.Bits
    user: int
    friend: int

    @property
    def kind(self) -> Visibility:
        return Visibility(int(self.setting.classes[self.user, self.friend]))

    def with_edge(self, there: bool) -> large.Bits:
        lists = self.lists.copy()
        lists[self.user, self.friend] = there
        return lists


def held(lists: large.Bits, start: int, count: int) -> FriendLists:
    """The lists of some users as clients hold them: friends before and after them."""
    rows = (lists | lists.T)[start : start + count]
    return FriendLists(start, np.concatenate([[0], np.cumsum(rows.sum(axis=1))]), np.nonzero(rows)[1].astype(np.int32))


def sender(setting: Setting, lists: large.Bits, first: FirstRound, start: int, count: int) -> Send:
    """From coins to the second numbers of some users, reaches and then sums, through the wire format."""
    survey = setting.survey
    room = {kind: setting.asked_for(kind) for kind in NON_PUBLIC}
    present = ~np.isin(np.arange(start, start + count), list(setting.silent))

    def send(coins: RandomBytes) -> large.Ints:
        client = setting.client(held(lists, start, count), setting.view, Purse(room))
        client.answer(survey, 1, no_noise, present)
        report = decode_rows(encode_rows(client.total(survey, first, coins)))
        return np.concatenate([report.reaches, report.totals])

    return send


def numbers_of(world: World, there: bool, first: FirstRound, users: tuple[int, int], tried: bool = True) -> large.Heard:
    """What these users' second numbers are made of; ``tried`` tries every noise."""
    survey, lists = world.setting.survey, world.with_edge(there)
    send, bounds = sender(world.setting, lists, first, *users), survey.total_noise.bounds
    bounds.clear()

    def laws() -> list[large.Law]:
        reaches: list[large.Law] = [survey.reach_noise] * users[1]
        silent = [user in world.setting.silent or not first.asked[user] for user in range(users[0], sum(users))]
        found: list[large.Law] = [*reaches, *(large.Scaled(survey.total_noise, bound) for bound in bounds)]
        return [None if quiet else law for quiet, law in zip(silent * 2, found, strict=True)]

    if not tried:
        return large.Heard(send(no_noise), tuple(laws()))
    return large.heard(send, laws, large.CLOSEST if users[1] == 1 else large.FAST)


def loss_of(world: World, whole: bool = True) -> float:
    """Both rounds of one edge: its own first answer, and the second numbers of its holder, or of all users."""
    first, users = world.setting.first(world.ones), (0, world.setting.n) if whole else (world.user, 1)
    more, less = large.losses_between(*(numbers_of(world, there, first, users, whole) for there in (True, False)))
    answer = large.bit_loss(large.threshold_of(world.setting.survey.first.price(world.kind).epsilon))
    said = bool(world.ones[int(numbers(world.setting.n, world.user, world.friend))])
    return max(answer + more, less - answer) if said else max(more - answer, answer + less)


# ── the theorem's own numbers, in plain arithmetic.  [TRIANGLE.1-2], [CYCLE.1] ──


def scores_of(world: World) -> Floats:
    """The unbiased score of every position: 1 at public edges, 0 where nobody answered."""
    setting, n = world.setting, world.setting.n
    found = np.zeros((n, n))
    upper = np.zeros((n, n), np.bool_)
    upper[np.triu_indices(n, 1)] = world.ones
    asked = [user for user in range(n) if (setting.classes[user, user + 1 :] != PUBLIC).any()]
    here = [user for user in asked if user not in setting.silent]
    rate = max(len(here) - 1, 1) / (len(asked) - 1) if len(asked) > 1 else 1.0
    for kind in NON_PUBLIC:
        q = large.threshold_of(setting.survey.first.price(kind).epsilon) / 2**64
        value = np.where(upper, (1 - q) / (1 - 2 * q), -q / (1 - 2 * q)) / rate
        place = (setting.classes == kind) & np.isin(np.arange(n), here)[:, None]
        found = np.where(place & np.triu(np.ones((n, n), np.bool_), 1), value, found)
    for u, v in setting.public_edges:
        found[u, v] = 1.0
    return found + found.T


def paths_without(scores: Floats, user: int) -> Floats:
    """Σ over l of ê_jl ê_lk without l = user, halved where l comes before both."""
    order = np.arange(len(scores))
    others = np.where(order != user, scores, 0.0)
    early = np.where(order < order[:, None], others, 0.0)
    paths: Floats = others @ others.T - early @ early.T / 2
    np.fill_diagonal(paths, 0)
    return paths


def refuse_other_sums(world: World) -> None:
    """Stop the audit if the user's numbers are not the theorem's, or its noise is less than that asks for."""
    setting, user, survey = world.setting, world.user, world.setting.survey
    first = setting.first(world.ones)
    if setting.statistic != "triangles" and setting.silent:
        return  # rates of pairs of users: compared by the clients' own tests
    moved = scores_of(world) if setting.statistic == "triangles" else paths_without(scores_of(world), user)
    later = np.arange(setting.n) > user
    worth = {PUBLIC: 0.0, FRIEND_VISIBLE: float(1 / survey.ratio), PRIVATE: 1.0}
    weights = np.array([worth[Visibility(int(kind))] for kind in setting.classes[user]]) * later
    most, beta, unit = (
        np.abs(moved[np.ix_(later, later)]).max(initial=0.0),
        float(survey.total_noise.beta),
        2.0**survey.fineness,
    )
    for there in (True, False):
        friends = np.flatnonzero(world.with_edge(there)[user] & later)
        pulls = moved[friends].sum(axis=0)
        reach, total = float((np.abs(pulls) * weights).max(initial=0.0)), pulls[friends].sum() / 2
        needed = max(math.exp(-beta * t) * (reach + t * most) for t in (0, *_peaks(reach, most, beta))) * unit
        found = numbers_of(world, there, first, (user, 1))
        law: Any = found.laws[1]
        if (
            law is None
            or float(law.bound) < needed * (1 - _CLOSE)
            or abs(found.centres[1] - total * unit) > 1 + _CLOSE * needed
        ):
            raise another_noise()


def _peaks(reach: float, most: float, beta: float) -> tuple[float, ...]:
    """Where e^(−βt)(reach + tM) is largest, if that is beyond 0."""
    return (1 / beta - reach / most,) if most > 0 and reach < most / beta else ()
