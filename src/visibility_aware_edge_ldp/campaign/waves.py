"""Waves: campaigns that ask what has changed since the one before, at one price for all that follow.  [WAVES.1]

The first wave is any campaign of positions in one round. Charters of later ones name it, their number, and how many
changes of one edge are told in all; everything else follows from these and from epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from visibility_aware_edge_ldp.campaign.signed_documents import Content, is_fingerprint
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.changes import Changes
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.layout import Layout, Report, octets
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys.base import Content as SurveyContent
from visibility_aware_edge_ldp.public.surveys.base import RosterSurvey
from visibility_aware_edge_ldp.public.trust import POSITION
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.question import Received
    from visibility_aware_edge_ldp.public.view import PublicView

TOLD = "told changes"
FORMED, ENDED, NET = NAMES = ("edges_formed", "edges_ended", "edges_change")
STATISTICS = ("edges",)
# So many waves and told changes a series has at most.
MOST = 1000
ASKS = (
    "for each person listed after you in the roster, whether you became friends since you last answered, and whether "
    "you ceased to be: two randomized bits each"
)
_changes = cache(Changes)


@dataclass(frozen=True)
class Wave:
    """Which wave a campaign is: after which first campaign, its number, and how many changes of an edge are told."""

    first: str
    number: int
    changes: int

    def __post_init__(self) -> None:
        if not is_fingerprint(self.first):
            raise ProtocolViolation("A wave names its first campaign by 64 hexadecimal digits, in lower case.")
        if not (2 <= self.number <= MOST and 1 <= self.changes <= MOST):
            raise ProtocolViolation(f"Waves after the first are 2 to {MOST:,}, and tell 1 to {MOST:,} changes.")

    @property
    def content(self) -> dict[str, Content]:
        """The rule as a charter states it."""
        return {"first": self.first, "number": self.number, "changes": self.changes}

    @classmethod
    def of(cls, content: Content) -> Wave:
        """The rule that a charter states; refuses another object."""
        if not isinstance(content, dict) or content.keys() != {"first", "number", "changes"}:
            raise ProtocolViolation("A charter's wave has its first campaign, its number and its changes.")
        first, number, changes = content["first"], content["number"], content["changes"]
        if not isinstance(first, str) or type(number) is not int or type(changes) is not int:
            raise ProtocolViolation("A charter's wave is a fingerprint and two whole numbers.")
        return cls(first, number, changes)


@dataclass(frozen=True)
class WaveSurvey(RosterSurvey):
    """What every wave of a series after the first asks; its identity names the series.  [WAVES.1]

    ``epsilon`` is what the whole history of a PRIVATE edge loses by all of them together.
    """

    trust = POSITION
    first: str = ""
    changes: int = 1
    multipliers: Multipliers = DEFAULT_MULTIPLIERS

    @property
    def protocol(self) -> str:
        return "waves"

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of this class loses by all waves after the first."""
        return Guarantee(OneEdge, self.multipliers.of(kind) * self.epsilon)

    def mechanism(self, kind: Visibility) -> Changes:
        """What positions of this class answer with."""
        return _changes(self.multipliers.of(kind) * self.epsilon, self.changes)

    def content(self) -> SurveyContent:
        thresholds = {str(kind): str(self.mechanism(kind).threshold) for kind in NON_PUBLIC}
        return {
            "epsilon": str(self.epsilon),
            "waves after": self.first,
            "told changes": self.changes,
            "flip thresholds out of 2^64": thresholds,
        }


def wave_survey(wave: Wave, view: PublicView, epsilon: Fraction, *_: object) -> WaveSurvey:
    """The survey of a series, for the public view and epsilon."""
    policy = view.policy
    return WaveSurvey(view.roster_digest, view.n, policy.digest, epsilon, wave.first, wave.changes, policy.multipliers)


@dataclass(frozen=True)
class WaveReport(Report):
    """One wave's answers of a row: for each position whether it became an edge, and whether it ceased to be one.

    ``since`` is the wave that the participant answered before this one.
    """

    survey: str
    wave: int
    since: int
    start: int
    count: int
    formed: bytes = field(repr=False)
    ended: bytes = field(repr=False)

    def __post_init__(self) -> None:
        self.layout.validate(self)


class _TwoFlags(Layout[WaveReport]):
    """Two flags a position, packed: what became an edge, and what ceased to be one."""

    def _sizes(self, head: Mapping[str, int]) -> tuple[int, ...]:
        return (octets(head["count"]),) * 2

    def _body(self, report: WaveReport) -> Iterable[bytes]:
        return report.formed, report.ended

    def _report(self, head: dict[str, Any], parts: list[bytes]) -> WaveReport:
        return WaveReport(**head, formed=parts[0], ended=parts[1])

    def validate(self, report: WaveReport) -> None:
        """So many bits twice, and a wave that was answered before."""
        if {len(report.formed), len(report.ended)} != {octets(report.count)}:
            raise ProtocolViolation(f"A wave's report of {report.count} positions carries as many bits twice.")
        if not 1 <= report.since < report.wave:
            raise ProtocolViolation("A wave's report says what changed since an earlier wave.")


LAYOUT = _TwoFlags("report of a wave", b"VAEW", "survey:32s wave:H since:H start:Q count:Q", WaveReport)


def stated(survey: WaveSurvey) -> dict[str, Content]:
    """The integers that a wave's charter states."""
    thresholds: dict[str, Content] = {str(kind): str(survey.mechanism(kind).threshold) for kind in NON_PUBLIC}
    return {"kind": TOLD, "changes": survey.changes, "thresholds": thresholds}


def checked(wave: int, survey: WaveSurvey, received: Received) -> WaveReport:
    """A wave's report that was received; refuses what this participant's client would not write."""
    report: WaveReport = received.decoded(LAYOUT, survey.identity)
    start, count = row_start(received.view.n, received.participant), received.view.n - 1 - received.participant
    if (report.wave, report.start, report.count) != (wave, start, count):
        raise ProtocolViolation("This is the report of another participant or another wave.")
    mask = received.row_mask(received.participant)
    if any((np.frombuffer(flags, np.uint8) & ~mask).any() for flags in (report.formed, report.ended)):
        raise ProtocolViolation("A row tells changes of its positions that are not public, and of no other.")
    return report
