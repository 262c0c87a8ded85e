"""Series of waves to try programs with: everybody answers from a ledger of its own, in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.directory import KEY, new_campaign, read_campaign
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.series import new_wave
from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

LATER = 4_000_000_000
Pairs = set[frozenset[str]]


@dataclass
class Village:
    """Some people, the campaigns that ask them, and their ledgers."""

    folder: Path
    names: Sequence[str]
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    waves: list[Path] = field(default_factory=list)

    def first(self, epsilon: object = 1, question: str = "position", **more: Any) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.waves = [self.folder / "wave 1"]
        given = {"policy": VisibilityPolicy.nothing(), "statistics": ["edges"], "closes": [LATER], **more}
        new_campaign(
            self.waves[0],
            names=self.names,
            question=question,
            epsilon=epsilon,
            fewest=1,
            title="First",
            epoch="club",
            **given,
        )
        return self.waves[0]

    def next(self, epsilon: object = None, changes: int | None = None) -> Charter:
        before, number = self.waves[-1], len(self.waves) + 1
        key = bytes.fromhex((self.waves[0] / KEY).read_text())
        charter = new_wave(
            self.folder / f"wave {number}",
            before,
            title=f"Wave {number}",
            closes=LATER,
            fewest=1,
            epsilon=epsilon,  # type: ignore[arg-type]
            changes=changes,
            key=key,
        )
        self.waves.append(self.folder / f"wave {number}")
        return charter

    def answers(self, ties: Pairs, wave: int, away: Sequence[str] = (), seed: object = 0) -> dict[str, Any]:
        """The published answers of a wave, when everybody else has answered about these ties."""
        campaign = read_campaign(self.waves[wave - 1])
        names, sent = [str(name) for name in campaign.documents.roster], dict[int, bytes]()
        for number, name in enumerate(names):
            context = ParticipantContext(campaign.charter, campaign.documents, number)
            if name in away or not context.terms.asks(number, 1):
                continue
            friends = Friends(np.array([frozenset((name, other)) in ties for other in names]), ())
            coins = keyed_random_bytes(seeded_key("village", str(seed), wave, name))
            sent[number] = chain.answered(self.ledgers[name], Task(context, 1), friends, coins)
        found: dict[str, Any] = json.loads(estimate_bytes(campaign.charter, campaign.documents.view, {1: sent}))
        return found


@contextmanager
def village(folder: Path, people: int) -> Iterator[Village]:
    names = [f"p{number}" for number in range(people)]
    with ExitStack() as stack:
        yield Village(folder, names, {name: stack.enter_context(chain.new_ledger()) for name in names})


def ties(*pairs: str) -> Pairs:
    """Of "p0 p1" and the like."""
    return {frozenset(pair.split()) for pair in pairs}
