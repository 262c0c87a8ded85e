"""Amendments: what the issuer changes for one person or one deadline, signed and chained.  [CHARTER.9]

Each names the campaign and, by its digest, the amendment before it, so that one sequence of them is all that happened.
They are public and name nobody: a person is a salted hash, whose salt the issuer shows to the server alone. Kinds:

token       another token for a person who lost the first, which is refused from then on
device      the same for a person whose ledger was handed over to another device; ``ledger`` is that ledger's last hash
withdrawal  a person's reports leave all rounds that are not frozen, and no more are taken
deadline    a round closes later
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign.charter import DAY, Charter, Round, date
from visibility_aware_edge_ldp.errors import ProtocolViolation

FORMAT = "va-edge-ldp amendment 1"
TOKEN, DEVICE, WITHDRAWAL, DEADLINE = "token", "device", "withdrawal", "deadline"
# What each kind says, besides format, campaign, number, previous and kind.
_SAYS: Mapping[str, tuple[str, ...]] = {
    TOKEN: ("person", "token"),
    DEVICE: ("person", "token", "ledger"),
    WITHDRAWAL: ("person",),
    DEADLINE: ("round", "closes"),
}
_DIGESTS = frozenset({"campaign", "previous", "person", "token", "ledger"})
_HEAD = ("campaign", "number", "previous", "kind")
_PERSON = b"va-edge-ldp person 1\n"
SALT = 32
# A round closes at most so many seconds after the deadline that the charter names: people agreed to that one.
LONGEST_EXTENSION = 366 * DAY
# Octets of one amendment as it is handed to a server, and of all of them.
LARGEST_ONE, LARGEST = 1 << 12, 1 << 26


class OutOfOrder(ProtocolViolation):
    """An amendment that does not follow the last one: others came between, or it was taken before."""


@dataclass(frozen=True)
class Person:
    """Whom an amendment is about: the number in the roster, and the salt that hides it.  [CHARTER.9]"""

    participant: int
    salt: bytes = field(default_factory=lambda: os.urandom(SALT), repr=False)

    def hidden(self, campaign: str) -> str:
        """What the amendment says of the person: SHA-256 of the campaign, the salt and the number."""
        number = self.participant.to_bytes(8, "big")
        return hashlib.sha256(_PERSON + bytes.fromhex(campaign) + self.salt + number).hexdigest()

    @property
    def content(self) -> dict[str, signed_documents.Content]:
        return {"participant": self.participant, "salt": self.salt.hex()}

    @classmethod
    def from_content(cls, content: signed_documents.Content) -> Person:
        """From the object that is handed to a server beside the amendment."""
        said = _object(content, ("participant", "salt"), "A person in an amendment")
        participant, salt = said["participant"], said["salt"]
        if type(participant) is not int or not 0 <= participant < 1 << 31 or not signed_documents.is_fingerprint(salt):
            raise ProtocolViolation("A person in an amendment is a number of the roster and a salt of 32 octets.")
        return cls(participant, bytes.fromhex(str(salt)))


@dataclass(frozen=True)
class Amendment:
    """One change; what its kind does not say is left empty."""

    campaign: str
    number: int
    previous: str
    kind: str
    person: str = ""
    token: str = ""
    ledger: str = ""
    round: int = 0
    closes: int = 0

    def __post_init__(self) -> None:
        if self.kind not in _SAYS:
            raise ProtocolViolation(
                f"{signed_documents.shortened(self.kind)} is no kind of amendment; kinds are {', '.join(_SAYS)}."
            )
        for name in (*_HEAD[:3], *_SAYS[self.kind]):
            value = getattr(self, name)
            if name in _DIGESTS and not signed_documents.is_fingerprint(value):
                raise ProtocolViolation(f"An amendment's {name} is 64 hexadecimal digits, in lower case.")
            if name not in _DIGESTS and (type(value) is not int or value < 1):
                raise ProtocolViolation(f"An amendment's {name} is a whole number from 1 on.")

    @property
    def content(self) -> dict[str, signed_documents.Content]:
        names = (*_HEAD, *_SAYS[self.kind])
        return {"format": FORMAT, **{name: getattr(self, name) for name in names}}

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes, which are signed."""
        return signed_documents.encode(self.content)

    @cached_property
    def digest(self) -> str:
        """By what the next one names it."""
        return signed_documents.digest(self.data)

    @classmethod
    def from_content(cls, content: signed_documents.Content) -> Amendment:
        kind = content.get("kind") if isinstance(content, dict) else None
        said = _object(content, ("format", *_HEAD, *_SAYS.get(str(kind), ())), "An amendment")
        if said["format"] != FORMAT:
            raise ProtocolViolation(f"This is not an amendment of the version that is read here, {FORMAT!r}.")
        return cls(**{name: value for name, value in said.items() if name != "format"})


