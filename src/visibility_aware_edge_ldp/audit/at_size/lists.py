"""Degrees, histograms, and hubs chosen by degree, at size: all users in one call.  [LARGE.1-3]"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact
from visibility_aware_edge_ldp.audit.engine.noise_laws import another_noise
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.private_hub_selection import hub_policy
from visibility_aware_edge_ldp.public.surveys import histogram as histogram_layout
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramSurvey, histogram_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

_OCTETS = 4


@dataclass(frozen=True, eq=False)
class Setting:
    """A roster under a policy, where user 0 knows everybody and the others know each other by chance."""

    n: int
    policy: VisibilityPolicy
    epsilon: str = "1"
    groups: Groups | None = None

    @cached_property
    def view(self) -> PublicView:
        return PublicView(range(self.n), self.policy, np.zeros((0, 2), np.int32), self.groups)

    @cached_property
    def degrees(self) -> DegreeSurvey:
        """The survey of degrees, or of friends in each group."""
        return (degree_survey if self.groups is None else group_survey)(self.view, self.epsilon)

    @cached_property
    def client(self) -> type[DegreeClient]:
        """Who answers it."""
        return DegreeClient if self.groups is None else GroupClient

    def counts(self, friends: large.Bits) -> large.Ints:
        """What noise must be added to: class by class, group by group and user by user."""
        groups = np.zeros(self.n, np.int64) if self.groups is None else self.groups.members
        inside = groups == np.arange(groups.max() + 1)[:, None]
        each = [friends & (self.classes == kind) & group for kind in self.degrees.classes for group in inside]
        return np.concatenate([cell.sum(axis=1) for cell in each])

    @cached_property
    def histogram(self) -> HistogramSurvey:
        return histogram_survey(self.view, self.epsilon)

    @cached_property
    def classes(self) -> large.Ints:
        """(users, users), symmetric."""
        upper = np.triu(np.asarray(self.view.classes.rows(0, self.n), np.int64), 1)
        return upper + upper.T

    @cached_property
    def friends(self) -> large.Bits:
        """(users, users), symmetric; no edge where everybody could see it."""
        share = np.linspace(0.05, 0.9, self.n)
        drawn = np.triu(large.Dice(self.n).shares(self.n, self.n) < share[:, None], 1)
        drawn[0, 1:] = True
        drawn &= self.classes != Visibility.PUBLIC
        return drawn | drawn.T

    def neighbours(self) -> Iterator[tuple[Visibility, int, int]]:
        """Positions whose edge comes and goes: of the busiest user, and between two others, of each class."""
        for kind in NON_PUBLIC:
            for user in (0, self.n // 2):
                later = np.flatnonzero((self.classes[user] == kind) & (np.arange(self.n) > user))
                if later.size:
                    yield kind, user, int(later[-1])


def held(friends: large.Bits) -> FriendLists:
    """Everybody's list."""
    return FriendLists(
        0, np.concatenate([[0], np.cumsum(friends.sum(axis=1))]), np.nonzero(friends)[1].astype(np.int32)
    )


def without(friends: large.Bits, user: int, friend: int) -> large.Bits:
    found = friends.copy()
    found[user, friend] = found[friend, user] = False
    return found


def audit_degrees(name: str, settings: Iterable[Setting], about: str) -> Finding:
    """Every degree must be the right one, with the noise that its price buys; an edge stands in two lists."""
    cases = list[large.Case]()
    for setting in settings:
        all_there = {(user, friend): True for _, user, friend in setting.neighbours()}
        friends = setting.friends.copy()
        for user, friend in all_there:
            friends[user, friend] = friends[friend, user] = True
        whole = heard_degrees(setting, friends)
        for kind, user, friend in setting.neighbours():
            other = heard_degrees(setting, without(friends, user, friend))
            asked = Fraction(setting.epsilon) * setting.policy.multipliers.of(kind)
            found = max(large.losses_between(whole, other))
            cases.append(large.Case(kind, found, asked, 2 * setting.degrees.list_price(kind).epsilon))
    return large.finding_of(name, cases, about)


def heard_degrees(setting: Setting, friends: large.Bits, apart: int = large.FAST) -> large.Heard:
    """Everybody's counts, compared with the lists, and their noises, tried so far from the ends of steps."""
    survey = setting.degrees

    def send(coins: RandomBytes) -> large.Ints:
        purse = Purse(
            {kind: Fraction(setting.epsilon) * setting.policy.multipliers.of(kind) / 2 for kind in NON_PUBLIC}
        )
        report = setting.client(held(friends), setting.view, purse).answer(survey, 1, coins)
        return np.asarray(report.layout.decode(report.layout.encode(report)).values.ravel())

    found = large.heard(
        send, lambda: [survey.mechanism(kind) for kind in survey.asked for _ in range(setting.n)], apart
    )
    if not np.array_equal(found.centres, setting.counts(friends)):
        raise another_noise()
    return found


def audit_histogram(name: str, settings: Iterable[Setting], about: str) -> Finding:
    """For every column and either sign, the answers of all users at once: each user's whole law.  [HADAMARD.1]"""
    cases = list[large.Case]()
    for setting in settings:
        refuse_other_columns(setting)
        # Another bin has another row, which differs in sign at half of the columns: each end loses all of its price.
        found = 2 * large.bit_loss(large.threshold_of(Fraction(setting.epsilon)))
        billed = 2 * setting.histogram.list_price.epsilon
        cases += [large.Case(kind, found, 2 * Fraction(setting.epsilon), billed) for kind in setting.view.non_public]
    return large.finding_of(name, cases, about)


