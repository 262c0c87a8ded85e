"""The leak check: policies and scopes made from edges are flagged, others are not.  [LEAK.1-5]"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from conftest import DataFolder
from visibility_aware_edge_ldp.audit.leakage import (
    FALSE_ALARM,
    FLAGGED,
    MANY_DEALS,
    PASSED,
    UNTESTED,
    Leak,
    auc,
    deals,
    dealt_anew,
    leak,
    sample_positions,
    standing_out,
    stated_attributes,
)
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.scope import Outside, Scope, list_scope, named_scope, public_lists
from visibility_aware_edge_ldp.truth.attributes import attribute_rows, read_attributes
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

GROUPS = 4


def homophilous(n: int = 96, seed: int = 0) -> Graph:
    """Users of the same group know each other far more often, and some know many."""
    draw = np.random.default_rng(seed)
    u, v = np.triu_indices(n, 1)
    liveliness = draw.pareto(2.5, n) + 0.5
    chance = np.where(u % GROUPS == v % GROUPS, 0.3, 0.05) * np.sqrt(liveliness[u] * liveliness[v])
    joined = draw.random(u.size) < np.minimum(chance, 0.9)
    return Graph(range(n), np.stack([u, v], axis=1)[joined].astype(np.int32))


GRAPH = homophilous()
EDGES = [(int(u), int(v)) for u, v in GRAPH.edges]
TABLE = {user: {"group": user % GROUPS} for user in range(GRAPH.n)}
SAME_GROUP = VisibilityPolicy.from_attributes(TABLE, [{"same": "group", "class": "friend_visible"}])


def unlabelled(policy: VisibilityPolicy) -> VisibilityPolicy:
    """The same choice, by somebody who does not say that he looked."""
    return VisibilityPolicy.of(policy.resolved(GRAPH.names, GRAPH.degrees).rule)


FROM_EDGES = {
    "friend-visible where edges are": VisibilityPolicy.from_positions(friend_visible=EDGES),
    "half of the edges are public": VisibilityPolicy.from_positions(public=EDGES[::2]),
    "a tenth of the edges are friend-visible": VisibilityPolicy.from_positions(friend_visible=EDGES[::10]),
    "true hubs, list for everybody": unlabelled(VisibilityPolicy.public_hubs("0.1")),
    "true hubs, both ends": unlabelled(VisibilityPolicy.public_hubs("0.1", rule="both")),
    "true degree called an attribute": VisibilityPolicy.from_attributes(
        {u: {"band": int(GRAPH.degrees[u]) // 8} for u in range(GRAPH.n)}, [{"same": "band", "class": "public"}]
    ),
}
FROM_PUBLIC_THINGS = {
    "nothing": VisibilityPolicy.nothing(),
    "hash": VisibilityPolicy("0.3", "0.3", "0.4"),
    "drawn profiles, any": VisibilityPolicy.public_profiles("0.2"),
    "drawn profiles, both": VisibilityPolicy.public_profiles("0.3", "both"),
}


@pytest.mark.parametrize("name", FROM_EDGES)
@pytest.mark.parametrize("declared", [None, TABLE], ids=["nothing declared", "groups declared"])
def test_a_policy_made_from_edges_is_flagged(name: str, declared: dict[int, dict[str, int]] | None) -> None:
    found = leak(GRAPH, FROM_EDGES[name], declared)
    assert found.flagged
    assert found.chance <= FALSE_ALARM
    assert "declared" in found.advice


@pytest.mark.parametrize("name", FROM_PUBLIC_THINGS)
def test_a_policy_made_from_public_coins_is_not(name: str) -> None:
    found = leak(GRAPH, FROM_PUBLIC_THINGS[name])
    assert found.verdict == PASSED
    assert found.passed
    assert abs(found.auc - 0.5) < 0.06


def test_an_oracle_is_flagged_by_its_own_label() -> None:
    found = leak(GRAPH, VisibilityPolicy.public_hubs("0.1"))
    assert found.flagged
    assert "oracle" in found.advice


def test_homophily_is_explained_by_what_was_declared_and_by_nothing_else() -> None:
    silent, declared = leak(GRAPH, SAME_GROUP), leak(GRAPH, SAME_GROUP, TABLE)
    other = leak(GRAPH, SAME_GROUP, {user: {"shoe size": user // 24} for user in range(GRAPH.n)})
    assert silent.flagged
    assert other.flagged
    assert silent.explained == pytest.approx(0.5, abs=0.01)
    assert not declared.flagged
    assert declared.chance == 1
    assert declared.auc == silent.auc == pytest.approx(declared.explained)
    assert declared.auc > 0.65


def test_what_is_made_from_groups_and_edges_is_flagged_although_groups_are_declared() -> None:
    within = [(u, v) for u, v in EDGES if u % GROUPS == v % GROUPS]
    assert leak(GRAPH, VisibilityPolicy.from_positions(friend_visible=within), TABLE).flagged


EGOS = (3, 40, 77)
LISTS = VisibilityPolicy.from_profiles(dict.fromkeys(EGOS, True), "any")
WORLD = VisibilityAwareGraph(GRAPH, LISTS)
# Lists that the policy does not make public, by somebody who calls them so.
HIDDEN = VisibilityAwareGraph(GRAPH, VisibilityPolicy.from_profiles(dict.fromkeys((*EGOS, 5, 9, 12, 20), True), "any"))
DRAWN = np.random.default_rng(4).integers(0, GRAPH.n, (300, 2)).tolist()
SAME = [(u, v) for u in range(GRAPH.n) for v in range(u % GROUPS, GRAPH.n, GROUPS)]


@pytest.mark.parametrize(
    ("words", "declared"),
    [
        ("lists", None),
        ("public", None),
        ("group:group", TABLE),
        ("lists & group:group", TABLE),
        ("lists | group:group", TABLE),
    ],
)
def test_a_scope_of_public_things_is_not_flagged(words: str, declared: dict[int, dict[str, int]] | None) -> None:
    found = leak(GRAPH, WORLD.inside(words, TABLE).policy, declared)
    assert found.passed
    assert found.explained == pytest.approx(found.auc) or words == "public"


@pytest.mark.parametrize(
    ("scope", "declared"),
    [
        (Outside(list_scope(WORLD.public)), None),
        (named_scope(GRAPH.names, DRAWN), None),
        (named_scope(GRAPH.names, SAME), TABLE),
    ],
    ids=["outside lists", "a drawn file", "a file by groups"],
)
def test_nor_is_the_rest_or_a_public_file(scope: Scope, declared: dict[int, dict[str, int]] | None) -> None:
    assert leak(GRAPH, LISTS.within(scope), declared).passed


@pytest.mark.parametrize(
    "scope",
    [
        list_scope(HIDDEN.public),
        named_scope(GRAPH.names, EDGES),
        list_scope(WORLD.public) | named_scope(GRAPH.names, EDGES[::8]),
    ],
    ids=["lists of others", "the edges", "lists and some edges"],
)
@pytest.mark.parametrize("declared", [None, TABLE], ids=["nothing declared", "groups declared"])
def test_a_scope_that_looks_at_private_edges_is_flagged(
    scope: Scope, declared: dict[int, dict[str, int]] | None
) -> None:
    found = leak(GRAPH, LISTS.within(scope), declared)
    assert found.flagged
    assert found.advice.startswith("The scope")


def test_a_scope_explains_neither_itself_nor_its_policy() -> None:
    assert leak(GRAPH, VisibilityPolicy.nothing().within(public_lists(HIDDEN.public))).flagged
    assert leak(GRAPH, WORLD.inside("group:group", TABLE).policy).flagged
    hubs = unlabelled(VisibilityPolicy.public_hubs("0.1"))
    found = leak(GRAPH, VisibilityAwareGraph(GRAPH, hubs).inside("lists").policy)
    assert found.flagged
    assert found.advice.startswith("The policy")


def sharing(*sizes: int) -> dict[int, dict[str, int]]:
    """Declared attributes that so many users share, and so many others; the rest have each their own."""
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    groups += range(len(sizes), len(sizes) + GRAPH.n - len(groups))
    return {user: {"name": group} for user, group in enumerate(groups)}


@pytest.mark.parametrize(("sizes", "ways"), [((), 1), ((2,), 2), ((5,), 120), ((4, 3), 144)], ids=str)
def test_a_declaration_with_which_nothing_could_be_flagged_is_no_pass(sizes: tuple[int, ...], ways: int) -> None:
    found = leak(GRAPH, FROM_EDGES["a tenth of the edges are friend-visible"], sharing(*sizes), seed=1)
    assert (found.verdict, found.deals) == (UNTESTED, ways)
    assert not found.flagged
    assert not found.passed
    assert found.movable == sum(sizes) / GRAPH.n
    assert found.chance > FALSE_ALARM
    assert "could not be tested" in found.advice
    assert "Declare fewer" in found.advice


@pytest.mark.long
def test_200_ways_are_enough_to_pass_and_an_oracle_is_flagged_without_any() -> None:
    assert leak(GRAPH, FROM_PUBLIC_THINGS["hash"], sharing(6)).verdict == PASSED
    assert leak(GRAPH, FROM_PUBLIC_THINGS["hash"], sharing(5, 2)).verdict == PASSED
    assert leak(GRAPH, VisibilityPolicy.public_hubs("0.1"), sharing()).verdict == FLAGGED


def test_a_graph_of_few_users_cannot_be_tested() -> None:
    few = Graph(range(5), np.array([(0, 1), (1, 2)], dtype=np.int32))
    assert leak(few, VisibilityPolicy("0.3", "0.3", "0.4")).verdict == UNTESTED


def test_ways_are_counted_and_do_not_run_over() -> None:
    assert deals(np.array([0, 1, 0, 2, 1, 0])) == 12
    assert deals(np.arange(9)) == 1
    assert deals(np.repeat([0, 1], [6, 5])) == 720 * 120
    assert deals(np.zeros(2000, np.int64)) == deals(np.repeat(np.arange(900), 2)) == MANY_DEALS


def test_the_verdict_is_told_as_plain_values() -> None:
    told = leak(GRAPH, FROM_PUBLIC_THINGS["nothing"], sharing(2)).as_dict()
    assert (told["verdict"], told["flagged"], told["passed"], told["deals"]) == (UNTESTED, False, False, 2)


@pytest.mark.long
def test_false_alarms_are_as_rare_as_stated() -> None:
    """40 policies that are blind to the edges: their p-values are uniform."""
    small = homophilous(20, seed=1)
    policies = [VisibilityPolicy("0.3", "0.3", salt=str(salt)) for salt in range(20)]
    policies += [VisibilityPolicy.public_profiles("0.3", "both", salt=str(salt)) for salt in range(20)]
    chances = np.array([leak(small, policy, seed=i).chance for i, policy in enumerate(policies)])
    assert (chances <= FALSE_ALARM).sum() <= 2  # of a binomial(40, 0.005): more with chance 0.001
    assert (chances <= 0.1).sum() <= 12
    assert 0.36 < chances.mean() < 0.66


def test_auc_is_the_share_of_pairs_in_order() -> None:
    draw = np.random.default_rng(3)
    scores, joined = draw.integers(0, 6, 60), draw.random(60) < 0.3
    pairs = list(product(scores[joined], scores[~joined]))
    assert auc(scores, joined) == pytest.approx(np.mean([(a > b) + (a == b) / 2 for a, b in pairs]))
    assert auc(scores, np.ones(60, np.bool_)) == 0.5


def test_shuffles_stay_within_groups_and_reach_everybody() -> None:
    groups, coins = np.array([0, 1, 0, 2, 1, 0]), keyed_random_bytes(seeded_key(4))
    dealt = np.array([dealt_anew(groups, coins) for _ in range(200)])
    assert (groups[dealt] == groups).all()
    assert all(np.unique(dealt[:, i]).tolist() == np.flatnonzero(groups == groups[i]).tolist() for i in range(6))
    counts = np.unique(dealt[:, [0, 2, 5]], axis=0, return_counts=True)[1]
    assert counts.size == 6
    assert counts.min() > 15


def test_what_never_moves_stands_out_nowhere() -> None:
    table = np.array([[0.7, 0.9], [0.7, 0.5], [0.7, 0.5], [0.7, 0.5]])
    assert standing_out(table)[:, 0].max() == 0
    assert standing_out(table)[0, 1] > 1.5


def test_samples_of_a_large_graph_are_edges_and_non_edges() -> None:
    large = homophilous(200, seed=2)
    sample = sample_positions(large, 500, keyed_random_bytes(seeded_key(5)))
    edges = {tuple(edge) for edge in large.edges.tolist()}
    drawn = list(zip(sample.u.tolist(), sample.v.tolist(), strict=True))
    assert sample.joined.sum() == (~sample.joined).sum() == 500
    assert len(set(drawn)) == 1000
    assert [pair in edges for pair in drawn] == sample.joined.tolist()
    assert all(u < v for u, v in drawn)


def test_a_sampled_check_agrees_with_the_whole() -> None:
    whole, part = leak(GRAPH, SAME_GROUP), leak(GRAPH, SAME_GROUP, sample=400)
    assert part.interval[0] < whole.auc < part.interval[1]
    assert part.flagged


def test_a_large_roster_is_measured_among_some_of_its_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of what was declared still explain themselves to the last digit."""
    monkeypatch.setattr("visibility_aware_edge_ldp.audit.leakage.MOST_USERS", 60)
    declared = leak(GRAPH, SAME_GROUP, TABLE)
    assert declared.chance == 1
    assert declared.auc == pytest.approx(declared.explained)
    assert leak(GRAPH, FROM_EDGES["half of the edges are public"], TABLE).flagged


