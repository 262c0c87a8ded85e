"""Public hubs: who they are, what follows from epsilon, and their counts of triangles."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from typing import Any

from plain_client.canonical import demand
from plain_client.noise import Coins, discrete_laplace, draw, power_noise
from plain_client.policy import Policy
from plain_client.rules import CLASSES, HIDDEN, PUBLIC

SHARES = [Fraction(1, each) for each in (100, 50, 30, 20, 15, 12, 10, 8, 6, 5, 4)]
_FARTHEST = 1 << 62


@dataclass
class Plan:
    """The hubs in their order, everybody's marks, and who hides something."""

    hubs: list[int]
    marks: list[int]
    hiding: list[bool]

    @property
    def digest(self) -> str:
        listed = ", ".join(map(str, self.hubs)) + ("," if len(self.hubs) == 1 else "")
        count = len(self.marks)
        packed = struct.pack(f">{count}q", *self.marks) + bytes(map(int, self.hiding))
        return hashlib.sha256(f"3 ({listed}) ".encode() + packed).hexdigest()

    def reach(self, u: int, v: int) -> int:
        both, either = self.marks[u] & self.marks[v], self.marks[u] | self.marks[v]
        return (either & (2 * (both & -both) - 1) if both else either).bit_count()

    def is_loose(self, u: int, v: int) -> bool:
        return not self.marks[u] & self.marks[v]

    def largest_reach(self, loose: bool) -> int:
        people = [person for person, hides in enumerate(self.hiding) if hides]
        return max((self.reach(u, v) for u, v in combinations(people, 2) if self.is_loose(u, v) == loose), default=0)


def plan_of(nodes: int, policy: Policy) -> Plan:
    hiding = [any(policy.of(u, v) != PUBLIC for v in range(nodes) if v != u) for u in range(nodes)]
    pairs = [pair for u, v in policy.edges for pair in ((u, v), (v, u)) if not hiding[pair[0]] and hiding[pair[1]]]
    hubs: list[int] = []
    while pairs and len(hubs) < 16:
        counts = {a: sum(each == a for each, _ in pairs) for a, _ in pairs}
        hubs.append(min(counts, key=lambda a: (-counts[a], a)))
        taken = {b for a, b in pairs if a == hubs[-1]}
        pairs = [pair for pair in pairs if pair[1] not in taken]
    demand(hubs, "there are no hubs")
    marks = [0] * nodes
    for place, hub in enumerate(hubs):
        joined = {end for edge in policy.edges if hub in edge for end in edge}
        for person in joined:
            if hiding[person] and marks[person].bit_count() < 3:
                marks[person] |= 1 << place
    return Plan(hubs, marks, hiding)


def _spread(share: Fraction) -> Decimal:
    """σ(h)."""
    a = Decimal(share.denominator) / Decimal(share.numerator)
    low, high, joint = 1 - 1 / a, 1 + 1 / a, (1 - 1 / a) ** (a - 1)
    core = (1 - low ** (a + 1)) / (a + 1) - (1 - low ** (a + 2)) / (a + 2)
    tail = joint * (high**3 / (a - 2) - high**2 / (a - 1))
    return ((2 * joint / a + 2 * a * a * (core + tail)) / (1 + 2 * joint / a)).sqrt()


def hub_numbers(plan: Plan, epsilon: Fraction, policy: Policy) -> tuple[dict[str, Any], dict[str, Any]]:
    """The mechanism, and what the survey says beside World."""
    kinds = [kind for kind in HIDDEN if kind in policy.present]
    loss = epsilon * min(policy.multipliers[kind] for kind in kinds)
    held, loose = plan.largest_reach(False), plan.largest_reach(True)
    weight = max(held, loose + 1 if loose else 0) or 1
    sizes = [sum(mark >> place & 1 for mark in plan.marks) for place in range(len(plan.hubs))]

    def floors(share: Fraction) -> list[int]:
        least = -int(-(weight**2) / (share * loss * (1 - Fraction(1, 1 << 60))) // 1)
        return [max(least, size // 2 + 1) for size in sizes]

    def total(share: Fraction) -> Decimal:
        return _spread(share) * Decimal(sum(each**2 for each in floors(share))).sqrt()

    with localcontext() as context:
        context.prec = 60
        share = min(SHARES, key=total)
    rate = loss / (loose + 1) if loose else Fraction(0)
    common = {"plan": plan.digest, "floors": {"all": floors(share)}}
    mechanism = {"kind": "hub counts", "sharing": "shared", "hubs": plan.hubs, "keep": 3, "loose": str(rate)}
    mechanism |= {"noise": {"all": {"epsilon": str(loss), "share": str(share)}}, "loose reach": loose}
    mechanism |= {"classes": [CLASSES[kind] for kind in kinds]} | common
    survey = {"trust": "neighbourhood", "question": "triangles of public hubs, shared", "loss": str(loss)}
    return mechanism, survey | common | {"noise": {"all": [str(loss), str(share)]}}


def hub_report(
    plan: Plan, charter: dict[str, Any], policy: Policy, hub: int, seen: Iterable[tuple[int, int]], coins: Coins
) -> bytes:
    """VAEB."""
    place, mechanism = plan.hubs.index(hub), charter["mechanisms"][0]
    count, change, loose = counted(plan, policy, place, seen)
    noise, rate = mechanism["noise"]["all"], Fraction(mechanism["loose"])
    loss, share = Fraction(noise["epsilon"]), Fraction(noise["share"])
    scale = max(mechanism["floors"]["all"][place], change)
    values = [count + draw(power_noise(loss, share, Fraction(scale)), coins, max(1, int(scale / loss)))]
    values.append(loose + draw(discrete_laplace(rate), coins, max(1, round(1 / rate))) if rate else 0)
    cut = (max(-_FARTHEST, min(each, _FARTHEST)) for each in values)
    return struct.pack(">4sBBB", b"VAEB", 1, place, 1) + bytes.fromhex(charter["survey"]) + struct.pack(">2q", *cut)


def counted(plan: Plan, policy: Policy, place: int, seen: Iterable[tuple[int, int]]) -> tuple[int, int, int]:
    """The triangles, the largest weighted change, and the loose edges of a hub's territory."""
    marks, bit = plan.marks, 1 << place
    hidden = {tuple(sorted(pair)) for pair in seen if policy.of(*pair) != PUBLIC}
    own = {(u, v) for u, v in hidden if _lowest(marks[u] & marks[v]) == bit}
    kept = {(u, v) for u, v in hidden if not marks[u] & marks[v] & (bit - 1)} | set(policy.edges)
    near: dict[int, set[int]] = {person: set() for person in range(len(marks))}
    for u, v in kept:
        near[u].add(v)
        near[v].add(u)
    triangles = {tuple(sorted((u, v, z))) for u, v in own for z in near[u] & near[v]}
    change = 0
    for u in (person for person, mark in enumerate(marks) if mark & bit):
        for x in (person for person, hides in enumerate(plan.hiding) if hides and person != u):
            if marks[u] & marks[x] & (bit - 1):
                continue
            closing = near[u] & near[x]
            if _lowest(marks[u] & marks[x]) != bit:
                closing = {z for z in closing if _pair(u, z) in own}
            change = max(change, len(closing) * (plan.reach(u, x) + plan.is_loose(u, x)))
    loose = [(u, v) for u, v in hidden if plan.is_loose(u, v) and _lowest(marks[u] | marks[v]) == bit]
    return len(triangles), change, len(loose)


def _lowest(mark: int) -> int:
    return mark & -mark


def _pair(u: int, v: int) -> tuple[int, int]:
    return min(u, v), max(u, v)
