"""A charter's question: its survey, whom it asks, which uploads it takes and what it costs.  [CHARTER.3, CHARTER.6]"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.integers import (
    Losses,
    Survey,
    refuse_loss,
    refuse_misstated,
    round_loss,
    total_loss,
)
from visibility_aware_edge_ldp.campaign.upload import SALT, report_in
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public import codec, degree_report, hub_report, row_report
from visibility_aware_edge_ldp.public.degree_report import DegreeReport
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.hidden import users_with
from visibility_aware_edge_ldp.public.hub_report import HubReport
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey, hub_survey
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.report import PositionReport, part_of
from visibility_aware_edge_ldp.public.row_report import RowReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey, row_surveys
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.public.wire import octets

Bits = npt.NDArray[np.bool_]
Report: TypeAlias = PositionReport | DegreeReport | RowReport | HubReport

# Rows' reaches and sums are cut off here before they are sent.  [TRIANGLE.2]
FARTHEST = 1 << 61


@dataclass(frozen=True, eq=False)
class Questions:
    """A charter and the public view, with all that follows from them; making one refuses a charter that misstates it.

    ``asked``, ``upload_size`` and ``check_upload`` depend on public data alone.
    """

    charter: Charter
    view: PublicView

    def __post_init__(self) -> None:
        refuse_misstated(self.charter, self.survey)
        refuse_loss(self.charter, self.view)

    def prepared(self) -> Questions:
        """The same, with a table of all positions made, a few bits each: for a server."""
        self._hidden, self._asked, self._heads  # noqa: B018
        return self

    @cached_property
    def survey(self) -> Survey:
        """The survey that the charter's question is, built from epsilon, the policy and the public edges."""
        charter = self.charter
        if charter.nodes != self.view.n:
            raise ProtocolViolation(
                f"The charter is for {charter.nodes:,} participants; its documents have {self.view.n:,}."
            )
        try:
            return build_survey(self.view, charter.question, charter.epsilon, charter.statistics, charter.shares)
        except BadInput as error:
            raise ProtocolViolation(f"The charter's question cannot be asked: {error}") from error

    @property
    def losses(self) -> Losses:
        """What an edge of each class loses by all reports, from the stated integers, rounded up.  [CHARTER.3]"""
        return total_loss(self.charter.mechanisms)

    def round_losses(self, round_number: int) -> Losses:
        """The same for one round."""
        return round_loss(self.charter.mechanisms[self._checked_round(round_number) - 1])

    def asked(self, round_number: int) -> Bits:
        """Which participants are asked in a round; in a second round, of those who answered in the first."""
        self._checked_round(round_number)
        return self._asked

    def asks(self, participant: int, round_number: int) -> bool:
        """Whether a participant is asked in a round; a row's holder finds out without a table of all positions."""
        self._checked_round(round_number)
        if not 0 <= participant < self.view.n:
            raise ProtocolViolation(f"Participants are 0 to {self.view.n - 1}; there is no {participant}.")
        if "_asked" not in vars(self) and self._by_rows:
            return bool(self._row_mask(participant).any())
        return bool(self._asked[participant])

    def upload_size(self, participant: int, round_number: int) -> int:
        """How many octets this participant's upload has, whatever its friend list.  [CHARTER.6]"""
        self._refuse_unasked(participant, round_number)
        bits = self.view.n - 1 - int(participant) if self._is_row(round_number) else 0
        return SALT + self._heads[round_number - 1] + 2 * octets(bits)

    def check_upload(
        self, participant: int, round_number: int, data: bytes, first: bytes | None = None, transcript: str = ""
    ) -> Report:
        """The report in an upload; refuses what this participant's client would not have written.  [CHARTER.6]

        ``first`` is the participant's report of round 1, where round 2 asks only what said 1 there; ``transcript`` is
        the digest of the transcript that round 2 is about. Without them, that is not checked.
        """
        size = self.upload_size(participant, round_number)
        if len(data) != size:
            raise ProtocolViolation(f"This participant's upload has {size:,} bytes; {len(data):,} were sent.")
        sent = report_in(data)
        if self._is_row(round_number):
            return self._row(participant, round_number, sent, first)
        if isinstance(self.survey, DegreeSurvey):
            return self._degrees(participant, self.survey, sent)
        if isinstance(self.survey, TriangleSurvey):
            return self._sums(participant, self.survey, sent, transcript)
        return self._counts(participant, cast(HubSurvey, self.survey), sent)

    def _row(self, participant: int, round_number: int, data: bytes, first: bytes | None) -> PositionReport:
        report = codec.decode(data)
        start, count = row_start(self.view.n, participant), self.view.n - 1 - participant
        _refuse_other(self._row_survey, report.survey)
        if (report.round, report.start, report.count) != (round_number, start, count):
            raise ProtocolViolation("This is the report of another participant or another round.")
        if report.answered != self._row_mask(participant).tobytes():
            raise ProtocolViolation(
                "A row answers as a whole: for all of its positions that are not public, and no other."
            )
        if round_number == 2 and first is not None:
            if len(first) != len(data):
                raise ProtocolViolation(
                    "Both reports of a row have one size; that of round 1 is another participant's."
                )
            before, ones = (np.frombuffer(each, np.uint8) for each in (first[-octets(count) :], report.ones))
            if (ones & ~before).any():
                raise ProtocolViolation("Round 2 asks those who said 1 in round 1; this report answers for others.")
        return report

    def _degrees(self, participant: int, survey: DegreeSurvey, data: bytes) -> DegreeReport:
        report = degree_report.decode(data)
        _refuse_other(survey.identity, report.survey)
        if (report.start, report.count, report.classes) != (participant, 1, len(survey.classes)):
            raise ProtocolViolation("This is the report of another participant, or of other classes than are asked.")
        _refuse_silence(report.answered == b"\1")
        return report

    def _sums(self, participant: int, survey: TriangleSurvey, data: bytes, transcript: str) -> RowReport:
        report = row_report.decode_rows(data)
        _refuse_other(survey.identity, report.survey)
        if (report.start, report.answered.size) != (participant, 1):
            raise ProtocolViolation("This is the report of another participant.")
        if transcript and report.transcript != transcript:
            raise ProtocolViolation("This report was made on another transcript than the one that was broadcast.")
        _refuse_silence(bool(report.answered[0]))
        if any(abs(int(number)) > FARTHEST for number in (report.reaches[0], report.totals[0])):
            raise ProtocolViolation("A row's numbers are cut off at 2^61 before they are sent; these are beyond it.")
        return report

    def _counts(self, participant: int, survey: HubSurvey, data: bytes) -> HubReport:
        report = hub_report.decode_hub(data)
        _refuse_other(survey.identity, report.survey)
        if (report.hub, len(report.values)) != (survey.plan.hubs.index(participant), len(survey.numbers)):
            raise ProtocolViolation("This is the report of another hub, or of other numbers than are asked.")
        if survey.loose_noise is None and report.loose:
            raise ProtocolViolation("No loose edges are asked for, and this report counts some.")
        return report

    @property
    def _by_rows(self) -> bool:
        return isinstance(self.survey, (PositionSurvey, TriangleSurvey))

    def _is_row(self, round_number: int) -> bool:
        return isinstance(self.survey, PositionSurvey) or (
            isinstance(self.survey, TriangleSurvey) and round_number == 1
        )

    @cached_property
    def _row_survey(self) -> str:
        """The survey that a report of a row names."""
        return self.survey.first.identity if isinstance(self.survey, TriangleSurvey) else self.survey.identity

    def _checked_round(self, round_number: int) -> int:
        if not 1 <= round_number <= len(self.charter.rounds):
            raise ProtocolViolation(f"The campaign has {len(self.charter.rounds)} rounds; there is no {round_number}.")
        return round_number

    def _refuse_unasked(self, participant: int, round_number: int) -> None:
        if not self.asks(participant, round_number):
            raise ProtocolViolation(f"Participant {participant} has nothing to hide and is not asked.")

    def _row_mask(self, participant: int) -> Octets:
        """Which positions of a row are asked, packed as in its report."""
        start, count = row_start(self.view.n, participant), self.view.n - 1 - participant
        if "class_bits" not in vars(self.view):
            classes = self.view.classes.range(start, count)
            return np.packbits(classes != Visibility.PUBLIC, bitorder="little")
        return part_of(self._hidden, start, count)

    @cached_property
    def _hidden(self) -> Octets:
        """All positions that are asked, packed."""
        bits = self.view.class_bits
        return bits[Visibility.FRIEND_VISIBLE] | bits[Visibility.PRIVATE]

    @cached_property
    def _asked(self) -> Bits:
        survey = self.survey
        if self._by_rows:
            return holders(self.view)
        if isinstance(survey, DegreeSurvey):
            return np.asarray(users_with(self.view, survey.classes).any(axis=0))
        asked = np.zeros(self.view.n, np.bool_)
        asked[list(cast(HubSurvey, survey).plan.hubs)] = True
        return asked

    @cached_property
    def _heads(self) -> tuple[int, ...]:
        """What the reports of each round have at least: all of it, but for the bits of a row."""
        row = len(codec.encode(PositionReport(self._row_survey, 1, 0, 0, b"", b"")))
        survey = self.survey
        if isinstance(survey, PositionSurvey):
            return (row,) * survey.rounds
        one, none = np.ones(1, np.bool_), np.zeros(1, np.int64)
        if isinstance(survey, TriangleSurvey):
            sums = RowReport(survey.identity, survey.identity, 0, one, none, none)
            return row, len(row_report.encode_rows(sums))
        if isinstance(survey, DegreeSurvey):
            values = np.zeros((len(survey.classes), 1), np.int64)
            return (len(degree_report.encode(degree_report.degree_report(survey.identity, 0, one, values))),)
        return (len(hub_report.encode_hub(HubReport(survey.identity, 0, (0,) * len(survey.numbers)))),)


