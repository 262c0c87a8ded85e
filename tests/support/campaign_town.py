"""A town whose people answer a campaign truthfully, through the clients, with random bytes that can be drawn again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from support.campaign_lab import FAR, Lab
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign, new_campaign
from visibility_aware_edge_ldp.campaign.participant.accounts import account_of
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.reports import REPORTS, Making, ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

STATISTICS = {
    "position": ("edges", "triangles", "stars:2", "transitivity"),
    "degrees": ("edges", "max_degree", "degree_histogram", "stars:2", "tail:3", "degrees"),
    "triangles": ("triangles",),
    "hubs": ("triangles",),
}


def names(people: int) -> list[str]:
    return [f"Resident<{number:03}>" for number in range(people)]


@dataclass(frozen=True, eq=False)
class Town(Lab):
    """A lab whose reports are real answers about one graph; round 2 needs what was sent and broadcast in round 1."""

    sent: dict[tuple[int, int, str | bytes], bytes] = field(default_factory=dict, repr=False)

    @cached_property
    def friends(self) -> np.ndarray:
        """Who is friends with whom, by the numbers of the roster: friends of neighbours are often friends."""
        return _graph(self.served.view.n)[np.ix_(*[self._places] * 2)]

    @cached_property
    def _places(self) -> list[int]:
        given = names(self.served.view.n)
        return [given.index(name) for name in self.served.campaign.documents.roster]

    def context(self, participant: int) -> ParticipantContext:
        return ParticipantContext(self.served.charter, self.served.campaign.documents, participant)

    def report(self, participant: int, number: int = 1, variant: int = 0, transcript: str | bytes = "") -> bytes:
        key = participant, number, transcript if number == 2 else ""
        if key not in self.sent:
            random_bytes = keyed_random_bytes(seeded_key(7, participant, number))
            self.sent[key] = bytes(SALT) + self._made(self.context(participant), number, transcript, random_bytes)
        return self.sent[key]

    def drawn(self, participant: int, coins: int) -> bytes:
        """A first answer with other coins, of which nothing is kept."""
        random_bytes = keyed_random_bytes(seeded_key(8, participant, coins))
        return bytes(SALT) + self._made(self.context(participant), 1, "", random_bytes)

    def _made(
        self, context: ParticipantContext, number: int, transcript: str | bytes, random_bytes: RandomBytes
    ) -> bytes:
        question = context.charter.question
        given: Friends | SeenEdges = Friends(self.friends[context.number], ())
        if question == "hubs":
            given = SeenEdges(np.argwhere(np.triu(self.friends)).astype(np.int32), ())
        first = report_in(self.sent[context.number, 1, ""]) if number == 2 else b""
        broadcast = transcript if isinstance(transcript, bytes) else b""
        making = Making(context, account_of([], context.names), given, random_bytes, first, broadcast)
        return REPORTS[question][number - 1](making).report


def _graph(people: int) -> np.ndarray:
    generator = np.random.default_rng(20)
    apart = np.abs(np.subtract.outer(np.arange(people), np.arange(people)))
    likely = np.where(np.minimum(apart, people - apart) <= 6, 0.6, 0.03)
    upper = np.triu(generator.random((people, people)) < likely, 1)
    return upper | upper.T


def policy_of(question: str, people: int) -> VisibilityPolicy:
    if question != "hubs":
        return VisibilityPolicy("0.15", "0.35", salt="town")
    return VisibilityPolicy.from_profiles(dict.fromkeys(names(people)[:4], "public"), rule="any")


def new_town(
    directory: Path,
    question: str = "position",
    people: int = 24,
    closes: tuple[int, ...] = (),
    fewest: int = 5,
    retention: int = 0,
    title: str = "Friendships in our town",
) -> Town:
    """A campaign in a directory that does not exist yet."""
    policy, given = policy_of(question, people), names(people)
    graph = _graph(people)
    first, second = np.triu_indices(people, 1)
    public = policy.bind(given).of(first, second) == Visibility.PUBLIC
    edges = [
        (a, b) for a, b, known in zip(first.tolist(), second.tolist(), public, strict=True) if known and graph[a, b]
    ]
    new_campaign(
        directory,
        names=given,
        policy=policy,
        edges=edges,
        question=question,
        epsilon=2,
        statistics=STATISTICS[question],
        closes=closes or ((FAR, FAR + 86_400) if question == "triangles" else (FAR,)),
        fewest=min(fewest, 2) if question == "hubs" else fewest,
        title=title,
        epoch="spring 2026",
        retention=retention,
        key=bytes(range(32)),
    )
    return Town(directory, ServedCampaign.read(directory))
