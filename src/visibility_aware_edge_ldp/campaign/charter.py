"""The charter: all that a campaign asks, of whom, with which noise and until when, as signed bytes.  [CHARTER.1-3]"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign.invitations import NamedPage
from visibility_aware_edge_ldp.campaign.question import Question
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS, TRIANGLES, question_of
from visibility_aware_edge_ldp.campaign.waves import STATISTICS, Wave
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy import parse_epsilon
from visibility_aware_edge_ldp.public.statistic import check_statistics
from visibility_aware_edge_ldp.public.surveys.row_parts import PartRule

FORMAT, CONSENT = "va-edge-ldp charter 2", "consent"
HOLDING = "position {u, v}, u < v, is held by u; the roster is in the order of SHA-256 of the epoch and the name"
LARGEST = 1 << 20
MOST_NODES = (1 << 31) - 1
DAY = 86_400
# The end of the year 9999, and ten years, in seconds.
_LAST_SECOND, _LONGEST = 253_402_300_799, 315_576_000
_TEXTS = ("title", "issuer", "epoch", "roster", "policy", "edges", "question", "survey")
_WHOLES, _LISTS = ("nodes", "retention"), ("statistics", "shares", "mechanisms", "rounds")
_FIELDS = {"format", "holding", "trust", "epsilon", *_TEXTS, *_WHOLES, *_LISTS}
_OPTIONAL = {CONSENT, "page", "wave", "parts"}


@dataclass(frozen=True)
class Round:
    """When a round closes, in seconds of Unix time, and below how many responders nothing is estimated from it."""

    closes: int
    fewest: int


@dataclass(frozen=True)
class Charter:
    """Everything about a campaign that its identity pins.  [CHARTER.1]

    Parameters
    ----------
    title, epoch
        What people read; and the name of the data that is asked about: answers about one epoch add up.
    issuer
        The public key, in hex, whose holder signs the charter.
    nodes, roster, policy, edges
        How many participants there are, and the digests of the three documents.
    question, statistics, epsilon, shares
        What is asked, what is estimated from it, the loss per unit of the policy's multipliers, and each round's part.
    mechanisms
        For each round, the integers that are sampled with. Every participant works them out anew.  [CHARTER.3]
    survey
        The identity of the survey that reports name.
    rounds
        Deadlines and least numbers of responders.
    retention
        For how many seconds after the estimate the bodies of reports, and the transcript that holds the first ones,
        are kept; then their salted digests alone are. If too few reports come in, the time runs from that round's
        deadline; if nobody asks for the estimate, it is made and the time begins, 30 days and this time after the last
        deadline.
    consent
        Where only positions are asked whose both ends consented: until when they may, in seconds of Unix time. Then
        the list is frozen, and the first round opens.  [CONSENT.1] 0 where no consent is asked for: it is not written.
    page
        The page that people answer with in a browser, if the issuer vouches for one.  [CHARTER.10]
    wave
        Which wave of a series the campaign is; none for a first one, and for any other campaign.  [WAVES.1]
    parts
        How the first answers are cut into parts, of which each participant downloads one; none where it downloads
        all of them.  [PARTS.0]
    """

    title: str
    issuer: str
    epoch: str
    nodes: int
    roster: str
    policy: str
    edges: str
    question: str
    statistics: tuple[str, ...]
    epsilon: Fraction
    shares: tuple[Fraction, ...]
    mechanisms: tuple[dict[str, signed_documents.Content], ...] = field(repr=False)
    survey: str
    rounds: tuple[Round, ...]
    retention: int = 0
    consent: int = 0
    page: NamedPage | None = None
    wave: Wave | None = None
    parts: PartRule | None = None

    def __post_init__(self) -> None:
        _check_words(self)
        _check_question(self)
        _check_rounds(self)

    @property
    def numbers(self) -> range:
        """The rounds' numbers, from 1 on."""
        return range(1, len(self.rounds) + 1)

    @property
    def closing(self) -> list[str]:
        """When each round closes, as people read it."""
        return [date(each.closes) for each in self.rounds]

    @property
    def trust(self) -> str:
        """The trust model of the question."""
        return self.asked.trust.title

    @property
    def asked(self) -> Question:
        """The question, as it is asked here: of a wave, what has changed; of parts, sums over these."""
        return question_of(self.question, self.wave, self.parts)

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes, which are signed."""
        content: dict[str, signed_documents.Content] = {
            "format": FORMAT,
            "holding": HOLDING,
            "trust": self.trust,
            **{name: getattr(self, name) for name in (*_TEXTS, *_WHOLES)},
            "statistics": list(self.statistics),
            "epsilon": str(self.epsilon),
            "shares": [str(share) for share in self.shares],
            "mechanisms": list(self.mechanisms),
            "rounds": [{"closes": each.closes, "fewest": each.fewest} for each in self.rounds],
            **({CONSENT: self.consent} if self.consent else {}),
            **({"page": self.page.content} if self.page else {}),
            **({"wave": self.wave.content} if self.wave else {}),
            **({"parts": dict[str, signed_documents.Content](self.parts.content)} if self.parts else {}),
        }
        return signed_documents.encode(content)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Charter":
        """The charter in these bytes; refuses anything that :attr:`data` would not be."""
        content = signed_documents.decode(data, LARGEST)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ProtocolViolation(
                "This is not a charter of a version that is understood here. A campaign of another version is ended, "
                "and its reports are erased, by the program that began it."
            )
        _refuse_other_fields(content, _FIELDS | (content.keys() & _OPTIONAL), "A charter")
        lists: dict[str, list[signed_documents.Content]] = {name: _typed(content[name], list, name) for name in _LISTS}
        charter = cls(
            **{name: _typed(content[name], str, name) for name in _TEXTS},
            **{name: _typed(content[name], int, name) for name in _WHOLES},
            statistics=tuple(_typed(each, str, "statistics") for each in lists["statistics"]),
            epsilon=signed_documents.exact_fraction(content["epsilon"], "A charter's epsilon"),
            shares=tuple(signed_documents.exact_fraction(each, "A share of epsilon") for each in lists["shares"]),
            mechanisms=tuple(_typed(each, dict, "mechanisms") for each in lists["mechanisms"]),
            rounds=tuple(_round(each) for each in lists["rounds"]),
            consent=_typed(content.get(CONSENT, 0), int, CONSENT),
            page=NamedPage.read(content["page"]) if "page" in content else None,
            wave=Wave.of(content["wave"]) if "wave" in content else None,
            parts=PartRule.of(content["parts"]) if "parts" in content else None,
        )
        if charter.data != data:
            raise ProtocolViolation(
                "The charter names another trust model or another way of holding positions than its question has."
            )
        return charter

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the bytes: the campaign's name for everybody.  [CHARTER.1]"""
        return signed_documents.digest(self.data)

    def __hash__(self) -> int:
        return hash(self.identity)