def build_survey(
    view: PublicView, question: str, epsilon: Number, statistics: tuple[str, ...], split: tuple[Fraction, ...] = ()
) -> Survey:
    """The survey of a question; ``split`` are the rounds' shares, which only "position" leaves open."""
    if question == "position":
        return position_survey(view, epsilon, len(split) or 1, split[0] if split else Fraction(1, 2))
    if question == "degrees":
        return degree_survey(view, epsilon)
    if question == "triangles":
        return row_surveys(view, epsilon, statistics)[statistics[0]]
    return hub_survey(view, epsilon)


def survey_of(charter: Charter, view: PublicView) -> Survey:
    """The charter's survey; refuses a charter that states other integers than follow from it.  [CHARTER.3]"""
    return _questions(charter, view).survey


def losses(charter: Charter, view: PublicView) -> Losses:
    """The loss per edge of each class against all reports, derived from the integers, rounded up.  [CHARTER.3]"""
    return _questions(charter, view).losses


def asked(charter: Charter, view: PublicView, round_number: int) -> Bits:
    """Which participants are asked in a round."""
    return _questions(charter, view).asked(round_number)


def upload_size(charter: Charter, view: PublicView, participant: int, round_number: int) -> int:
    """How many octets a participant's upload has, whatever its friend list."""
    return _questions(charter, view).upload_size(participant, round_number)


def check_upload(
    charter: Charter,
    view: PublicView,
    participant: int,
    round_number: int,
    data: bytes,
    first: bytes | None = None,
    transcript: str = "",
) -> Report:
    """The report in an upload; refuses what this participant's client would not have written."""
    return _questions(charter, view).check_upload(participant, round_number, data, first, transcript)


@lru_cache(maxsize=4)
def _questions(charter: Charter, view: PublicView) -> Questions:
    return Questions(charter, view)


def _refuse_other(own: str, said: str) -> None:
    if said != own:
        raise ProtocolViolation("This is a report of another survey or another round.")


def _refuse_silence(answered: bool) -> None:
    if not answered:
        raise ProtocolViolation("Who does not answer sends nothing; this report says that nobody answered.")
