"""People and places as a policy: two of one side are public and empty, and the rest is as the policy says."""

from __future__ import annotations

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.errors import BadPolicy, BadStatistic
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.rules import ByTable, PeopleAndPlaces, SameClass
from visibility_aware_edge_ldp.public.scope import named_scope
from visibility_aware_edge_ldp.public.statistic import SIDED, STATISTICS, exact
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD, POSITION, USER
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
N, PEOPLE = 9, 6
POLICIES = {
    "nothing": VisibilityPolicy.nothing(),
    "profiles": VisibilityPolicy.public_profiles("1/3", "both"),
    "hash": VisibilityPolicy("0.2", "0.3"),
    "listed": VisibilityPolicy.from_positions([(0, 7)], [(1, 8), (2, 3)]),
}


@pytest.mark.parametrize("name", POLICIES)
def test_two_of_one_side_are_public_and_others_as_the_policy_says(name: str) -> None:
    u, v = endpoints(N, 0, N * (N - 1) // 2)
    plain, between = (policy.bind(range(N)) for policy in (POLICIES[name], POLICIES[name].between(PEOPLE)))
    one_side = (u < PEOPLE) == (v < PEOPLE)
    assert (between.of(u, v) == np.where(one_side, PUBLIC, plain.of(u, v))).all()
    assert (between.of(u, v) == between.of(v, u)).all()
    assert (between.range(0, u.size) == between.of(u, v)).all()
    assert {Visibility(int(kind)) for kind in between.of(u, v)} <= between.present
    # Where kinds of nodes decided the classes, they still do: nothing gets slower.
    assert (between.by_kinds is None) == (plain.by_kinds is None)


def test_a_scope_and_losses_are_kept_and_the_digest_names_the_number_of_people() -> None:
    policy = VisibilityPolicy("0.2", "0.3").guarded("3", "1/2")
    scope = named_scope(range(N), [(0, 7), (1, 2)])
    made = policy.within(scope).between(PEOPLE)
    assert (made.people, made.scope, made.multipliers) == (PEOPLE, scope, policy.multipliers)
    assert made == policy.between(PEOPLE).within(scope)
    assert made.between(PEOPLE) == made
    assert made.outside.people == PEOPLE  # so that a sample of the rest asks nobody of one side
    assert len({policy.digest, policy.between(PEOPLE).digest, policy.between(PEOPLE - 1).digest}) == 3
    assert policy.people is None
    with pytest.raises(BadPolicy, match="before they are given"):
        policy.between(PEOPLE) | policy


def test_it_says_what_it_is() -> None:
    rule = PeopleAndPlaces(SameClass(PRIVATE), 2)
    assert str(rule) == "every position is PRIVATE, between people and places alone"
    assert isinstance(rule.bind(range(3)), ByTable)
    assert rule.present(range(3)) == {PUBLIC, PRIVATE}
    sides = (SIDED[name].derived for name in ("people_degrees", "place_degrees"))
    assert [list(range(5))[side.members(2)] for side in sides if side] == [[0, 1], [2, 3, 4]]


def test_only_positions_of_a_person_and_a_place_are_asked() -> None:
    world = va.VisibilityAwareGraph(va.read_graph([(0, 0), (1, 0), (1, 1)], bipartite=True, nodes=(4, 3)))
    assert world.public.people == 4
    assert world.public.class_sizes == {PUBLIC: 6 + 3, FRIEND_VISIBLE: 0, PRIVATE: 12}
    assert world.visibility(0, "place 2") is PRIVATE
    assert world.visibility(0, 3) is PUBLIC
    with pytest.raises(BadPolicy, match="Places report no degree"):
        va.estimate(world.whole, policy="hubs:1,epsilon=1")


def test_other_statistics_and_models_are_refused_in_one_sentence() -> None:
    friends, visits = va.read_graph([(0, 1), (1, 2)]), va.read_graph([(0, 1), (1, 2)], bipartite=True)
    for name in ("butterflies", "people_degrees", "place_degrees"):
        for refused in (
            lambda name=name: exact(friends, name),
            lambda name=name: va.estimate(friends, "user", 1, [name]),
        ):
            with pytest.raises(BadStatistic, match="is about people and places; read the graph with --bipartite"):
                refused()
        assert STATISTICS[name].bipartite
    with pytest.raises(BadStatistic, match="position and user models, not in curator"):
        va.estimate(visits, "curator")
    with pytest.raises(BadStatistic, match=r"degrees is not told .* places answer nothing there"):
        va.estimate(visits, "user", 1, ["degrees"])
    for name in ("triangles", "mixing", "density", "tail:1"):
        for model in (POSITION, USER):
            with pytest.raises(BadStatistic, match=f"{name} is not told of people and places"):
                va.estimate(visits, model.name, 1, [name])
    assert set(USER.on_places) < set(POSITION.on_places)
    assert not NEIGHBOURHOOD.on_places + CURATOR.on_places


@pytest.mark.parametrize("asked", [lambda g: va.plan(family=g), lambda g: va.plan(30, 60, statistics="butterflies")])
def test_a_plan_says_that_it_cannot_tell(asked) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(va.BadInput, match="A plan cannot tell the errors of people and places"):
        asked(va.read_graph([(0, 1), (1, 2)], bipartite=True))


def test_a_comparison_and_lower_bounds_say_that_they_do_not_know_them() -> None:
    from visibility_aware_edge_ldp.evaluation.trials import bound_rows

    world = va.VisibilityAwareGraph(va.read_graph([(0, 1), (1, 2)], bipartite=True))
    with pytest.raises(va.BadInput, match="does not know people and places"):
        va.compare(world.whole, "nothing")
    with pytest.raises(va.BadInput, match="Lower bounds are not known"):
        bound_rows(world, {}, "user", 1)
