"""What a question is: a protocol, and all that both sides of a campaign know of it besides.  [CHARTER.3, CHARTER.6]

How participants make its reports is said in ``participant``, and how its statistics are estimated in ``server``, both
under the question's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.signed_documents import Content
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION
from visibility_aware_edge_ldp.public.layout import Layout, octets
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.statistic import AT_ONCE, EIGEN, FAMILIES, STATISTICS, statistic
from visibility_aware_edge_ldp.public.surveys import position
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.trust import Trust
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.protocol import Protocol

Bits = npt.NDArray[np.bool_]
Stated: TypeAlias = dict[str, Content]
Losses: TypeAlias = dict[Visibility, Fraction]
Survey: TypeAlias = Any  # one of public/surveys; each question's functions name the type that they take
Report: TypeAlias = Any
FirstSurvey = Callable[[Any], PositionSurvey]  # from a question's survey to the one that its rows answer

RESPONSE = "randomized response"
_UP = Context(prec=90, rounding=ROUND_CEILING)
_LAST_DIGIT = Decimal("1e-60")
# What bounds on manipulation mean where liars' numbers are bounded whoever they are.
NO_CHOICE = (
    "If so many of those who answered lied, whoever they are and whatever they sent, they moved the estimate by no "
    "more than this"
)


@dataclass(frozen=True, eq=False)
class Received:
    """A report that a participant sent, and what its check compares it with.

    ``row_mask`` gives the positions of a participant's row that are asked about, packed. ``first`` is the participant's
    report of round 1 and ``transcript`` the digest of the broadcast; without them, they are not compared.
    """

    participant: int
    data: bytes = field(repr=False)
    view: PublicView = field(repr=False)
    row_mask: Callable[[int], Octets] = field(repr=False)
    first: bytes | None = field(default=None, repr=False)
    transcript: str = ""

    def decoded(self, layout: Layout[Any], survey: str) -> Report:
        """The report in these bytes; refuses one of another survey."""
        report = layout.decode(self.data)
        if report.survey != survey:
            raise ProtocolViolation("This is a report of another survey or another round.")
        return report


@dataclass(frozen=True, eq=False)
class RoundFormat:
    """One round of a question: what it asks, its mechanism's integers, and the layout of its reports."""

    asks: str  # what a participant is told that it is asked
    mechanism: str  # its name in the charter
    stated: Callable[[Any], Stated]  # from the survey to the integers that the charter states
    # From these integers to what an edge of each class loses by all reports of the round, rounded up.
    loss: Callable[[Mapping[str, Any]], Losses]
    head: Callable[[Any], int]  # from the survey to a report's octets, but for the bits of a row
    # From the survey and what was received to the report; refuses what this participant's client would not write.
    check: Callable[[Any, Received], Report]
    # From the survey to each class's flip threshold, where every position answers by randomized response that later
    # answers are chained to.
    thresholds: Callable[[Any], dict[Visibility, int]] | None = None
    by_rows: bool = False  # whether a report holds two bits for each position of the participant's row
    # From the survey, the sender's number, how many there are, which positions of its row are asked, packed, and a
    # report: whether that is surely in order, found out without making it. Where it is not, the check says why.
    fits: Callable[[Any, int, int, Octets, bytes], bool] | None = None


@dataclass(frozen=True)
class Labels:
    """What everybody reads of a question."""

    asks: str  # what each participant is asked, on the server's page
    trust: str  # what one participant holds and how it is randomized, in certificates
    manipulation: str  # what the published bounds on manipulation mean
    # Title and text of the step that randomizes, and of the one that reads private data.
    randomized: tuple[str, str]
    held: tuple[str, str] = ("Friend list", "It is read there, and never leaves the device.")


