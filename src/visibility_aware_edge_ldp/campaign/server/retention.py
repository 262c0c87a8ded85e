"""What is not there yet or no more, and until when reports are kept: whatever happens, none is kept for ever."""

from __future__ import annotations

from collections.abc import Iterable

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.server.store import Stage, State
from visibility_aware_edge_ldp.errors import BadInput


class NotReady(BadInput):
    """What was asked for is not there yet, or never will be."""


class Erased(BadInput):
    """What was asked for was there, and is no more."""


# For so long after the last deadline, in seconds, an estimate may be asked for; then it is made unasked.
PATIENCE = 30 * 86_400


def lacks(charter: Charter, stage: Stage) -> bool:
    """Whether a round takes no more reports and has too few, so that nothing will be estimated."""
    frozen = stage.state not in (State.WAITING, State.OPEN)
    return frozen and stage.included < charter.rounds[stage.round - 1].fewest


def kept_until(charter: Charter, stages: Iterable[Stage], made: int | None) -> int:
    """When reports are erased, in seconds of Unix time.

    The charter's time after the estimate, which was ``made`` then. Without one, after the deadline of the round that
    got too few reports, for then there will be none; and otherwise after the last deadline and some patience.
    """
    if made is not None:
        return made + charter.retention
    short = [charter.rounds[stage.round - 1].closes for stage in stages if lacks(charter, stage)]
    return (min(short) if short else charter.rounds[-1].closes + PATIENCE) + charter.retention


def refuse_too_soon(charter: Charter, stages: Iterable[Stage]) -> None:
    """Answers need every round closed, with enough reports."""
    for stage in stages:
        number, fewest = stage.round, charter.rounds[stage.round - 1].fewest
        if stage.state not in (State.CLOSED, State.ESTIMATED):
            raise NotReady(f"Round {number} is {stage.state}; the answers are made when all rounds are closed.")
        if stage.included < fewest:
            raise NotReady(f"Round {number} has {stage.included:,} reports and needs {fewest:,}: nothing is estimated.")