@dataclass(frozen=True)
class SignedAmendment:
    """An amendment as it travels: with the issuer's signature of its bytes and, to the server alone, the person."""

    amendment: Amendment
    signature: str
    person: Person | None = field(default=None, repr=False)

    @classmethod
    def of(cls, amendment: Amendment, key: bytes, person: Person | None = None) -> SignedAmendment:
        """Signed with the issuer's private key."""
        return cls(amendment, signed_documents.sign(key, amendment.data).hex(), person)

    @property
    def public(self) -> dict[str, signed_documents.Content]:
        """What everybody may read."""
        return {"amendment": self.amendment.content, "signature": self.signature}

    @property
    def data(self) -> bytes:
        """What is handed to the server."""
        return signed_documents.encode(
            {**self.public, **({} if self.person is None else {"person": self.person.content})}
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> SignedAmendment:
        return cls.from_content(signed_documents.decode(data, LARGEST_ONE))

    @classmethod
    def from_content(cls, content: signed_documents.Content) -> SignedAmendment:
        names = ("amendment", "signature", *(("person",) if isinstance(content, dict) and "person" in content else ()))
        said = _object(content, names, "A signed amendment")
        person = Person.from_content(said["person"]) if "person" in said else None
        return cls(Amendment.from_content(said["amendment"]), str(said["signature"]), person)

    def is_signed_by(self, issuer: str) -> bool:
        try:
            signature = bytes.fromhex(self.signature)
        except ValueError:
            return False
        return signature.hex() == self.signature and signed_documents.verify(issuer, self.amendment.data, signature)


@dataclass(frozen=True, eq=False)
class Amended:
    """A charter with all of its amendments, checked one by one: deadlines as they are now, and what was changed.

    ``signed`` are in order. A server's know whom they are about; everybody else's do not.
    """

    charter: Charter
    signed: tuple[SignedAmendment, ...] = ()

    @property
    def amendments(self) -> Iterator[Amendment]:
        return (each.amendment for each in self.signed)

    @property
    def head(self) -> str:
        """What the next amendment must name: the last one's digest, or the campaign where there is none yet."""
        return self.signed[-1].amendment.digest if self.signed else self.charter.identity

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """The charter's rounds with the deadlines that hold now."""
        later = {each.round: each.closes for each in self.amendments if each.kind == DEADLINE}
        numbered = enumerate(self.charter.rounds, 1)
        return tuple(replace(each, closes=later.get(number, each.closes)) for number, each in numbered)

    @property
    def retention(self) -> int:
        return self.charter.retention

    @property
    def withdrawals(self) -> int:
        """How many people have withdrawn."""
        return sum(each.kind == WITHDRAWAL for each in self.amendments)

    @cached_property
    def withdrawn(self) -> frozenset[int]:
        """Who has, where it is known who is who."""
        found = (each.person for each in self.signed if each.amendment.kind == WITHDRAWAL)
        return frozenset(person.participant for person in found if person is not None)

    @cached_property
    def tokens(self) -> dict[int, str]:
        """The hash of each person's token that was replaced, where it is known who is who."""
        replaced = ((each.person, each.amendment.token) for each in self.signed if each.amendment.token)
        return {person.participant: token for person, token in replaced if person is not None}

    def ledger_for(self, token: str) -> str:
        """The last hash of the ledger that the holder of this token's hash must have taken over; empty for none."""
        found = (each.ledger for each in self.amendments if each.kind == DEVICE and each.token == token)
        return next(found, "")

    def next(self, kind: str, **says: Any) -> Amendment:
        """The amendment that would follow."""
        return Amendment(self.charter.identity, len(self.signed) + 1, self.head, kind, **says)

    def after(self, signed: SignedAmendment) -> Amended:
        """With one more; refuses one that the issuer did not sign, that does not follow, or that may not be."""
        amendment, charter = signed.amendment, self.charter
        if not signed.is_signed_by(charter.issuer):
            raise ProtocolViolation("The amendment is not signed by the campaign's issuer.")
        if amendment.campaign != charter.identity:
            raise ProtocolViolation("The amendment is for another campaign.")
        if (amendment.number, amendment.previous) != (len(self.signed) + 1, self.head):
            raise OutOfOrder(
                f"The amendment has number {amendment.number} or follows another one; the next is number "
                f"{len(self.signed) + 1}, after {self.head[:16]}. Sign it anew."
            )
        if amendment.token and amendment.token in {each.token for each in self.amendments}:
            raise ProtocolViolation("The amendment gives somebody a token that was given before. Make another.")
        if amendment.kind == DEADLINE:
            self._refuse_deadline(amendment)
        return Amended(charter, (*self.signed, signed))

    def _refuse_deadline(self, amendment: Amendment) -> None:
        """A deadline is never earlier, nor later than the next round's, nor much later than people agreed to."""
        number = amendment.round
        if number > len(self.rounds):
            raise ProtocolViolation(f"The campaign has {len(self.rounds)} rounds; there is no {number}.")
        now = self.rounds[number - 1].closes
        if amendment.closes <= now:
            raise ProtocolViolation(f"A deadline is extended, never shortened: round {number} closes {date(now)}.")
        following = self.rounds[number].closes if number < len(self.rounds) else amendment.closes + 1
        if amendment.closes >= following:
            raise ProtocolViolation(f"Round {number} would close after the next round. Extend that one first.")
        last = self.charter.rounds[number - 1].closes + LONGEST_EXTENSION
        if amendment.closes > last:
            raise ProtocolViolation(
                f"Round {number} may be extended to {date(last)}, {LONGEST_EXTENSION // DAY} days after the deadline "
                "that people agreed to, and no later."
            )

    @property
    def data(self) -> bytes:
        """What everybody may read, as canonical bytes."""
        return signed_documents.encode(list[signed_documents.Content](each.public for each in self.signed))

    @classmethod
    def from_bytes(cls, charter: Charter, data: bytes) -> Amended:
        """From what a server shows; every one is checked.  [CHARTER.9]"""
        content, found = signed_documents.decode(data, LARGEST), cls(charter)
        if not isinstance(content, list):
            raise ProtocolViolation("A campaign's amendments are a list.")
        for each in content:
            found = found.after(SignedAmendment.from_content(each))
        return found


def signed_by(key: bytes, charter: Charter) -> bytes:
    """The key, if it is the issuer's."""
    if signed_documents.fingerprint(key) != charter.issuer:
        raise ProtocolViolation("An amendment is signed by the issuer of the charter; this is another key.")
    return key


def _object(content: signed_documents.Content, names: tuple[str, ...], what: str) -> dict[str, Any]:
    if not isinstance(content, dict) or content.keys() != set(names):
        raise ProtocolViolation(
            f"{what} has {', '.join(sorted(names))}, and nothing else; got {signed_documents.shortened(content)}."
        )
    return content
