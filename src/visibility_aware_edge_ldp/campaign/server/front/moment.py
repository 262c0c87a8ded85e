"""All that the page shows, as it is at one moment: a frozen value, so that one moment is written once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.server.dossier import Dossier
from visibility_aware_edge_ldp.campaign.server.rounds import Rounds
from visibility_aware_edge_ldp.campaign.server.store import Stage, State
from visibility_aware_edge_ldp.errors import VaEdgeLdpError

_PATIENCE = 5.0
_FROZEN = (State.CLOSED, State.ESTIMATED)


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
    answers: bytes | None = field(default=None, repr=False)
    made: int | None = None
    kept: bool | None = True

    @classmethod
    def of(cls, rounds: Rounds) -> Moment:
        """What the rounds are now; called beside the event loop, not on it."""
        stages, received, answers = dict(rounds.stages), dict(rounds.received), rounds.answers
        made, kept = (None, True) if answers is None else _retained(rounds)
        return cls(
            rounds.dossier,
            int(rounds._clock()),
            tuple(stages.values()),
            tuple(rounds.asked(number) for number in stages),
            tuple(received[number] for number in stages),
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
        stage = self.stages[number - 1]
        return stage.state in _FROZEN and stage.included < self.charter.rounds[number - 1].fewest

    @property
    def failed(self) -> bool:
        return any(self.lacks(stage.round) for stage in self.stages)

    @property
    def settles(self) -> bool:
        """Whether reports are about to be replaced by their digests."""
        return self.answers is not None and self.charter.retention == 0 and self.kept is not False

    @property
    def finished(self) -> bool:
        """Whether this page has nothing more to wait for."""
        return self.failed or (self.answers is not None and not self.settles)


def _retained(rounds: Rounds) -> tuple[int | None, bool | None]:
    """What the store says of the answers' time and of the reports, asked from another thread than the event loop's."""
    writer = rounds._writer
    asked = writer.do(lambda store: (store.estimated_at(), store.has_bodies()))
    try:
        return asyncio.run_coroutine_threadsafe(asked, writer._loop).result(_PATIENCE)
    except (TimeoutError, VaEdgeLdpError):
        return None, None
