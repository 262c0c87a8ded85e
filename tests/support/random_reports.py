"""Reports of campaigns drawn at random: the plain program and this package's write the same bytes."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import numpy as np

from support import campaign_vectors as good
from support.campaign_answer_vectors import Counted, account_with, bit_text, given_by, key
from support.plain_program import opened, report_of
from visibility_aware_edge_ldp.campaign import signed_documents as signing
from visibility_aware_edge_ldp.campaign.charter import Charter, Round, SignedCharter
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import Documents, drafted
from visibility_aware_edge_ldp.campaign.participant.friend_lists import SeenEdges
from visibility_aware_edge_ldp.campaign.participant.reports import REPORTS, Making, ParticipantContext
from visibility_aware_edge_ldp.campaign.server.question_estimates import broadcast_of
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy
from visibility_aware_edge_ldp.mechanisms.chain import Level
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.visibility import Visibility

WORDS = ("public", "friend_visible", "private")
Kind = tuple[str, int, str, bool]  # question, round, rule, whether there is a scope
QUESTIONS = {"position": "edges", "degrees": "edges", "groups": "mixing", "triangles": "triangles", "hubs": "triangles"}


def names_of(draw: random.Random) -> list[str | int]:
    letters = ["Ada", "Béa", "Дора", "李雷", "O'Neill", "a b", "🦉"]
    return [
        number if draw.random() < 0.3 else f"{draw.choice(letters)} {number}" if draw.random() < 0.8 else str(number)
        for number in range(draw.randint(3, 16))
    ]


def policy_of(draw: random.Random, names: list[Any], deep: bool = True) -> VisibilityPolicy:
    pairs = [draw.sample(names, 2) for _ in range(6)]
    share, salt = Fraction(draw.randint(0, 4), 8), f"salt {draw.random()}"
    kinds = {name: draw.choice("abc") for name in names if draw.random() < 0.8}
    table = {(x, y): draw.choice(WORDS) for x in "abc" for y in "abc" if x <= y}
    people = {name: {"x": draw.choice(["u", "v", None, 3, 3.0]), "y": draw.randint(0, 2)} for name in names[1:]}
    people[names[0]] = {"x": "u", "y": 2}
    lines = [
        {"same": "x", "class": draw.choice(WORDS)},
        {draw.choice(["both", "any"]): "x", "value": draw.choice(["u", 3]), "class": draw.choice(WORDS)},
        {"differ": "y", "class": draw.choice(WORDS)},
    ]
    made = (
        lambda: VisibilityPolicy.nothing(),
        lambda: VisibilityPolicy(share, Fraction(draw.randint(0, 4), 8), salt=salt),
        lambda: VisibilityPolicy.public_profiles(share, draw.choice(["any", "both"]), salt=salt),
        lambda: VisibilityPolicy.from_types(kinds, table, "c"),
        lambda: VisibilityPolicy.from_positions(pairs[:3], pairs[3:], draw.choice(WORDS)),
        lambda: VisibilityPolicy.from_attributes(people, lines, draw.choice(WORDS)),
        lambda: policy_of(draw, names, False) | policy_of(draw, names, False),
    )
    policy = made[draw.randrange(7 if deep else 6)]()
    if deep and draw.random() < 0.3:
        return policy.guarded(draw.choice([2, 3, "7/2"]), draw.choice([1, "3/2", "1/3"]))
    return policy


def scope_of(draw: random.Random, names: list[Any]) -> ScopeWords | None:
    column = {name: draw.choice(["x", "y", 1]) for name in names if draw.random() < 0.9}
    files = {"f": [tuple(draw.sample(names, 2)) for _ in range(20)]}
    words = draw.choice(["", "", "", "lists", "public | group:g", "group:g", "file:f", "group:g & file:f | public"])
    if not words:
        return None
    return ScopeWords(words, {"g": column} if "group" in words else {}, files if "file" in words else {})


def campaign_of(draw: random.Random) -> tuple[Charter, Documents]:
    """A campaign; BadInput or BadPolicy where what was drawn makes none."""
    names, question = names_of(draw), draw.choice(list(QUESTIONS))
    policy, scope = policy_of(draw, names), scope_of(draw, names)
    if question == "hubs":  # whose lists are public, and no scope
        names, scope = [*names, *(f"more {number}" for number in range(8))], None
        policy = VisibilityPolicy.public_profiles(Fraction(1, 3), "any", salt=f"{draw.random()}")
    first, second = np.triu_indices(len(names), 1)
    pairs = np.stack([first, second], axis=1)[policy.bind(names).of(first, second) == Visibility.PUBLIC]
    edges = pairs[[draw.random() < 0.5 for _ in pairs]]
    labels = ("g", "h", "i")[: draw.randint(1, 3)]
    members = np.array([draw.randrange(len(labels)) for _ in names], np.int64)
    groups = Groups("club", labels, members) if question == "groups" else None
    documents = drafted(names, policy, edges, "an epoch", scope, groups)
    count = {"triangles": 2, "position": draw.randint(1, 2)}.get(question, 1)
    split = {1: (Fraction(1),), 2: (Fraction(1, 3), Fraction(2, 3))}[count] if question == "position" else ()
    rounds = tuple(Round(good.CLOSES[number], 1) for number in range(count))
    issuer, epsilon = signing.fingerprint(good.KEY), draw.choice(["1", "1/2", "3", "1/7", "12"])
    statistics = (QUESTIONS[question],)
    charter = charter_of(documents, issuer, question, epsilon, statistics, rounds, "Random", "an epoch", 0, split)
    return charter, documents


def levels_of(draw: random.Random, context: ParticipantContext) -> list[Level]:
    n, own = context.view.n, sorted(set(context.request(1).thresholds.values()))
    later, found = np.arange(n) > context.number, []
    for threshold in draw.sample([own[0] // 3, own[-1], (own[-1] + (1 << 63)) // 2], draw.randint(0, 3)):
        known = later & np.array([draw.random() < 0.5 for _ in range(n)])
        found.append(Level(threshold, known, known & np.array([draw.random() < 0.5 for _ in range(n)])))
    return found


def compared(seed: int, kept: list[dict[str, Any]] | None = None) -> list[Kind]:
    """What kinds of reports of a campaign were compared; with ``kept``, only kept for another program to compare.

    ``kept`` gets vectors as ``campaign_answers.json`` has them.
    """
    draw = random.Random(seed)
    charter, documents = campaign_of(draw)
    if kept is not None and charter.question == "hubs":
        return []  # no other program answers it
    vector: dict[str, Any] = {
        "charter": charter.data.decode(),
        "signature": SignedCharter.of(charter, good.KEY).signature.hex(),
    }
    vector |= {name: data.decode() for name, data in documents.data.items()}
    campaign, found = opened(vector), list[Kind]()
    rule, scoped = json.loads(vector["policy"])["rule"]["kind"], campaign.policy.scoped
    people = [ParticipantContext(charter, documents, number) for number in range(charter.nodes)]
    asked = [each for each in people if each.terms.asks(each.number, 1)]
    assert [each.number for each in asked] == [number for number in range(charter.nodes) if campaign.asks(number)]
    first, lists, answers = dict[int, bytes](), dict[int, Any](), list[dict[str, Any]]()
    vector |= {"case": f"seed {seed}", "asked": [each.number for each in asked], "answers": answers, "transcript": ""}
    for number in charter.numbers:
        transcript = b""
        if number == 2 and charter.question == "triangles":
            there = [each for each in asked if draw.random() < 0.8] or asked
            asked = there
            transcript = broadcast_of(people[0].terms, [bytes(32) + first[each.number] for each in there]).octets
        for context in asked:
            own = lists.setdefault(context.number, np.array([draw.random() < 0.5 for _ in range(charter.nodes)]))
            own[context.number] = False
            levels = levels_of(draw, context) if number == 1 and context.request(1).thresholds else []
            coins = key(seed, context.number, number)
            making = Making(
                context,
                account_with(context, levels),
                given_by(context, own),
                Counted(coins),
                first.get(context.number, b""),
                transcript,
            )
            report = REPORTS[charter.question][number - 1](making).report
            case: dict[str, Any] = {"transcript": transcript.hex()}
            vector["transcript"] = transcript.hex()
            answer = {"participant": context.number, "round": number, "first": first.get(context.number, b"").hex()}
            answer |= {"friends": [name for name, bit in zip(context.names, own, strict=True) if bit], "scale": None}
            pairs = making.given.pairs.tolist() if isinstance(making.given, SeenEdges) else []
            answer |= {"edges": [[context.names[end] for end in pair] for pair in pairs]}
            answer |= {
                "levels": [
                    {"threshold": str(each.threshold), "known": bit_text(each.known), "ones": bit_text(each.ones)}
                    for each in levels
                ]
            }
            if kept is None:
                assert report_of(campaign, case, answer, Counted(coins)) == report, (seed, context.number, number)
            answers.append({**answer, "coins": coins, "result": report.hex()})
            first.setdefault(context.number, report)
            found.append((charter.question, number, rule, scoped))
    if kept is not None:
        kept.append(vector)
    return found


def all_compared(seeds: range, enough: int, kept: list[dict[str, Any]] | None = None) -> list[Kind]:
    found = list[Kind]()
    for seed in seeds:
        try:
            found += compared(seed, kept)
        except (BadInput, BadPolicy):
            continue  # what was drawn is no campaign
        if len(found) >= enough:
            break
    return found
