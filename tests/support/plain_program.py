"""The plain program on vectors: a campaign as it opens it, and the report that it writes."""

from __future__ import annotations

import json
from typing import Any

from plain_client import answers
from plain_client.campaign import Campaign, check_question, open_charter, open_documents
from plain_client.hubs import hub_report
from support.campaign_answer_vectors import Counted

Vector = dict[str, Any]
DOCUMENTS = ("roster", "policy", "edges")


def opened(vector: Vector) -> Campaign:
    data = vector["charter"].encode()
    charter = open_charter(data, vector["signature"], vector.get("pinned") or json.loads(data)["issuer"])
    return check_question(open_documents(charter, data, *(vector[name].encode() for name in DOCUMENTS)))


def levels_of(levels: list[Vector], count: int, first: int = 0) -> list[dict[int, bool]]:
    """What each position has answered before, by threshold."""
    found: list[dict[int, bool]] = [{} for _ in range(count)]
    for level in levels:
        for place in range(count):
            if level["known"][first + place] == "1":
                found[place][int(level["threshold"])] = level["ones"][first + place] == "1"
    return found


def friends_of(campaign: Campaign, vector: Vector) -> list[bool]:
    person, edges = vector["participant"], set(campaign.policy.edges)
    return [
        (min(person, other), max(person, other)) in edges
        if other != person and campaign.policy.of(person, other) == 0
        else str(name) in vector["friends"]
        for other, name in enumerate(campaign.names)
    ]


def report_of(campaign: Campaign, case: Vector, vector: Vector, coins: Counted) -> bytes:
    person, friends = vector["participant"], friends_of(campaign, vector)
    if campaign.plan:
        places = {str(name): place for place, name in enumerate(campaign.names)}
        seen = [(places[a], places[b]) for a, b in vector["edges"]]
        return hub_report(campaign.plan, campaign.charter, campaign.policy, person, seen, coins)
    if campaign.question in ("degrees", "groups"):
        return answers.numbers(campaign, person, friends, coins)
    if vector["round"] == 1:
        levels = levels_of(vector["levels"], campaign.nodes - 1 - person, person + 1)
        return answers.first_row(campaign, person, friends, levels, coins)[0]
    first = bytes.fromhex(vector["first"])
    if campaign.question == "position":
        return answers.second_row(campaign, person, friends, first, coins)
    transcript = answers.read_transcript(campaign, bytes.fromhex(case["transcript"]))
    scale = answers.measured_row(campaign, person, friends, transcript)[2].hex()
    assert vector["scale"] in (None, scale)
    return answers.row_sum(campaign, person, friends, first, transcript, coins)
