"""The policy: rule, multipliers, scope, groups, and the digest that surveys name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from plain_client.canonical import demand, fraction, members, sha256, written
from plain_client.rules import CLASSES, FRIEND_VISIBLE, HIDDEN, PRIVATE, PUBLIC, Names, Of, rule_on
from plain_client.scope import scope_on

AGREED = "those who were chosen as hubs had agreed to publish their friend lists, and everybody knew the rule"


@dataclass
class Policy:
    """The policy inside its scope: classes, multipliers, the digest that surveys name, and which positions are in."""

    of: Of
    present: set[int]
    digest: str
    multipliers: dict[int, Fraction]
    inside: Callable[[int, int], bool]
    edges: list[tuple[int, int]]
    groups: dict[str, Any] | None
    scoped: bool


def _digest(described: dict[str, Any], multipliers: dict[str, str]) -> str:
    usual = multipliers == {"FRIEND_VISIBLE": "2", "PRIVATE": "1"}
    return sha256(written(described if usual else {"kind": "guarded", "multipliers": multipliers, "rule": described}))


def policy_on(document: Any, names: Names, edges: list[tuple[int, int]]) -> Policy:
    """The policy of a document on a roster; refuses what does not fit."""
    demand(isinstance(document, dict), "a policy is an object")
    extra = [name for name in ("scope", "groups") if name in document]
    usual = ("format", "digest", "rule", "multipliers", "assumptions", "paid")
    found = members(document, *usual, *extra)
    demand(found["format"] == "va-edge-ldp policy 1" and isinstance(found["paid"], list), "a policy of this format")
    demand(isinstance(found["assumptions"], list) and set(found["assumptions"]) <= {AGREED}, "an oracle")
    given = members(found["multipliers"], *CLASSES[1:])
    losses = {kind: fraction(given[CLASSES[kind]]) for kind in HIDDEN}
    demand(all(0 < each <= 1000 for each in losses.values()), "multipliers")
    demand(losses[PRIVATE] <= losses[FRIEND_VISIBLE], "PRIVATE is guarded at least as well")
    rule = rule_on(found["rule"], names)
    demand(found["digest"] == _digest(rule.described, given), "the digest of another policy")
    demand(all(rule.of(u, v) == PUBLIC for u, v in edges), "public edges at PUBLIC positions")
    groups = _groups(found["groups"], len(names)) if "groups" in found else None
    if "scope" not in found:
        digest = str(found["digest"])
        return Policy(rule.of, rule.present, digest, losses, lambda u, v: True, edges, groups, False)
    inside, scope = scope_on(found["scope"], names, rule, edges)
    digest = _digest({"kind": "inside", "rule": rule.described, "scope": scope}, given)
    kept = [(u, v) for u, v in edges if inside(u, v)]

    def of(u: int, v: int) -> int:
        return rule.of(u, v) if inside(u, v) else PUBLIC

    return Policy(of, rule.present | {PUBLIC}, digest, losses, inside, kept, groups, True)


def _groups(groups: Any, nodes: int) -> dict[str, Any]:
    found = members(groups, "attribute", "labels", "members")
    labels, places = found["labels"], found["members"]
    demand(isinstance(labels, list) and isinstance(places, list) and len(places) == nodes, "a group for everybody")
    texts = (found["attribute"], *labels)
    demand(all(isinstance(each, str) and 1 <= len(each) <= 200 and each.isprintable() for each in texts), "labels")
    demand(1 <= len(labels) <= 100 and len(set(labels)) == len(labels), "1 to 100 different labels")
    demand(all(type(each) is int and 0 <= each < len(labels) for each in places), "a group for everybody")
    return found
