"""Golden vectors of parts; in ``tests``, `python -m support.campaign_part_vectors` writes them anew."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from support.campaign_answer_vectors import bit_text, key
from support.campaign_vectors import CLOSES, EPOCH, KEY, NAMES, store
from visibility_aware_edge_ldp.campaign.charter import Charter, Round, SignedCharter
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import Documents, drafted
from visibility_aware_edge_ldp.campaign.participant.accounts import account_of
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.reports import (
    Making,
    ParticipantContext,
    first_row,
    part_number,
    part_sum,
)
from visibility_aware_edge_ldp.campaign.server.question_estimates import FirstRoundBroadcast, broadcast_of
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.row_parts import PartRule

FILE = "campaign_parts.json"
POLICIES = {"nothing is public": VisibilityPolicy.nothing(), "some are": VisibilityPolicy("1/5", "3/10", salt="parts")}
# With ε = 4 there are at least five groups; who is absent does not answer.
EPSILON, RULE, ABSENT = "4", PartRule(5, "c0" * 32), (3, 8)
FRIENDS = np.random.default_rng(5).random((len(NAMES), len(NAMES))) < 0.6
FRIENDS = np.triu(FRIENDS, 1) | np.triu(FRIENDS, 1).T


@cache
def campaign(case: str) -> tuple[Charter, Documents]:
    """A campaign that counts triangles from parts."""
    documents = drafted(NAMES, POLICIES[case], [], EPOCH)
    rounds = tuple(Round(closes, 2) for closes in CLOSES)
    issuer, name = fingerprint(KEY), ("triangles",)
    made = charter_of(documents, issuer, "triangles", EPSILON, name, rounds, case, EPOCH, parts=RULE)
    return made, documents


def making(case: str, person: int, number: int, **options: Any) -> Making:
    """What a person's report is made from."""
    context = ParticipantContext(*campaign(case), person)
    coins = keyed_random_bytes(bytes.fromhex(key("parts", case, person, number)["key"]))
    return Making(context, account_of([], context.names), Friends(FRIENDS[person], ()), coins, **options)


@cache
def first_reports(case: str) -> dict[int, bytes]:
    """Round 1 of everybody who is there."""
    here = [person for person in range(len(NAMES)) if person not in ABSENT]
    asked = making(case, 0, 1).context.terms.asked(1)
    return {person: first_row(making(case, person, 1)).report for person in here if asked[person]}


@cache
def broadcast(case: str) -> FirstRoundBroadcast:
    """What the server makes of it."""
    found = broadcast_of(making(case, 0, 1).context.terms, [bytes(32) + each for each in first_reports(case).values()])
    assert found is not None
    return found


def second(case: str, person: int) -> Making:
    """What a person's second report is made from."""
    part = broadcast(case).parts[part_number(making(case, person, 1).context)]
    return making(case, person, 2, first=first_reports(case)[person], transcript=part)


def parts() -> list[dict[str, Any]]:
    """Charters with documents and signatures; the coin's groups; every part; both reports of everybody."""
    found = []
    for case in POLICIES:
        charter, documents = campaign(case)
        context = ParticipantContext(charter, documents, 0)
        survey, users = context.terms.survey, np.arange(charter.nodes)
        found.append(
            {
                "case": case,
                "charter": charter.data.decode(),
                "signature": SignedCharter.of(charter, KEY).signature.hex(),
                "pinned": charter.issuer,
                **{name: data.decode() for name, data in documents.data.items()},
                "identity": charter.identity,
                "survey": survey.identity,
                "losses": {str(kind): str(loss) for kind, loss in context.terms.losses.items()},
                "part of each": survey.part_of(users).tolist(),
                "groups": [survey.group_of(np.full(users.shape, part), users).tolist() for part in range(RULE.groups)],
                "transcript": broadcast(case).digest,
                "parts": [part.hex() for part in broadcast(case).parts],
                "people": [
                    {
                        "participant": person,
                        "friends": bit_text(FRIENDS[person]),
                        "coins": [key("parts", case, person, number) for number in (1, 2)],
                        "reports": [first.hex(), part_sum(second(case, person)).report.hex()],
                    }
                    for person, first in first_reports(case).items()
                ],
            }
        )
    return found


if __name__ == "__main__":
    store(FILE, parts())
