"""A graph with a policy: what everybody knows of it, and what the laboratory knows."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadGraph, BadInput, BadPolicy
from visibility_aware_edge_ldp.model import Visibility, VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.truth.attributes import NodeTable
from visibility_aware_edge_ldp.truth.readers import read_graph

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
PAIRS = [("ann", "bob"), ("bob", "cem"), ("ann", "cem"), ("cem", "dua")]
PROFILES = VisibilityPolicy.from_profiles({"ann": "public", "bob": "public"})


@pytest.fixture
def world() -> VisibilityAwareGraph:
    return VisibilityAwareGraph(PAIRS, PROFILES)


@pytest.mark.parametrize("source", [PAIRS, nx.Graph(PAIRS), read_graph(PAIRS)], ids=["pairs", "networkx", "graph"])
def test_the_same_world_from_every_source(source: Any) -> None:
    world = VisibilityAwareGraph(source, PROFILES)
    assert (world.graph.n, world.graph.m) == (4, 4)
    assert world.edge_counts == {PUBLIC: 1, FRIEND_VISIBLE: 2, PRIVATE: 1}


def test_visibility_of_edges_and_of_non_edges(world: VisibilityAwareGraph) -> None:
    assert world.visibility("ann", "bob") is PUBLIC
    assert world.visibility("ann", "cem") is FRIEND_VISIBLE
    assert world.visibility("ann", "dua") is FRIEND_VISIBLE  # no edge there
    assert world.visibility("cem", "dua") is PRIVATE


def test_visibility_is_the_same_from_both_ends(world: VisibilityAwareGraph) -> None:
    for first, second in combinations(world.graph.names, 2):
        assert world.visibility(first, second) is world.visibility(second, first)


@pytest.mark.parametrize("ends", [("ann", "ann"), ("ann", "eve"), ("eve", "ann"), (0, 1)])
def test_visibility_of_what_is_no_position(world: VisibilityAwareGraph, ends: tuple[Any, Any]) -> None:
    with pytest.raises(BadPolicy, match="not two nodes of this graph"):
        world.visibility(*ends)


def test_the_public_view_holds_public_edges_only(world: VisibilityAwareGraph) -> None:
    names = world.graph.names
    assert [(names[u], names[v]) for u, v in world.public.edges] == [("ann", "bob")]
    assert world.public.class_sizes == {PUBLIC: 1, FRIEND_VISIBLE: 4, PRIVATE: 1}


def test_edge_counts_sum_to_the_edges() -> None:
    world = VisibilityAwareGraph(nx.gnm_random_graph(40, 200, seed=1), VisibilityPolicy(0.2, 0.3))
    assert sum(world.edge_counts.values()) == 200
    assert world.edge_counts[PUBLIC] == len(world.public.edges) > 0


def test_an_all_private_world_has_no_public_edges() -> None:
    world = VisibilityAwareGraph(PAIRS, VisibilityPolicy.nothing())
    assert len(world.public.edges) == 0
    assert world.edge_counts == {PUBLIC: 0, FRIEND_VISIBLE: 0, PRIVATE: 4}


def test_hubs_are_resolved_and_stay_marked() -> None:
    world = VisibilityAwareGraph(PAIRS, VisibilityPolicy.public_hubs(0.25))
    assert world.policy.is_oracle
    assert {name for name in ("ann", "bob", "dua") if world.visibility("cem", name) is PUBLIC} == {"ann", "bob", "dua"}
    assert world.visibility("ann", "bob") is PRIVATE


def test_it_prints_sizes_and_the_policy_and_no_names(world: VisibilityAwareGraph) -> None:
    assert repr(world) == "<VisibilityAwareGraph: 4 nodes, 4 edges, 2 public profiles (rule 'both')>"


def test_a_policy_is_needed_or_its_name() -> None:
    with pytest.raises(BadPolicy, match="A VisibilityPolicy is needed, or its name; got int"):
        VisibilityAwareGraph([(0, 1)], 3)  # type: ignore[arg-type]
    with pytest.raises(BadPolicy, match="neither a file nor a policy's name"):
        VisibilityAwareGraph([(0, 1)], "everything")
    assert str(VisibilityAwareGraph([(0, 1)], "nothing").policy) == str(VisibilityAwareGraph([(0, 1)]).policy)


def test_a_graph_is_needed() -> None:
    with pytest.raises(BadGraph):
        VisibilityAwareGraph(7, VisibilityPolicy.nothing())


def test_unknown_nodes_are_refused() -> None:
    world = VisibilityAwareGraph(PAIRS, VisibilityPolicy.from_profiles({"eve": "public"}))
    with pytest.raises(BadPolicy, match="'eve'"):
        world.public  # noqa: B018


def test_policies_of_common_ground_are_taken_too() -> None:
    assert VisibilityAwareGraph(PAIRS, AnyPolicy.nothing()).edge_counts[PRIVATE] == 4


def test_a_policy_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('kind = "fractions"\npublic = 0.15\nfriend_visible = 0.35\n', encoding="utf-8")
    policy = VisibilityPolicy.from_file(str(file))
    assert isinstance(policy, VisibilityPolicy)
    assert policy == VisibilityPolicy(0.15, 0.35, 0.5)


def test_an_oracle_from_a_file_stays_marked(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('kind = "hubs"\nfraction = 0.25\n', encoding="utf-8")
    assert VisibilityPolicy.from_file(str(file)).is_oracle


def test_a_joined_oracle_makes_a_world() -> None:
    world = VisibilityAwareGraph(PAIRS, VisibilityPolicy.public_hubs(0.25) | VisibilityPolicy.nothing())
    assert world.visibility("cem", "dua") is PUBLIC


def test_attributes_from_a_mapping_a_table_and_a_frame_are_the_same_policy() -> None:
    pandas = pytest.importorskip("pandas")
    table = NodeTable(["a", "b", "c"], {"school": np.array(["x", "x", ""])})
    frame = pandas.DataFrame({"node": ["a", "b", "c"], "school": ["x", "x", None]})
    mapping = {"a": {"school": "x"}, "b": {"school": "x"}, "c": {"school": None}}
    rules = [{"same": "school", "class": "public"}]
    policies = [
        VisibilityPolicy.from_attributes(each, rules) for each in (mapping, table, frame, frame.set_index("node"))
    ]
    assert len({policy.digest for policy in policies}) == 1
    with pytest.raises(BadInput, match="DataFrame"):
        VisibilityPolicy.from_attributes([1, 2], rules)
