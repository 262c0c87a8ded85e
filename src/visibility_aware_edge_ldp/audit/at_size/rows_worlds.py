"""Where USER triangles and 4-cycles are audited at size: rosters, policies, hostile transcripts, lists.  [LARGE.4]"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.at_size.rows import (
    FRIEND_VISIBLE,
    PRIVATE,
    PUBLIC,
    Answers,
    Setting,
    World,
    loss_of,
    paths_without,
    refuse_other_sums,
    scores_of,
)
from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact, recast, replaced
from visibility_aware_edge_ldp.audit.engine.noise_laws import Floats
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import numbers
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey


def everybody(setting: Setting, said: bool) -> Answers:
    """All said yes, or all said no."""
    return np.full(setting.view.positions, said)


def some(setting: Setting, share: float, seed: int) -> Answers:
    """Each said yes with this chance."""
    return large.Dice(seed).shares(setting.view.positions) < share


def opposed(setting: Setting) -> World:
    """Users 1 and 2 say nearly the same of everybody, user 3 the opposite: many paths of one sign.

    User 0 has 2 for a friend, and 1 comes. Paths over user 0 itself have the other sign, so that a pull moves by the
    longest path and more. Of some such transcripts the one whose pull gets farthest, in largest paths.  [TRIANGLE.2]
    """
    tried = list[tuple[float, World]]()
    row = large.Dice(8).shares(setting.n) < 0.25
    both = [int(x) for x in np.flatnonzero(row) if x > 3]
    for bits in product((False, True), repeat=4):
        upper = np.zeros((setting.n, setting.n), np.bool_)
        upper[np.triu_indices(setting.n, 1)] = some(setting, 0.25, 7)
        for user, own in ((1, row), (2, row), (3, ~row)):
            upper[user, 4:] = own[4:]
        upper[0, [1, 3]], upper[0, 2] = True, False
        upper[1, 2], upper[1, 3], upper[2, 3], upper[2, both[0]] = bits
        world = World(setting, upper[np.triu_indices(setting.n, 1)], listing(setting.n, 0, [2]), 0, 1)
        scores = scores_of(world)
        others, every = paths_without(scores, 0), paths_without(scores, -1)
        before, after = abs(others[2, 3]), abs(others[1, 3] + others[2, 3])
        most = np.abs(every).max()
        tried.append((round(float(after // most - before // most + after / most), 6), world))
    return max(tried, key=lambda each: each[0])[1]


def listing(n: int, user: int, friends: Any) -> large.Bits:
    lists = np.zeros((n, n), np.bool_)
    lists[user, list(friends)] = True
    return lists


def crowd(setting: Setting, share: float, seed: int) -> large.Bits:
    """Everybody's random list."""
    n, public = setting.n, np.zeros((setting.n, setting.n), np.bool_)
    for u, v in setting.public_edges:
        public[u, v] = True
    drawn = large.Dice(seed).shares(n, n) < share
    return np.triu(np.where(setting.classes == PUBLIC, public, drawn), 1)


def moved(world: World, coins: large.Dice) -> World:
    """Another world: some answers turned over, among friends mostly; or one friend more or less."""
    n, user = world.setting.n, world.user
    ones, lists = world.ones.copy(), world.lists.copy()
    if coins.share() < 0.6:
        near = np.flatnonzero(lists[user]) if lists[user].any() and coins.share() < 0.5 else np.arange(n)
        one, other = int(coins.pick(near)), coins.between(n)
        if one != other:
            place = int(numbers(n, min(one, other), max(one, other)))
            ones[place] ^= True
    else:
        friend = coins.between(user + 1, n)
        if friend != world.friend and world.setting.classes[user, friend] != PUBLIC:
            lists[user, friend] ^= True
    return replace(world, ones=ones, lists=lists)


def climbed(world: World, steps: int, seed: int) -> World:
    """Where a search for more loss ends that looks at the holder alone."""
    return large.climb(world, lambda each: loss_of(each, whole=False), moved, steps, seed)[0]


# ── what is run ──