@dataclass(frozen=True)
class SignedCharter:
    """A charter as it travels: its bytes, and the issuer's signature of them."""

    data: bytes = field(repr=False)
    signature: bytes = field(repr=False)

    @classmethod
    def of(cls, charter: Charter, key: bytes) -> "SignedCharter":
        """The charter, signed by its issuer."""
        if signed_documents.fingerprint(key) != charter.issuer:
            raise ProtocolViolation("A charter is signed by the issuer that it names; this is another key.")
        return cls(charter.data, signed_documents.sign(key, charter.data))

    @classmethod
    def from_hex(cls, data: bytes, signature: str) -> "SignedCharter":
        """From a charter's bytes and its signature in hex, as a header or a file has it."""
        try:
            found = bytes.fromhex(signature)
        except ValueError:
            found = b""
        if len(found) != 64 or found.hex() != signature.strip():
            raise ProtocolViolation("A signature is 128 hexadecimal digits, in lower case.")
        return cls(data, found)

    def opened(self, pinned_issuer: str) -> Charter:
        """The charter, if the pinned issuer signed these very bytes; nothing is read before.  [CHARTER.2]"""
        if not signed_documents.verify(pinned_issuer, self.data, self.signature):
            raise ProtocolViolation(
                "The charter is not signed by the issuer that was pinned; do not answer, and ask the issuer."
            )
        charter = Charter.from_bytes(self.data)
        if charter.issuer != pinned_issuer:
            raise ProtocolViolation("The charter names another issuer than the one that signed it.")
        return charter


def _check_words(charter: Charter) -> None:
    for name, most in (("title", 200), ("epoch", 100)):
        text = getattr(charter, name)
        if not 1 <= len(text) <= most:
            raise ProtocolViolation(
                f"A charter's {name} is 1 to {most} printable characters; got {signed_documents.shortened(text)}."
            )
        if why := signed_documents.why_misread(text):
            raise ProtocolViolation(f"A charter's {name} is seen whole; {signed_documents.shortened(text)}: {why}.")
    for name in ("issuer", "roster", "policy", "edges", "survey"):
        if not signed_documents.is_fingerprint(getattr(charter, name)):
            raise ProtocolViolation(f"A charter's {name} is 64 hexadecimal digits, in lower case.")
    if not 2 <= charter.nodes <= MOST_NODES:
        raise ProtocolViolation(f"A campaign has 2 to {MOST_NODES:,} participants; the charter says {charter.nodes}.")
    if not 0 <= charter.retention <= _LONGEST:
        raise ProtocolViolation(
            f"Reports are kept for 0 to {_LONGEST:,} seconds, which are ten years; the charter says "
            f"{charter.retention:,}."
        )