def refuse_other_columns(setting: Setting) -> None:
    """Stop the audit unless all columns of the right sign are equally likely, and the sign is as its word says."""
    survey, n = setting.histogram, setting.n
    degrees = setting.friends.sum(axis=1)
    rows = np.searchsorted(survey.edges, degrees, side="right")
    columns = 1 << int(survey.bins).bit_length()
    edge, purse = (
        large.threshold_of(Fraction(setting.epsilon)),
        {kind: Fraction(setting.epsilon) for kind in NON_PUBLIC},
    )
    seen = np.zeros((2, n, columns), np.int64)
    for column in range(columns):
        flips = large.coin_bits(n, "signs", column)
        for turned in (False, True):
            wanted = flips ^ turned
            # Upper bits of a column's word must not matter; neighbours are given other columns than one's own.
            drawn = (column + np.arange(n)) % columns | 0xABCD0000 & ~(columns - 1)
            octets = drawn.astype("<u4").tobytes() + large.flip_octets(edge, wanted, np.ones(n, np.bool_))
            coins = large.Stream(octets)
            client = HistogramClient(held(setting.friends), setting.view, Purse(purse))
            sent = histogram_layout.decode(histogram_layout.encode(client.answer(survey, 1, coins))).values.ravel()
            coins.refuse_rest()
            minus = np.bitwise_count(rows & sent) % 2 == 1
            if not np.array_equal(minus, wanted):
                raise another_noise()
            np.add.at(seen, (wanted.astype(np.int64), np.arange(n), sent), 1)
    # Over all columns each one of a sign comes up twice: once for itself, once for its partner.
    if not np.isin(seen, (0, 2)).all():
        raise another_noise()


# ── hubs that are chosen by noisy degree ──


def audit_choice(name: str, settings: Iterable[Setting], about: str) -> Finding:
    """What reports and choice tell of an edge that stays hidden, beside what the policy says that was paid.  [HUBS.2]

    Before the choice an edge may have had another class than after it: the bill must hold for the worst.
    """
    cases = list[large.Case]()
    for setting, rule in product(settings, ("any", "both")):
        loss = {kind: setting.policy.multipliers.of(kind) * Fraction(setting.epsilon) for kind in NON_PUBLIC}
        worst = max(loss[kind] for kind in setting.view.non_public)
        for number, reports in enumerate(reported(setting)):
            some = [user for user in range(setting.n) if user % 3] if number % 2 else None
            policy = hub_policy(setting.view, reports, 1 + setting.n // 20, setting.degrees.releases, rule, some)
            after = np.asarray(policy.bind(range(setting.n)).rows(0, setting.n), np.int64)
            refuse_other_choice(setting, reports, rule, some, after)
            before = np.triu(setting.classes, 1)
            for kind in NON_PUBLIC:
                hidden = np.triu(after == kind, 1)
                told = [float(loss[old]) for old in NON_PUBLIC if (before[hidden] == old).any()]
                if told:
                    cases.append(large.Case(kind, max(told), worst, Bill(policy.paid)[str(kind)].epsilon))
    return large.finding_of(name, cases, about)


def reported(setting: Setting) -> Iterator[large.Ints]:
    """Noisy degrees: those of the real clients, the same for many, and all below 0."""
    degrees = np.asarray(heard_degrees(setting, setting.friends).centres).reshape(-1, setting.n).sum(axis=0)
    noise = large.Dice("reports", setting.n).whole(-9, 10, setting.n)
    yield from (degrees + noise, degrees // 8, -degrees - 1)


def refuse_other_choice(setting: Setting, reports: large.Ints, rule: str, some: list[int] | None, after: Any) -> None:
    """Stop the audit if others are chosen than the highest reports of those who agreed, or classes are not as told."""
    order = sorted(some or range(setting.n), key=lambda user: (-int(reports[user]), user))
    chosen = np.isin(np.arange(setting.n), order[: 1 + setting.n // 20]).astype(np.int64)
    ends = chosen[:, None] + chosen
    plain = np.array({"any": (2, 0, 0), "both": (2, 1, 0)}[rule])[ends]
    if not np.array_equal(np.triu(after, 1), np.triu(np.minimum(plain, setting.classes), 1)):
        raise another_noise()


MIXED = VisibilityPolicy("0.1", "0.4", "0.5")
_CHOSEN = [Setting(60, VisibilityPolicy.nothing(), "2"), Setting(300, MIXED.guarded("3", "1"))]
_SETTINGS = [
    Setting(20, VisibilityPolicy.nothing(), "2"),
    Setting(512, MIXED.guarded("3", "1")),
    Setting(1000, MIXED.guarded("3", "1/2"), "1/2"),
]
_GROUPED = [
    Setting(20, VisibilityPolicy.nothing(), "2", Groups("number", ("a", "b", "c"), np.arange(20) % 3)),
    Setting(300, MIXED.guarded("3", "1"), groups=Groups("number", ("a", "b", "c", "d"), np.arange(300) % 4)),
]
_BINNED = [Setting(30, MIXED, "2"), Setting(700, MIXED)]
AUDITS: dict[str, tuple[Audit, ...]] = {
    "degrees": (
        exact("user degrees, at size", audit_degrees, _SETTINGS, "20, 512 and 1,000 users in one call"),
        exact("hub choice, at size", audit_choice, _CHOSEN, "3 and 15 hubs of 60 and 300 users, by both rules"),
    ),
    "groups": (exact("user groups, at size", audit_degrees, _GROUPED, "20 and 300 users in one call, 3 and 4 groups"),),
    "histogram": (
        exact("user histogram, at size", audit_histogram, _BINNED, "every column, 30 and 700 users in one call"),
    ),
}
