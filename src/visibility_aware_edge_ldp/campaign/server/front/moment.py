"""All that the page shows, as it is at one moment: a frozen value, so that one moment is written once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.server.arrivals import Arrived
from visibility_aware_edge_ldp.campaign.server.dossier import Dossier
from visibility_aware_edge_ldp.campaign.server.retention import kept_until, lacks
from visibility_aware_edge_ldp.campaign.server.rounds import Rounds
from visibility_aware_edge_ldp.campaign.server.store import Stage


@dataclass(frozen=True)
class Moment:
    """Counts, states and digests; nothing here is about one participant, but for what the answers say.

    ``made`` is when the answers were made, and ``kept`` whether reports are still more than their digests; None where
    the store did not say.
    """

    dossier: Dossier = field(repr=False)
    now: int
    stages: tuple[Stage, ...]
    asked: tuple[int, ...]
    received: tuple[int, ...]
    arrivals: tuple[tuple[Arrived, ...], ...]
    answers: bytes | None = field(default=None, repr=False)
    made: int | None = None
    kept: bool | None = True

    @classmethod
    def of(cls, rounds: Rounds) -> Moment:
        """What the rounds are now; called beside the event loop, not on it."""
        stages, received, answers = dict(rounds.stages), dict(rounds.received), rounds.answers
        ended = answers is not None or any(map(rounds.lacks, stages))
        made, kept = rounds.retained() if ended else (None, True)
        return cls(
            rounds.dossier,
            int(rounds.clock()),
            tuple(stages.values()),
            tuple(rounds.asked(number) for number in stages),
            tuple(received[number] for number in stages),
            tuple(rounds.arrivals.of(number) for number in stages),
            answers,
            made,
            kept,
        )

    @property
    def charter(self) -> Charter:
        return self.dossier.charter

    @cached_property
    def content(self) -> dict[str, Any]:
        """The answers; empty before there are any."""
        return {} if self.answers is None else dict(json.loads(self.answers))

    def lacks(self, number: int) -> bool:
        """Whether a round has closed with too few reports, so that nothing will be estimated."""
        return lacks(self.charter, self.stages[number - 1])

    @property
    def failed(self) -> bool:
        return any(self.lacks(stage.round) for stage in self.stages)

    @property
    def settles(self) -> bool:
        """Whether reports are about to be replaced by their digests."""
        over = self.charter.retention == 0 or self.now >= self.kept_until
        return self.ended and self.kept is not False and over

    @property
    def ended(self) -> bool:
        """Whether there are answers, or it is known that there will be none."""
        return self.answers is not None or self.failed

    @property
    def kept_until(self) -> int:
        """When reports are erased; known as soon as the campaign has ended, and at the latest before."""
        return kept_until(self.charter, self.stages, self.made)

    @property
    def finished(self) -> bool:
        """Whether this page has nothing more to wait for."""
        return self.ended and not self.settles