def _check_question(charter: Charter) -> None:
    question = QUESTIONS.get(charter.question)
    if question is None:
        raise ProtocolViolation(
            f"{signed_documents.shortened(charter.question)} is not a question; "
            f"a campaign asks one of {', '.join(QUESTIONS)}."
        )
    try:
        asked = check_statistics(charter.statistics, charter.nodes)
        parse_epsilon(charter.epsilon)
    except (BadStatistic, BadPrivacyParameter) as error:
        raise ProtocolViolation(f"The charter cannot be answered: {error}") from error
    if charter.wave is not None and (charter.question, charter.statistics) != ("position", STATISTICS):
        raise ProtocolViolation("A wave after the first asks positions, and tells how many edges formed and ended.")
    if charter.parts is not None and (charter.question, charter.statistics) != (TRIANGLES.name, (TRIANGLES.name,)):
        raise ProtocolViolation("First answers are read in parts where triangles are counted, and nowhere else.")
    other = [name for name in asked if not question.answers(name)]
    if other:
        raise ProtocolViolation(f"The question {charter.question!r} does not answer {other[0]}.")
    if asked != charter.statistics or (len(asked) > 1 and not question.several):
        raise ProtocolViolation(f"The question {charter.question!r} takes each statistic once, and not these together.")


def _check_rounds(charter: Charter) -> None:
    count = len(charter.rounds)
    if count not in charter.asked.rounds:
        raise ProtocolViolation(f"The question {charter.question!r} is not asked in {count} rounds.")
    if len(charter.shares) != count or min(charter.shares) <= 0 or sum(charter.shares) != 1:
        raise ProtocolViolation("Epsilon is split over the rounds by positive shares, one for each, that sum to 1.")
    if len(charter.mechanisms) != count:
        raise ProtocolViolation("The charter must state the integers of every round's mechanism.")
    closes = [0, *(each.closes for each in charter.rounds)]
    if any(not before < after for before, after in pairwise(closes)) or closes[-1] > _LAST_SECOND:
        raise ProtocolViolation("Rounds close one after the other, at seconds of Unix time after 1970.")
    if charter.consent and not 0 < charter.consent < charter.rounds[0].closes:
        raise ProtocolViolation("People may consent until a second of Unix time before the first round closes.")
    if charter.consent and charter.wave:
        raise ProtocolViolation("Waves after the first do not ask for the consent of both ends; leave it out.")
    if charter.consent and QUESTIONS[charter.question].sees_edges:
        raise ProtocolViolation(f"The question {charter.question!r} cannot keep to the consent of both ends.")
    if any(not 1 <= each.fewest <= charter.nodes for each in charter.rounds):
        raise ProtocolViolation("The fewest responders of a round are at least 1 and at most all participants.")


def _refuse_other_fields(content: dict[str, signed_documents.Content], fields: Iterable[str], what: str) -> None:
    wanted = set(fields)
    for word, names in (("lacks", wanted - content.keys()), ("has an unknown", content.keys() - wanted)):
        if names:
            raise ProtocolViolation(f"{what} {word} {signed_documents.shortened(min(names))}; it cannot be answered.")


def _typed(value: signed_documents.Content, kind: type, name: str) -> Any:
    if type(value) is not kind:
        word = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}[kind]
        raise ProtocolViolation(f"A charter's {name} must be {word}; got {signed_documents.shortened(value)}.")
    return value


def _round(value: signed_documents.Content) -> Round:
    content = _typed(value, dict, "rounds")
    _refuse_other_fields(content, ("closes", "fewest"), "A round")
    return Round(_typed(content["closes"], int, "closes"), _typed(content["fewest"], int, "fewest"))


def date(moment: int) -> str:
    """Seconds of Unix time as people read them."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))


def kept_for(charter: Charter, number: int = 1) -> str:
    """How long reports are kept: after the estimate, or after the deadline if there will be none; and what stays."""
    seconds, fewest = charter.retention, charter.rounds[number - 1].fewest
    few = f"if fewer than {fewest:,} answer in time, nothing is estimated and"
    stays = "who answered, and a salted digest of each report, stay"
    if not seconds:
        return f"reports until the estimate; {few} they go at the deadline; {stays}"
    days = f"{seconds / DAY:g} {'day' if seconds == DAY else 'days'}"
    return f"reports for {days} after the estimate; {few} they go {days} after the deadline; {stays}"