# Columns are worked through so many at a time.
_PANEL = 512
NOTHING = VisibilityPolicy.nothing()
OPEN = VisibilityPolicy(0, 1, 0)
MIXED = VisibilityPolicy("0.1", "0.4", "0.5")


def spending(reach: str, total: str, share: str, fineness: int) -> Callable[[RowSurvey], RowSurvey]:
    """The survey with other prices of the second round: each of its numbers in turn may use a claim up."""
    parts = Fraction(reach), Fraction(total), Fraction(share)
    return lambda survey: RowSurvey(survey.first, *parts, fineness, survey.statistic)


def as_it_is(survey: RowSurvey) -> RowSurvey:
    """The survey that the software makes."""
    return survey


ON_REACH, ON_SUM = spending("1", "1/10", "1/4", 0), spending("1/100", "2", "1/3", 4)


def _of_class(setting: Setting, user: int, kind: Any) -> list[int]:
    return [int(x) for x in np.flatnonzero(setting.classes[user] == kind) if x > user]


def full_row(setting: Setting, said: bool, friends: int, kind: Any = PRIVATE, user: int = 0) -> World:
    """All said the same; one user has so many friends of a class, and one more comes."""
    own = _of_class(setting, user, kind)
    lists = listing(setting.n, user, own[:friends])
    return World(setting, everybody(setting, said), lists, user, own[friends])


def far_row(n: int, friends: int, kind: Any = PRIVATE) -> World:
    """Only users after the 512th said yes, and user 0's friends are among them: the last columns decide."""
    setting = Setting(n, "triangles", NOTHING if kind is PRIVATE else OPEN)
    rows, _ = np.triu_indices(n, 1)
    late = range(n - friends - 1, n - 1)
    return World(setting, rows >= _PANEL, listing(n, 0, late), 0, n - 1)


