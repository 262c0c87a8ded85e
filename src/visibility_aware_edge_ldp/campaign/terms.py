"""The terms of a campaign: survey, people asked, uploads and costs; its documents.  [CHARTER.3, CHARTER.4, CHARTER.6]

The documents are roster, policy and public edges as canonical JSON, each pinned by the charter. Both sides compute
the terms from epsilon, the policy and the public edges; nobody takes a threshold or a scale from anybody.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.policy_text import policy_bytes, policy_from_bytes, write_name
from visibility_aware_edge_ldp.campaign.question import Bits, Losses, Question, Received, Report, Survey
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS, round_loss, total_loss
from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, digest, encode, shortened
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, ProtocolViolation
from visibility_aware_edge_ldp.public.layout import octets, part_of
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter

Name = str | int
LONGEST_NAME = 200
Edges = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Terms:
    """A charter and the public view, with all that follows from them; making one refuses a charter that misstates it.

    ``asked``, ``upload_size`` and ``check_upload`` depend on public data alone.
    """

    charter: Charter
    view: PublicView

    def __post_init__(self) -> None:
        refuse_misstated(self.charter, self.survey)
        refuse_loss(self.charter, self.view)

    def prepared(self) -> Terms:
        """The same, with a table of all positions made, a few bits each: for a server."""
        self._hidden, self._asked, self._heads  # noqa: B018
        return self

    @property
    def question(self) -> Question:
        """The charter's question."""
        return QUESTIONS[self.charter.question]

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


def refuse_misstated(charter: Charter, survey: Survey) -> None:
    """Refuses a charter that states anything else than what follows from epsilon, the policy and the public edges."""
    question = QUESTIONS[charter.question]
    own: dict[str, Any] = {
        "shares": [str(each) for each in question.shares(survey)],
        "mechanisms": list(question.stated(survey)),
    }
    said: dict[str, Any] = {"shares": [str(each) for each in charter.shares], "mechanisms": list(charter.mechanisms)}
    other = _difference(said, own, "")
    if other is not None:
        raise ProtocolViolation(f"The charter does not follow from its epsilon: {other}; do not answer it.")
    if charter.survey != survey.identity:
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


@dataclass(frozen=True, eq=False)
class Documents:
    """What everybody knows of a campaign: who is asked, which positions are public, and the public edges.

    ``roster`` are the names in the order that numbers them; ``edges`` are pairs of such numbers, the smaller first,
    sorted.
    """

    roster: tuple[Name, ...] = field(repr=False)
    policy: VisibilityPolicy
    edges: Edges = field(repr=False)

    @cached_property
    def view(self) -> PublicView:
        """The public view that both sides compute with."""
        return PublicView(self.roster, self.policy, self.edges)

    @cached_property
    def data(self) -> dict[str, bytes]:
        """The bytes of each document, by its name."""
        roster, edges = encode(list[Content](self.roster)), encode(self.edges.tolist())
        return {"roster": roster, "policy": policy_bytes(self.policy), "edges": edges}

    @classmethod
    def from_bytes(cls, charter: Charter, roster: bytes, policy: bytes, edges: bytes) -> Documents:
        """The documents of a charter; refuses one byte that it does not pin, and a roster in another order."""
        for name, data in (("roster", roster), ("policy", policy), ("edges", edges)):
            if digest(data) != getattr(charter, name):
                raise ProtocolViolation(f"The {name} document is not the one that the charter names; fetch it again.")
        names = _read_roster(roster)
        if len(names) != charter.nodes:
            raise ProtocolViolation(
                f"The charter is for {charter.nodes:,} participants; its roster has {len(names):,}."
            )
        if list(names) != in_order(names, charter.epoch):
            raise ProtocolViolation(
                "The roster is not in the order of its public hash, so somebody chose who holds what; do not answer."
            )
        documents = cls(names, policy_from_bytes(policy), _read_edges(edges, charter.nodes))
        try:
            documents.view.classes  # noqa: B018 - refuses a policy about other people
        except BadPolicy as error:
            raise ProtocolViolation(f"The documents do not fit together: {error}") from error
        return documents


def in_order(names: Iterable[Name], epoch: str) -> list[Name]:
    """The names by SHA-256 of the epoch and the name as written: nobody chooses who holds a position.  [CHARTER.5]

    The number 7 and the text "7" are one person's name to every ledger, so they have one place in the order.
    """
    return sorted(names, key=lambda name: hashlib.sha256(encode([epoch, str(name)])).digest())


def checked_names(names: Iterable[Hashable]) -> list[Name]:
    """Names that a roster can have: short texts without control characters, or whole numbers, no two written alike."""
    found = [write_name(name) for name in names]
    for name in found:
        if len(str(name)) > LONGEST_NAME:
            raise BadInput(
                f"A roster's names have up to {LONGEST_NAME} characters, as everybody downloads all of them; "
                f"{shortened(name)} has {len(str(name)):,}."
            )
        if isinstance(name, str) and (not name or any(unicodedata.category(letter) == "Cc" for letter in name)):
            raise BadInput(
                f"A roster's names have letters and no control characters; {shortened(name)} cannot be used."
            )
    twice = next((name for name, times in Counter(map(str, found)).items() if times > 1), None)
    if twice is not None:
        raise BadInput(
            f"Two names of the roster are written alike, {shortened(twice)}; give everybody a name of its own."
        )
    return found


def _read_roster(data: bytes) -> tuple[Name, ...]:
    content = decode(data)
    if not isinstance(content, list) or not all(isinstance(name, (str, int)) for name in content):
        raise ProtocolViolation("A roster is a list of names, which are texts or whole numbers.")
    try:
        return tuple(checked_names(content))  # type: ignore[arg-type]
    except BadInput as error:
        raise ProtocolViolation(f"The roster cannot be used: {error}") from error


def _read_edges(data: bytes, nodes: int) -> Edges:
    content = decode(data)
    if not isinstance(content, list) or not all(_is_pair(pair) for pair in content):
        raise ProtocolViolation("Public edges are a list of pairs of places in the roster.")
    edges = np.array(content, np.int64).reshape(-1, 2)
    if len(edges) and (edges.min() < 0 or edges.max() >= nodes or (edges[:, 0] >= edges[:, 1]).any()):
        raise ProtocolViolation("A public edge joins two different places of the roster, the smaller one first.")
    codes = edges[:, 0] * nodes + edges[:, 1]
    if (np.diff(codes) <= 0).any():
        raise ProtocolViolation("Public edges are sorted, and each stands once.")
    return edges.astype(np.int32)


def _is_pair(pair: Content) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(end) is int for end in pair)


def renumbered(edges: npt.ArrayLike, places: Sequence[int]) -> Edges:
    """Public edges between old places, as sorted pairs of new ones: ``places[old]`` is where a name has gone."""
    found = np.asarray(places, np.int64)[np.asarray(edges, np.int64).reshape(-1, 2)]
    found = np.unique(np.sort(found, axis=1), axis=0)
    return found.astype(np.int32)
