"""A policy's text: what comes back is the policy that went in.  [CHARTER.4]"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign.policy_text import _KINDS, policy_bytes, policy_from_bytes
from visibility_aware_edge_ldp.campaign.signed_documents import decode, encode
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, Release
from visibility_aware_edge_ldp.public import node_rules, rules
from visibility_aware_edge_ldp.public.node_rules import AGREED
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.private_hub_selection import hub_policy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

NAMES = ["a", "b", 3, "3 ", "ü", -7, "g", "h"]
names, classes = st.sampled_from(NAMES), st.sampled_from(list(Visibility))
shares = st.fractions(0, Fraction(1, 2), max_denominator=100)
words = st.text('abcü ß"\\\n9☃', max_size=8)
values = st.none() | st.integers(-5, 5) | st.sampled_from(["x", "y", "4"]) | st.sampled_from([0.5, -1e300, 2.0])


def types_policy(types: dict[Any, str], cells: list[Visibility]) -> VisibilityPolicy:
    table = dict(zip([("s", "s"), ("s", "t"), ("t", "t")], cells, strict=True))
    return VisibilityPolicy.from_types(types, table, "s")


def attribute_policy(
    rows: dict[Any, dict[str, Any]], lines: list[tuple[str, str, Any, Visibility]]
) -> VisibilityPolicy:
    rules = [{kind: column, "value": value, "class": given} for kind, column, value, given in lines]
    return VisibilityPolicy.from_attributes({**rows, "a": {"c": 1, "d": "x"}}, rules)


def position_policy(
    public: list[tuple[Any, Any]], friends: list[tuple[Any, Any]], rest: Visibility
) -> VisibilityPolicy:
    return VisibilityPolicy.from_positions(public, friends, rest)


pairs = st.lists(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), max_size=5)
lines = st.tuples(st.sampled_from(sorted(node_rules.KINDS)), st.sampled_from("cd"), values, classes)
simple = st.one_of(
    st.builds(lambda kind: VisibilityPolicy.of(rules.SameClass(kind)), classes),
    st.builds(lambda a, b, salt: VisibilityPolicy(a, b, salt=salt), shares, shares, words),
    st.builds(
        lambda f, rule, salt: VisibilityPolicy.public_profiles(f, rule, salt=salt),
        shares,
        st.sampled_from(["any", "both"]),
        words,
    ),
    st.builds(
        VisibilityPolicy.from_profiles,
        st.dictionaries(names, st.sampled_from(["public", "private"])),
        st.sampled_from(["any", "both"]),
    ),
    st.builds(types_policy, st.dictionaries(names, st.sampled_from("st")), st.lists(classes, min_size=3, max_size=3)),
    st.builds(position_policy, pairs, pairs, classes),
    st.builds(
        attribute_policy,
        st.dictionaries(names, st.fixed_dictionaries({}, optional={"c": values, "d": values, "e": values})),
        st.lists(lines, min_size=1, max_size=3),
    ),
)
policies = st.recursive(simple, lambda inner: st.builds(lambda a, b: a | b, inner, inner), max_leaves=4)
guarded = st.builds(
    lambda policy, private, more: policy.guarded(private + more, private),
    policies,
    st.fractions("1/10", 5, max_denominator=20),
    st.fractions(0, 5, max_denominator=20),
)


@given(policies | guarded)
def test_what_comes_back_is_what_went_in(policy: VisibilityPolicy) -> None:
    data = policy_bytes(policy)
    back = policy_from_bytes(data)
    assert back.digest == policy.digest
    assert policy_bytes(back) == data
    assert (back.multipliers, back.paid, back.assumptions) == (policy.multipliers, policy.paid, policy.assumptions)
    assert str(back) == str(policy)


@given(policies)
def test_both_ends_bind_it_alike(policy: VisibilityPolicy) -> None:
    first, second = np.triu_indices(len(NAMES), 1)
    try:
        before = policy.bind(NAMES).of(first, second)
    except BadPolicy:
        return
    after = policy_from_bytes(policy_bytes(policy)).bind(NAMES).of(first, second)
    assert np.array_equal(before, after)


def test_every_kind_of_rule_but_oracles_has_a_text() -> None:
    """A new rule fails here until somebody gives it a text. Campaigns do not ask about people and places."""
    kinds = {
        each
        for module in (rules, node_rules)
        for each in vars(module).values()
        if isinstance(each, type) and hasattr(each, "describe") and hasattr(each, "bind") and each is not rules.Rule
    }
    assert kinds - {node_rules.OracleHubs, rules.PeopleAndPlaces} == {kind for kind, _ in _KINDS.values()}


def test_numbers_of_other_libraries() -> None:
    policy = VisibilityPolicy.from_profiles({np.int64(3): "public"})
    assert policy_from_bytes(policy_bytes(policy)).digest == policy.digest


@pytest.mark.parametrize(
    "policy",
    [
        VisibilityPolicy.public_hubs("1/10"),
        VisibilityPolicy.nothing() | VisibilityPolicy.public_hubs("1/10"),
        VisibilityPolicy.of(node_rules.OracleHubs(Fraction(1, 2), "any")),
        VisibilityPolicy.from_profiles({"a": "public"}, assumptions=["everybody knows that a is popular"]),
    ],
    ids=["oracle", "oracle in part", "oracle that says nothing", "assumption"],
)
def test_oracles_have_no_text(policy: VisibilityPolicy) -> None:
    with pytest.raises(BadPolicy, match="A real campaign cannot use"):
        policy_bytes(policy)


@pytest.mark.parametrize(
    "policy",
    [
        VisibilityPolicy.from_profiles({("a", 1): "public"}),
        VisibilityPolicy.from_profiles({True: "public"}),
        VisibilityPolicy.from_attributes({"a": {"c": float("nan")}}, [{"same": "c", "class": "public"}]),
        VisibilityPolicy.from_attributes({"a": {"c": np.float64(1.5)}}, [{"same": "c", "class": "public"}]),
        VisibilityPolicy.from_attributes({"a": {"c": (1, 2)}}, [{"same": "c", "class": "public"}]),
        VisibilityPolicy("1/2", salt="e\u0301"),
    ],
    ids=["a tuple as a name", "a boolean as a name", "not a number", "NumPy's float", "a tuple as a value", "not NFC"],
)
def test_what_a_text_cannot_hold_is_refused(policy: VisibilityPolicy) -> None:
    with pytest.raises(BadInput):
        policy_bytes(policy)


def test_what_was_paid_for_a_policy_is_carried() -> None:
    price = tuple((kind, Guarantee(OneEdge, Fraction(1, 3), Fraction(1, 10**6))) for kind in NON_PUBLIC)
    release = Release("ab" * 32, 1, price, "cd" * 32)
    view = PublicView(NAMES, VisibilityPolicy("1/4"), np.empty((0, 2), np.int32))
    policy = hub_policy(view, range(len(NAMES)), 2, [release])
    back = policy_from_bytes(policy_bytes(policy))
    assert policy.paid
    assert back.paid == policy.paid
    assert back.assumptions == (AGREED,)


def test_a_text_in_another_order_is_refused() -> None:
    content: Any = decode(policy_bytes(VisibilityPolicy.from_profiles({"a": "public", "b": "private"})))
    content["rule"]["types"].reverse()
    with pytest.raises(ProtocolViolation, match="not in their order"):
        policy_from_bytes(encode(content))


leaf_changes = st.sampled_from([0, -1, "x", "", [], {}, "PUBLIC", "1/2", 10**18, [[]], {"kind": "same"}])


@given(policies, st.data())
def test_a_spoilt_text_is_refused_or_another_policy(policy: VisibilityPolicy, data: st.DataObject) -> None:
    """Nothing but a refusal ever comes of a text that somebody changed."""
    content: Any = decode(policy_bytes(policy))
    where = content
    while True:
        step = data.draw(st.sampled_from(sorted(where) if isinstance(where, dict) else range(len(where))))
        inner = where[step]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            where[step] = data.draw(leaf_changes)
            break
        where = inner
    try:
        found = policy_from_bytes(encode(content))
    except ProtocolViolation:
        return
    assert policy_bytes(found) == encode(content)