def triangle_worlds() -> Iterator[World]:
    """Lists on both sides of what decides the bound; all classes, weights up to 3, silent users, public edges."""
    for n, friends in ((20, 1), (60, 24), (600, 25), (1000, 24)):
        yield full_row(Setting(n, "triangles", NOTHING), True, friends)
    for guard, n, friends in ((("2", "1"), 120, 49), (("3", "1"), 160, 73), (("3", "1/2"), 400, 140)):
        policy = OPEN.guarded(*guard)
        yield full_row(Setting(n, "triangles", policy), True, friends, FRIEND_VISIBLE)
        yield full_row(Setting(n, "triangles", MIXED.guarded(*guard)), True, friends // 3, FRIEND_VISIBLE)
    for change in (ON_REACH, ON_SUM):
        yield full_row(Setting(60, "triangles", NOTHING, change=change), True, 3)
        yield full_row(Setting(90, "triangles", OPEN.guarded("3", "1"), change=change), True, 8, FRIEND_VISIBLE)
    yield far_row(560, 24)
    quiet = Setting(80, "triangles", NOTHING, silent=frozenset(range(20, 70)))
    yield full_row(quiet, True, 15)
    yield full_row(quiet, False, 20)
    mixed = Setting(530, "triangles", MIXED.guarded("3", "1"), public_edges=public_edges(530))
    for seed, kind in ((1, PRIVATE), (2, FRIEND_VISIBLE)):
        yield World(mixed, some(mixed, 0.5, seed), crowd(mixed, 0.1, seed), 3, _of_class(mixed, 3, kind)[40])
    small = Setting(40, "triangles", MIXED)
    for seed, kind in ((3, PRIVATE), (4, FRIEND_VISIBLE)):
        start = World(small, some(small, 0.6, seed), crowd(small, 0.2, seed), 1, _of_class(small, 1, kind)[5])
        yield climbed(start, 150, seed)


def public_edges(n: int) -> tuple[tuple[int, int], ...]:
    """An edge at every second public position of the mixed policy."""
    view = Setting(n, "triangles", MIXED).view
    places = np.flatnonzero(np.unpackbits(view.class_bits[PUBLIC], count=view.positions, bitorder="little"))[::2]
    rows, columns = np.triu_indices(n, 1)
    return tuple(zip(rows[places].tolist(), columns[places].tolist(), strict=True))


def cycle_worlds() -> Iterator[World]:
    """Lists on both sides of what decides the bound; paths of both signs; all classes, weights up to 3."""
    for n, friends in ((24, 6), (120, 17), (520, 12)):
        yield full_row(Setting(n, "four_cycles", NOTHING), True, friends)
    yield full_row(Setting(150, "four_cycles", OPEN.guarded("3", "1")), True, 60, FRIEND_VISIBLE)
    for change, policy in ((as_it_is, NOTHING), (ON_REACH, NOTHING), (ON_SUM, NOTHING), (ON_REACH, OPEN)):
        setting = Setting(40, "four_cycles", policy, change=change)
        yield opposed(setting)
    quiet = Setting(60, "four_cycles", NOTHING, silent=frozenset(range(10, 40)))
    yield full_row(quiet, True, 9)
    mixed = Setting(200, "four_cycles", MIXED.guarded("3", "1"))
    yield World(mixed, some(mixed, 0.3, 5), crowd(mixed, 0.1, 5), 2, _of_class(mixed, 2, PRIVATE)[30])
    small = Setting(24, "four_cycles", MIXED)
    for seed, kind in ((3, PRIVATE), (4, FRIEND_VISIBLE)):
        start = World(small, some(small, 0.5, seed), crowd(small, 0.3, seed), 1, _of_class(small, 1, kind)[3])
        yield climbed(start, 120, seed)


def audit_rows(name: str, worlds: Callable[[], Iterable[World]], about: str) -> Finding:
    """Both rounds of one edge in each of these worlds; where claims hold, the numbers beside the theorem's own."""
    found = list(worlds())
    cases = [
        large.Case(each.kind, loss_of(each), each.setting.asked_for(each.kind), each.setting.billed(each.kind))
        for each in found
    ]
    finding = large.finding_of(name, cases, about)
    for world in found if finding.holds else ():
        refuse_other_sums(world)
    return finding


# ── mutants: the real client with one thing wrong ──


def _squared(client: TwoRoundClient, survey: RowSurvey, first: FirstRound) -> tuple[Floats, Floats]:
    """Friend-visible pulls count by the square of what they should."""
    return TwoRoundClient._measure(client, recast(Squared, survey), first)


class WithoutOwnPaths(FirstRound):
    """What one friend moves a 4-cycle's pull by, without the paths over the user itself."""

    @cached_property
    def largest(self) -> float:
        return float(np.abs(self._paths).max(initial=0.0)) * (1 + 1e-6) or 1.0


Squared = replaced(RowSurvey, ratio=property(lambda survey: RowSurvey.ratio.fget(survey) ** 2))  # type: ignore[attr-defined]
SquaredWeights = replaced(TwoRoundClient, _measure=_squared)


def open_row() -> list[World]:
    """Friend-visible friends alone, as many as use the bound up."""
    return [full_row(Setting(120, "triangles", OPEN, client=SquaredWeights), True, 49, FRIEND_VISIBLE)]


def opposed_row() -> list[World]:
    """Paths of one sign, but for those over the user itself."""
    setting = Setting(40, "four_cycles", NOTHING, change=ON_REACH, reading=WithoutOwnPaths)
    return [opposed(setting)]


TRIANGLES, CYCLES = "user triangles, at size", "user 4-cycles, at size"
AUDITS: dict[str, tuple[Audit, ...]] = {
    "rows": (
        exact(
            TRIANGLES, audit_rows, triangle_worlds, "rows of 20 to 1,000 users, full, random and searched; both rounds"
        ),
        exact(CYCLES, audit_rows, cycle_worlds, "rows of 24 to 520 users, full, opposed and searched; both rounds"),
    )
}
_MUTANTS: tuple[tuple[str, str, Callable[[], Iterable[World]]], ...] = (
    (TRIANGLES, "the weight of friend-visible positions squared", open_row),
    (CYCLES, "the largest path without those over the user itself", opposed_row),
)
MUTANTS = tuple(exact(name, audit_rows, worlds, broken, broken=broken) for name, broken, worlds in _MUTANTS)