@dataclass(frozen=True, eq=False)
class Question:
    """What a campaign can ask; the trust model, the rounds and the statistics are its protocol's."""

    name: str  # as charters state it
    protocol: Protocol
    # From the public view, epsilon, the statistics and the rounds' shares to the survey.
    survey: Callable[[PublicView, Fraction, tuple[str, ...], tuple[Fraction, ...]], Survey]
    asked: Callable[[PublicView, Any], Bits]  # from the public view and the survey to whom is asked
    # From a participant's number and how many there are, at which other ends it is asked about its positions.
    own: Callable[[int, int], Bits]
    formats: tuple[RoundFormat, ...]  # one for each round
    labels: Labels
    shares: Callable[[Any], tuple[Fraction, ...]] = lambda survey: (Fraction(1),)  # each round's part of epsilon
    row_survey: Callable[[Any], Any] | None = None  # from the survey to the one that rows answer in round 1, if any do
    several: bool = True  # whether one campaign may estimate several statistics
    splits: bool = False  # whether the issuer chooses the number of rounds and their shares
    broadcasts: bool = False  # whether everybody reads the reports of round 1 before round 2
    sees_edges: bool = False  # whether a participant gives the edges that it sees rather than its friends
    uses_public_edges: bool = False  # whether a report depends on the public edges
    by_waves: bool = False  # whether it is asked wave after wave, at one price for all
    by_groups: bool = False  # whether it asks by public groups, which the documents must then have

    @property
    def trust(self) -> Trust:
        """What one participant may hold."""
        return self.protocol.trust

    @property
    def rounds(self) -> tuple[int, ...]:
        """How many rounds a campaign may have."""
        return self.protocol.rounds if self.splits else (len(self.formats),)

    @property
    def answered(self) -> tuple[str, ...]:
        """All that its reports answer, as it is typed: "stars:K" stands for every "stars:2"."""
        families = {name: f"{name}:{family.letter}" for name, family in FAMILIES.items()}
        return tuple(families.get(name, name) for name in (*STATISTICS, *FAMILIES) if name in self._kinds)

    @property
    def _kinds(self) -> frozenset[str]:
        # Eigenvalues take everybody's answer, with nothing public; entries of an eigenvector would name people, and so
        # would the largest degrees. Statistics of groups have a question of their own, whose documents have groups.
        grouped = {name for name, each in STATISTICS.items() if each.by_groups and not self.by_groups}
        return frozenset(self.protocol.statistics) - EIGEN.keys() - {*AT_ONCE} - grouped

    def answers(self, name: str) -> bool:
        """Whether its reports answer this statistic."""
        with suppress(BadStatistic):
            return statistic(name).kind in self._kinds
        return False

    @property
    def default_statistics(self) -> tuple[str, ...]:
        """What is estimated unless an issuer names other statistics."""
        return tuple(name for name in ("edges", "triangles", "mixing") if self.answers(name))

    def others(self, participant: int, nodes: int) -> Bits:
        """At which ends others are asked about this participant's positions: wherever it is not asked itself."""
        return ~self.own(participant, nodes)

    def stated(self, survey: Survey) -> tuple[Stated, ...]:
        """For each round, the integers that its mechanism is sampled with."""
        return tuple(each.stated(survey) for each in self.formats[: len(self.shares(survey))])


def refuse_silence(answered: bool) -> None:
    """Refuses a report that says that nobody answered."""
    if not answered:
        raise ProtocolViolation("Who does not answer sends nothing; this report says that nobody answered.")


@cache
def response_loss(threshold: int) -> Fraction:
    """ln((2^64 − T)/T), rounded up: what randomized response with this threshold loses.  [RR.1]"""
    if not 0 < 2 * threshold < RESOLUTION:
        raise ProtocolViolation(f"A flip threshold is above 0 and below 2^63; {threshold} protects nothing.")
    ratio = _UP.divide(Decimal(RESOLUTION - threshold), Decimal(threshold))
    # The logarithm is right to half a unit of its ninetieth digit, whichever way it was rounded.
    logarithm = _UP.add(_UP.ln(ratio), Decimal("1e-80"))
    return Fraction(logarithm.quantize(_LAST_DIGIT, ROUND_CEILING, _UP))


def row_format(number: int, first: FirstSurvey, asks: str) -> RoundFormat:
    """A round in which each row answers with a bit for each of its positions; round 1 can be chained to."""

    def thresholds(survey: object) -> dict[Visibility, int]:
        return {kind: first(survey).mechanism(kind, number).threshold for kind in NON_PUBLIC}

    return RoundFormat(
        asks,
        RESPONSE,
        lambda survey: {
            "kind": RESPONSE,
            "thresholds": {str(kind): str(value) for kind, value in thresholds(survey).items()},
        },
        _response_losses,
        lambda survey: position.LAYOUT.size(count=0),
        partial(_checked_row, first, number),
        thresholds if number == 1 else None,
        by_rows=True,
        fits=partial(_fits_row, first, number),
    )


def _response_losses(mechanism: Mapping[str, Any]) -> Losses:
    return {Visibility[kind]: response_loss(int(text)) for kind, text in mechanism["thresholds"].items()}


def _fits_row(
    first: FirstSurvey, number: int, survey: object, participant: int, nodes: int, mask: Octets, data: bytes
) -> bool:
    head = number, row_start(nodes, participant), nodes - 1 - participant, first(survey).identity
    return position.LAYOUT.is_of(data, mask, *head)


def _checked_row(first: FirstSurvey, number: int, survey: object, received: Received) -> PositionReport:
    report: PositionReport = received.decoded(position.LAYOUT, first(survey).identity)
    nodes, participant = received.view.n, received.participant
    start, count = row_start(nodes, participant), nodes - 1 - participant
    if (report.round, report.start, report.count) != (number, start, count):
        raise ProtocolViolation("This is the report of another participant or another round.")
    if report.answered != received.row_mask(participant).tobytes():
        raise ProtocolViolation("A row answers as a whole: for all of its positions that are not public, and no other.")
    if number == 2 and received.first is not None:
        if len(received.first) != len(received.data):
            raise ProtocolViolation("Both reports of a row have one size; that of round 1 is another participant's.")
        before, ones = (np.frombuffer(each, np.uint8) for each in (received.first[-octets(count) :], report.ones))
        if (ones & ~before).any():
            raise ProtocolViolation("Round 2 asks those who said 1 in round 1; this report answers for others.")
    return report