def test_too_few_shuffles_are_refused() -> None:
    with pytest.raises(BadInput, match="at least 199"):
        leak(GRAPH, SAME_GROUP, shuffles=100)


def test_a_policy_can_state_its_attributes() -> None:
    stated = stated_attributes(SAME_GROUP)
    assert stated == TABLE
    assert stated_attributes(FROM_PUBLIC_THINGS["hash"]) is None


def test_a_college_where_dorms_explain_friendship(data_folder: DataFolder) -> None:
    """Caltech: a rule over dorms predicts friendship, the dorms explain it all, and true hubs are found."""
    graph = read_graph(data_folder / "fb100-Caltech36.edges.txt.gz")
    rows = attribute_rows(read_attributes(data_folder / "fb100-Caltech36.nodes.csv.gz"), 0)
    policy = VisibilityPolicy.from_attributes(rows, [{"same": "dorm", "class": "friend_visible"}])

    def measured(one: VisibilityPolicy, declared: object = None) -> Leak:
        return leak(graph, one, declared, sample=2000)  # type: ignore[arg-type]

    silent, explained = measured(policy), measured(policy, stated_attributes(policy))
    assert silent.flagged
    assert not explained.flagged
    assert 0.63 < explained.auc < 0.71
    hubs = VisibilityPolicy.of(VisibilityPolicy.public_hubs("0.05").resolved(graph.names, graph.degrees).rule)
    assert measured(hubs, stated_attributes(policy)).flagged


def test_a_policy_that_hides_nothing_cannot_be_tested() -> None:
    found = leak(GRAPH, VisibilityPolicy("1"))
    assert found.verdict == UNTESTED
    assert "hides nothing" in found.advice
