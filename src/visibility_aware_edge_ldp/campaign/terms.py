"""The terms of a campaign: survey, people asked, uploads and costs.  [CHARTER.3, CHARTER.6]

Both sides compute them from epsilon, the policy and the public edges; nobody takes a threshold or a scale from anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.question import Bits, Losses, Question, Received, Report, Survey
from visibility_aware_edge_ldp.campaign.questions import round_loss, total_loss
from visibility_aware_edge_ldp.campaign.signed_documents import Content, shortened
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.layout import octets, part_of
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.scope import Consenting, consenting_in
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter


@dataclass(frozen=True, eq=False)
class Terms:
    """A charter and the public view, with all that follows from them; making one refuses a charter that misstates it.

    ``asked``, ``upload_size`` and ``check_upload`` depend on public data alone.
    """

    charter: Charter
    view: PublicView

    def __post_init__(self) -> None:
        refuse_unfit(self.question, self.view)
        refuse_misstated(self.charter, self.survey, consenting_in(self.view.policy.scope) is None)
        refuse_loss(self.charter, self.view)

    def among(self, consents: Consents) -> Terms:
        """The same where positions are asked if both their ends consented, and no others.  [CONSENT.1]"""
        scope = Consenting.of(self.view.n, consents.people, consents.digest)
        return Terms(self.charter, self.view.within(scope))

    def prepared(self) -> Terms:
        """The same, with a table of all positions made, a few bits each: for a server."""
        self._hidden, self._asked, self._heads  # noqa: B018
        return self

    @property
    def question(self) -> Question:
        """The charter's question."""
        return self.charter.asked

    @cached_property
    def survey(self) -> Survey:
        """The survey that the charter's question is, built from epsilon, the policy and the public edges."""
        charter = self.charter
        if charter.nodes != self.view.n:
            raise ProtocolViolation(
                f"The charter is for {charter.nodes:,} participants; its documents have {self.view.n:,}."
            )
        try:
            return self.question.survey(self.view, charter.epsilon, charter.statistics, charter.shares)
        except BadInput as error:
            raise ProtocolViolation(f"The charter's question cannot be asked: {error}") from error

    @cached_property
    def row_survey(self) -> Survey:
        """The survey that rows answer in round 1; without rows, the survey itself."""
        rows = self.question.row_survey
        return self.survey if rows is None else rows(self.survey)

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
        if "_asked" not in vars(self) and self.question.row_survey is not None:
            return bool(self._row_mask(participant).any())
        return bool(self._asked[participant])

    def upload_size(self, participant: int, round_number: int) -> int:
        """How many octets this participant's upload has, whatever its friend list.  [CHARTER.6]"""
        if not self.asks(participant, round_number):
            raise ProtocolViolation(f"Participant {participant} has nothing to hide and is not asked.")
        by_rows = self.question.formats[round_number - 1].by_rows
        bits = self.view.n - 1 - int(participant) if by_rows else 0
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
        received = Received(participant, report_in(data), self.view, self._row_mask, first, transcript)
        return self.question.formats[round_number - 1].check(self.survey, received)

    def refuse_upload(
        self, participant: int, round_number: int, data: bytes, first: bytes | None = None, transcript: str = ""
    ) -> None:
        """Refuses what :meth:`check_upload` refuses; quicker, as no report is made of what is in order."""
        if first is None and self.asks(participant, round_number):
            fits = self.question.formats[round_number - 1].fits
            row = participant, self.view.n, self._row_mask(participant)
            if fits is not None and fits(self.survey, *row, report_in(data)):
                return
        self.check_upload(participant, round_number, data, first, transcript)

    def _checked_round(self, round_number: int) -> int:
        if not 1 <= round_number <= len(self.charter.rounds):
            raise ProtocolViolation(f"The campaign has {len(self.charter.rounds)} rounds; there is no {round_number}.")
        return round_number

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
        return self.question.asked(self.view, self.survey)

    @cached_property
    def _heads(self) -> tuple[int, ...]:
        """What the reports of each round have at least: all of it, but for the bits of a row."""
        return tuple(each.head(self.survey) for each in self.question.formats[: len(self.charter.rounds)])


def refuse_unfit(question: Question, view: PublicView) -> None:
    """Refuses a question that cannot be asked inside a scope, or by groups that nobody named."""
    if question.by_groups and view.groups is None:
        raise ProtocolViolation(f"The question {question.name!r} asks by public groups, and the documents have none.")
    if view.policy.scope is not None and question.sees_edges:
        raise ProtocolViolation(
            f"The question {question.name!r} takes no scope: hubs count inside their own public lists already."
        )


def refuse_misstated(charter: Charter, survey: Survey, named: bool = True) -> None:
    """Refuses a charter that states anything else than what follows from epsilon, the policy and the public edges.

    The survey that it names is the one before anybody consented; among those who did, another one is asked, with the
    same integers.
    """
    if not named and not charter.consent:
        raise ProtocolViolation("The charter asks for nobody's consent, so that no list of it can be used.")
    question = charter.asked
    own: dict[str, Any] = {
        "shares": [str(each) for each in question.shares(survey)],
        "mechanisms": list(question.stated(survey)),
    }
    said: dict[str, Any] = {"shares": [str(each) for each in charter.shares], "mechanisms": list(charter.mechanisms)}
    other = _difference(said, own, "")
    if other is not None:
        raise ProtocolViolation(f"The charter does not follow from its epsilon: {other}; do not answer it.")
    if named and charter.survey != survey.identity:
        raise ProtocolViolation("The charter names another survey than the one that its question is; do not answer it.")


def _difference(said: Content, own: Content, where: str) -> str | None:
    """The first place where two values differ, in words."""
    if said == own and type(said) is type(own):
        return None
    if isinstance(said, dict) and isinstance(own, dict) and said.keys() == own.keys():
        return next(found for key in own if (found := _difference(said[key], own[key], f"{where} {key}")))
    if isinstance(said, list) and isinstance(own, list) and len(said) == len(own):
        pairs = enumerate(zip(said, own, strict=True), 1)
        return next(found for i, (a, b) in pairs if (found := _difference(a, b, f"{where} {i}")))
    return f"of{where} it states {shortened(said)}, and {shortened(own)} follows"


def refuse_loss(charter: Charter, view: PublicView) -> None:
    """Refuses a charter whose integers cost more than its epsilon says.  [CHARTER.3]"""
    for kind, loss in total_loss(charter.mechanisms).items():
        if loss > view.policy.multiplier(kind) * charter.epsilon:
            raise ProtocolViolation(
                f"The charter's integers cost more per {kind} edge than its epsilon; do not answer it."
            )


def refuse_too_few(terms: Terms) -> None:
    """Refuses a campaign that asks nobody, or fewer than must answer."""
    for number, each in enumerate(terms.charter.rounds, 1):
        asked = int(terms.asked(number).sum())
        if not asked:
            raise BadInput("Nothing is asked of anybody: the policy makes every position public. Choose another.")
        if each.fewest > asked:
            raise BadInput(
                f"Round {number} asks {asked:,} of the {terms.view.n:,} in the roster (nothing is asked of whom "
                f"others answer for, or whose positions are public), and {each.fewest:,} must answer; lower --fewest."
            )
