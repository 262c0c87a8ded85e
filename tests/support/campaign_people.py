"""What the tests of the participant's program do again and again: enrol, answer, and look at what arrived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from campaign.conftest import QUICK
from support.campaign_stub import Served
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings
from visibility_aware_edge_ldp.campaign.participant.program import answer, enroll
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.surveys import position
from visibility_aware_edge_ldp.public.visibility import Visibility

Ask = Callable[..., Served]
PRIVATE, FRIEND_VISIBLE = Visibility.PRIVATE, Visibility.FRIEND_VISIBLE


def yes(lines: list[str]) -> bool:
    return True


def who(served: Served, place: int = 0) -> str:
    """The name at this place of the roster; the first one holds the longest row."""
    return str(served.campaign.documents.roster[place])


def join(served: Served, home: Path, name: str | None = None, **more: object) -> str:
    own = name or who(served)
    enroll(served.url, own, served.tokens[own], served.issuer, home, surroundings=QUICK, **more)  # type: ignore[arg-type]
    return served.campaign.charter.identity


def reply(
    served: Served, home: Path, friends: object = (), surroundings: Surroundings = QUICK, **more: object
) -> object:
    campaign = served.campaign.charter.identity
    return answer(friends, home, more.pop("consent", yes), campaign, surroundings=surroundings, **more)  # type: ignore[arg-type]


def bits(served: Served, round_number: int = 1, participant: int = 0) -> np.ndarray:
    """What stands at the server for a participant's row."""
    report = position.decode(report_in(served.kept[round_number, participant]))
    return unpack(report.ones, report.count)


def by_name(served: Served, participant: int = 0) -> dict[str, bool]:
    roster = [str(name) for name in served.campaign.documents.roster]
    return dict(zip(roster[participant + 1 :], map(bool, bits(served, 1, participant)), strict=True))


def seeded(label: str) -> Surroundings:
    return replace(QUICK, random_bytes=lambda: keyed_random_bytes(seeded_key("program", label)))
