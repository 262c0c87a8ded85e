"""A campaign: its charter and documents, checked, and all that follows from epsilon."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from plain_client.canonical import (
    demand,
    fraction,
    is_hex,
    members,
    read,
    refuse_misread,
    refuse_signature,
    sha256,
    written,
)
from plain_client.hubs import Plan, hub_numbers, plan_of
from plain_client.noise import response_loss, threshold
from plain_client.policy import Policy, policy_on
from plain_client.rules import CLASSES, FRIEND_VISIBLE, HIDDEN, PRIVATE, PUBLIC
from plain_client.scope import members_digest

FORMAT = "va-edge-ldp charter 2"
HOLDING = "position {u, v}, u < v, is held by u; the roster is in the order of SHA-256 of the epoch and the name"
TEXTS = ("format", "holding", "trust", "title", "epoch", "issuer", "roster", "policy", "edges", "question", "survey")
MEMBERS = (*TEXTS, "nodes", "statistics", "epsilon", "shares", "mechanisms", "rounds", "retention")
_DEGREES = "edges degrees max_degree degree_histogram"
_SCORES = f"{_DEGREES} triangles transitivity four_cycles three_paths tailed_triangles diamonds four_cliques stars"
# question: trust, numbers of rounds, statistics
QUESTIONS: dict[Any, tuple[str, tuple[int, ...], str]] = {
    "position": ("POSITION", (1, 2), _SCORES),
    "degrees": ("USER", (1,), f"{_DEGREES} stars tail degree_quantile"),
    "groups": ("USER", (1,), "mixing contacts group_degrees ergm_targets assortativity ei_index coleman"),
    "triangles": ("USER", (2,), "triangles four_cycles"),
    "hubs": ("NEIGHBOURHOOD", (1,), "triangles"),
}
SURVEY = "va-edge-ldp survey 1"
_NUMBER = re.compile("-?[0-9]+", re.ASCII)
_HOST = re.compile(r"(https://[a-z0-9.-]{1,253}|http://(localhost|127\.0\.0\.1))(:[1-9][0-9]{0,4})?")


def open_charter(data: bytes, signature: str, pinned: str) -> dict[str, Any]:
    """The charter in these octets, if the pinned issuer signed them and they are one."""
    refuse_signature(data, signature, pinned)
    charter = read(data, 1 << 20)
    demand(isinstance(charter, dict) and charter.get("format") == FORMAT, "a charter of another version")
    demand("consent" not in charter, "consent of both ends, which this program does not keep to; use another")
    demand("wave" not in charter, "a wave of a series, which is not answered by this program")
    demand("parts" not in charter, "first answers in parts, over which this program does not sum")
    members(charter, *MEMBERS, *(charter.keys() & {"page"}))
    demand(all(isinstance(charter[name], str) for name in (*TEXTS, "epsilon")), "texts")
    demand(all(type(charter[name]) is int for name in ("nodes", "retention")), "whole numbers")
    demand(all(isinstance(charter[name], list) for name in ("statistics", "shares", "mechanisms", "rounds")), "lists")
    demand(charter["holding"] == HOLDING, "another way of holding positions")
    refuse_misread(charter["title"], 200)
    refuse_misread(charter["epoch"], 100)
    demand(all(is_hex(charter[name]) for name in ("issuer", "roster", "policy", "edges", "survey")), "digests")
    demand(2 <= charter["nodes"] < 1 << 31 and 0 <= charter["retention"] <= 315576000, "numbers in their range")
    _check_page(charter)
    _check_question(charter)
    _check_rounds(charter)
    demand(charter["issuer"] == pinned, "another issuer than the one that signed")
    return charter


def _check_page(charter: dict[str, Any]) -> None:
    if "page" in charter:
        page = members(charter["page"], "digest", "hosts")
        hosts = page["hosts"]
        demand(is_hex(page["digest"]) and isinstance(hosts, list) and len(hosts) <= 16, "a page")
        demand(all(isinstance(each, str) and _HOST.fullmatch(each) for each in hosts), "hosts of a page")
        demand(hosts == sorted(set(hosts)), "hosts in order")


def _check_question(charter: dict[str, Any]) -> None:
    demand(charter["question"] in QUESTIONS, "an unknown question")
    trust, rounds, statistics = QUESTIONS[charter["question"]]
    demand(charter["trust"] == trust, "another trust model")
    demand(len(charter["rounds"]) in rounds, "another number of rounds")
    asked = charter["statistics"]
    demand(all(isinstance(each, str) for each in asked) and asked, "statistics")
    demand(len(set(asked)) == len(asked) and (len(asked) == 1 or charter["question"] != "triangles"), "each once")
    for each in asked:
        name, colon, number = each.partition(":")
        least, most = {"stars": (2, charter["nodes"] - 1), "tail": (1, charter["nodes"] - 1)}.get(name, (1, 99))
        demand(name in statistics.split() and bool(colon) == (name in ("stars", "tail", "degree_quantile")), "answered")
        demand(not colon or (number.isdecimal() and least <= int(number) <= most), "a number in its range")
    demand(0 < fraction(charter["epsilon"]) <= 1000, "epsilon")


def _check_rounds(charter: dict[str, Any]) -> None:
    rounds, shares = charter["rounds"], [fraction(share) for share in charter["shares"]]
    for each in rounds:
        members(each, "closes", "fewest")
        demand(all(type(value) is int for value in each.values()), "whole numbers")
        demand(1 <= each["fewest"] <= charter["nodes"], "the fewest responders")
    closes = [0, *(each["closes"] for each in rounds), 253402300800]
    demand(all(a < b for a, b in pairwise(closes)), "deadlines one after the other")
    demand(len(shares) == len(rounds) and min(shares) > 0 and sum(shares) == 1, "shares")
    demand(len(charter["mechanisms"]) == len(rounds), "a mechanism a round")
    demand(all(isinstance(each, dict) for each in charter["mechanisms"]), "mechanisms")


@dataclass
class Campaign:
    """A charter with its documents, all checked; ``row_survey`` is the identity that reports of rows name."""

    charter: dict[str, Any]
    identity: str
    names: list[Any]
    policy: Policy
    row_survey: str = ""
    plan: Plan | None = None

    @property
    def nodes(self) -> int:
        return len(self.names)

    @property
    def question(self) -> str:
        return str(self.charter["question"])

    @property
    def epsilon(self) -> Fraction:
        return fraction(self.charter["epsilon"])

    @property
    def hidden(self) -> list[int]:
        """The present classes that are not PUBLIC."""
        return [kind for kind in HIDDEN if kind in self.policy.present]

    @property
    def numbers(self) -> int:
        """How many numbers ``degrees`` or ``groups`` ask for."""
        return len(self.hidden) * (len(self.policy.groups["labels"]) if self.policy.groups and self.by_groups else 1)

    @property
    def by_groups(self) -> bool:
        return self.question == "groups"

    def row(self, person: int) -> list[int]:
        """The classes of a row's positions."""
        return [self.policy.of(person, other) for other in range(person + 1, self.nodes)]

    def asks(self, person: int) -> bool:
        demand(0 <= person < self.nodes, "nobody has this number")
        if self.plan:
            return person in self.plan.hubs
        others = range(person + 1, self.nodes) if self.question in ("position", "triangles") else range(self.nodes)
        return any(self.policy.of(person, other) != PUBLIC for other in others if other != person)

    def upload_size(self, person: int, number: int) -> int:
        if self.question == "triangles" and number == 2:
            return 32 + 102
        if self.plan:
            return 32 + 55
        if self.question in ("degrees", "groups"):
            return 32 + 55 + self.by_groups + 8 * self.numbers
        return 32 + 54 + 2 * -(-(self.nodes - 1 - person) // 8)

    def thresholds(self, number: int) -> dict[int, int]:
        stated = self.charter["mechanisms"][number - 1]["thresholds"]
        return {kind: int(stated[CLASSES[kind]]) for kind in HIDDEN}

    def losses(self, number: int, decimals: int = 60) -> dict[int, Fraction]:
        """What an edge of each class loses by all reports of a round."""
        stated = self.charter["mechanisms"][number - 1]
        if stated["kind"] == "randomized response":
            return {kind: response_loss(flip, decimals) for kind, flip in self.thresholds(number).items()}
        if stated["kind"] == "discrete Laplace":
            return {CLASSES.index(c): stated["lists"] * Fraction(rate) for c, rate in stated["rates"].items()}
        if stated["kind"] == "hub counts":
            loss, reach = Fraction(stated["noise"]["all"]["epsilon"]), stated["loose reach"]
            worse = max(loss, loss * Fraction(reach, reach + 1) + Fraction(stated["loose"]))
            return {CLASSES.index(c): worse for c in stated["classes"]}
        one = Fraction(stated["reach"]) + Fraction(stated["total"])
        return {CLASSES.index(c): Fraction(steps) * one for c, steps in stated["steps"].items()}

    def total_losses(self) -> dict[int, Fraction]:
        rounds = [self.losses(number) for number in range(1, len(self.charter["rounds"]) + 1)]
        return {kind: sum((each[kind] for each in rounds), Fraction(0)) for kind in rounds[0]}


def open_documents(charter: dict[str, Any], data: bytes, roster: bytes, policy: bytes, edges: bytes) -> Campaign:
    """The campaign, if these are its documents."""
    for name, octets in (("roster", roster), ("policy", policy), ("edges", edges)):
        demand(sha256(octets) == charter[name], f"another {name}")
    names = read(roster)
    demand(isinstance(names, list) and len(names) == charter["nodes"], "a roster of another size")
    for name in names:
        demand(isinstance(name, (str, int)), "a name")
        refuse_misread(str(name), 200)
    texts = list(map(str, names))
    demand(len(set(texts)) == len(texts), "names that are written alike")
    order = [hashlib.sha256(written([charter["epoch"], text])).digest() for text in texts]
    demand(order == sorted(order), "a roster in an order of somebody's choice")
    listed = read(edges)
    demand(isinstance(listed, list) and all(_is_edge(pair, len(names)) for pair in listed), "pairs of places")
    pairs = [(u, v) for u, v in listed]
    demand(all(a < b for a, b in pairwise(pairs)), "edges in order")
    return Campaign(charter, sha256(data), names, policy_on(read(policy), names, pairs))


def _is_edge(pair: Any, nodes: int) -> bool:
    whole = isinstance(pair, list) and len(pair) == 2 and all(type(end) is int for end in pair)
    return whole and 0 <= pair[0] < pair[1] < nodes


def check_question(campaign: Campaign) -> Campaign:
    """Refuses a charter that states anything else than what follows from epsilon."""
    charter = campaign.charter
    demand(campaign.question != "hubs" or not campaign.policy.scoped, "hubs take no scope")
    demand(not campaign.by_groups or campaign.policy.groups, "groups are asked, and there are none")
    shares, mechanisms, survey = _follows(campaign)
    stated = charter["shares"], charter["mechanisms"], charter["survey"]
    demand((shares, mechanisms, survey) == stated, "the charter does not follow from its epsilon")
    for kind, loss in campaign.total_losses().items():
        demand(loss <= campaign.policy.multipliers[kind] * campaign.epsilon, "it costs more than its epsilon")
    return campaign


def _follows(campaign: Campaign) -> tuple[list[str], list[dict[str, Any]], str]:
    epsilon, losses = campaign.epsilon, campaign.policy.multipliers
    if campaign.question == "position":
        shares = [fraction(share) for share in campaign.charter["shares"]]
        stated, campaign.row_survey = _rows(campaign, epsilon, shares)
        return list(map(str, shares)), stated, campaign.row_survey
    if campaign.question == "triangles":
        return _triangles(campaign)
    if campaign.question == "hubs":
        campaign.plan = plan_of(campaign.nodes, campaign.policy)
        mechanism, content = hub_numbers(campaign.plan, epsilon, campaign.policy)
        return ["1"], [mechanism], sha256(written(_world(campaign) | content))
    rates = {CLASSES[kind]: str(losses[kind] * epsilon / 2) for kind in campaign.hidden}
    content = {"trust": "user", "question": "degrees", "epsilon": str(epsilon)}
    content |= {"discrete Laplace, loss per list entry": rates}
    if campaign.policy.groups and campaign.by_groups:
        groups = campaign.policy.groups | {"members": members_digest(campaign.policy.groups["members"])}
        content |= {"question": "friends in each group", "groups": groups}
    survey = sha256(written(_world(campaign) | content))
    return ["1"], [{"kind": "discrete Laplace", "lists": 2, "rates": rates}], survey


def _world(campaign: Campaign) -> dict[str, Any]:
    names = [[each] if isinstance(each, str) and _NUMBER.fullmatch(each) else str(each) for each in campaign.names]
    roster = sha256(json.dumps(names, ensure_ascii=False).encode())
    world = {"format": SURVEY, "nodes": campaign.nodes, "roster": roster, "policy": campaign.policy.digest}
    losses = {CLASSES[kind]: str(loss) for kind, loss in campaign.policy.multipliers.items()}
    return world | ({} if losses == {"FRIEND_VISIBLE": "2", "PRIVATE": "1"} else {"multipliers": losses})


def _rows(campaign: Campaign, epsilon: Fraction, shares: list[Fraction]) -> tuple[list[dict[str, Any]], str]:
    losses = campaign.policy.multipliers
    flips = [
        {CLASSES[kind]: str(threshold(losses[kind] * share * epsilon)) for kind in (FRIEND_VISIBLE, PRIVATE)}
        for share in shares
    ]
    content = {"trust": "position", "epsilon": str(epsilon), "shares": list(map(str, shares))}
    content |= {"flip thresholds out of 2^64, per round": flips}
    stated = [{"kind": "randomized response", "thresholds": each} for each in flips]
    return stated, sha256(written(_world(campaign) | content))


def _triangles(campaign: Campaign) -> tuple[list[str], list[dict[str, Any]], str]:
    epsilon, (statistic,), losses = campaign.epsilon, campaign.charter["statistics"], campaign.policy.multipliers
    small, cycles = epsilon < Fraction(3, 4), statistic == "four_cycles"
    first = (Fraction(1, 2) if small else Fraction(13, 20)) if cycles else Fraction(27 if small else 29, 50)
    reach = epsilon / 40
    total = (1 - first) * epsilon - reach
    share = 1 / (3 + 8 * total) if cycles else 1 / (4 + 14 * total)
    fineness = (0 if cycles else 10) + min(0, round(3 * math.log2(epsilon)))
    stated, campaign.row_survey = _rows(campaign, first * epsilon, [Fraction(1)])
    own = {"share": str(share), "fineness": fineness}
    private = losses[PRIVATE]
    stated.append(
        {"kind": "row sums", "statistic": statistic, "reach": str(private * reach), "total": str(private * total)}
        | {"steps": {CLASSES[kind]: str(loss / private) for kind, loss in losses.items()}}
        | own
    )
    content = {"format": SURVEY, "trust": "user", "question": statistic, "first": campaign.row_survey}
    content |= {"reach": str(reach), "total": str(total), **own}
    return [str(first), str(1 - first)], stated, sha256(written(content))
