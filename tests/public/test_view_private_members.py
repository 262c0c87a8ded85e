"""Who has anything to hide: the same answer as looking at every position, or more where that would take too long."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.public import view as views
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

N = 90
TYPES = {i: "abc"[i % 3] for i in range(N)}
TABLE = {
    ("a", "a"): "public", ("a", "b"): "private", ("a", "c"): "public",
    ("b", "b"): "friend_visible", ("b", "c"): "public", ("c", "c"): "public",
}  # fmt: skip
POLICIES = {
    "nothing": VisibilityPolicy.nothing(),
    "everything": VisibilityPolicy(1),
    "hash": VisibilityPolicy("0.2", "0.3", "0.5"),
    "rare": VisibilityPolicy("0.98", "0.01", "0.01"),
    "any": VisibilityPolicy.from_profiles({0: "public", 5: "public", 89: "public"}, "any"),
    "both": VisibilityPolicy.public_profiles("0.1", "both"),
    "one private": VisibilityPolicy.from_profiles(dict.fromkeys(range(1, N), "public"), "any"),
    "types": VisibilityPolicy.from_types(TYPES, TABLE, "c"),
    "listed": VisibilityPolicy.from_positions(friend_visible=[(3, 4), (4, 7)], otherwise="public"),
    "most open": VisibilityPolicy.from_profiles({1: "public"}, "any") | VisibilityPolicy("0.5"),
}


def by_brute_force(view: PublicView) -> np.ndarray:
    u, v = np.triu_indices(view.n, 1)
    classes = view.classes.of(u, v)
    found = np.zeros((len(NON_PUBLIC), view.n), bool)
    for row, kind in enumerate(NON_PUBLIC):
        found[row, u[classes == kind]] = found[row, v[classes == kind]] = True
    return found


def view_of(policy: VisibilityPolicy, n: int = N) -> PublicView:
    return PublicView(range(n), policy, np.empty((0, 2), np.int32))


@pytest.mark.parametrize("name", POLICIES)
def test_as_if_every_position_were_looked_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of(POLICIES[name])
    assert (view.users_with(NON_PUBLIC) == by_brute_force(view)).all()
    monkeypatch.setattr(views, "PROBES", (2, 3))
    monkeypatch.setattr(views, "_BLOCK", 64)
    view = view_of(POLICIES[name])  # the first one remembers what was found
    assert (view.users_with(NON_PUBLIC) == by_brute_force(view)).all()
    assert view.users_with(()).shape == (0, N)


def test_where_looking_takes_too_long_everybody_in_doubt_is_counted_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_LOOKED_AT", 100)
    view = view_of(POLICIES["rare"])
    assert view.users_with(NON_PUBLIC).all()
    assert not by_brute_force(view).all()


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("policy", [POLICIES["nothing"], POLICIES["hash"], POLICIES["both"]], ids=str)
def test_the_smallest_rosters(n: int, policy: VisibilityPolicy) -> None:
    view = view_of(policy, n)
    assert (view.users_with(NON_PUBLIC) == by_brute_force(view)).all()


def test_a_private_user_among_public_ones_hides_nothing() -> None:
    found = view_of(POLICIES["any"]).users_with((Visibility.PRIVATE,))
    assert np.flatnonzero(~found[0]).tolist() == [0, 5, 89]
    assert not view_of(POLICIES["one private"]).users_with((Visibility.PRIVATE,)).any()
