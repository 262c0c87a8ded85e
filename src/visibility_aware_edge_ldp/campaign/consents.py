"""Who consented, as a server freezes and signs it, and what one person says.  [CONSENT.1-3]

The list has a salt, so that its digest, which statements and reports name, does not tell who is on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from visibility_aware_edge_ldp.campaign.signed_documents import (
    LARGEST,
    Content,
    decode,
    digest,
    encode,
    is_fingerprint,
    sign,
    verify,
)
from visibility_aware_edge_ldp.errors import ProtocolViolation

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter

FORMAT = "va-edge-ldp consents 1"
PURPOSE = b"va-edge-ldp consents 1\n"
LARGEST_WORD = 1 << 10
_FIELDS = {"format", "campaign", "frozen", "people", "salt"}


@dataclass(frozen=True)
class Consents:
    """Who consented in a campaign, by number in the roster; and when the list was frozen, in seconds of Unix time."""

    campaign: str
    frozen: int
    people: tuple[int, ...] = field(repr=False)
    salt: str = field(repr=False)

    @classmethod
    def of(cls, charter: Charter, frozen: int, people: Iterable[int]) -> Consents:
        """A new list, with a salt of its own."""
        return cls(charter.identity, frozen, tuple(sorted(people)), os.urandom(32).hex())

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes, which are signed."""
        content: dict[str, Content] = {"campaign": self.campaign, "frozen": self.frozen, "salt": self.salt}
        return encode({"format": FORMAT, **content, "people": list[Content](self.people)})

    @cached_property
    def digest(self) -> str:
        """What statements and reports name it by."""
        return digest(self.data)

    def signature(self, key: bytes) -> bytes:
        """The server's signature, the same whenever it is made."""
        return sign(key, self.data, PURPOSE)

    @classmethod
    def from_bytes(cls, charter: Charter, data: bytes) -> Consents:
        """The list in these bytes; refuses one of another campaign, with strangers, or that nobody asked for."""
        content: Any = decode(data, LARGEST)
        if not isinstance(content, dict) or content.keys() != _FIELDS or content["format"] != FORMAT:
            raise ProtocolViolation("This is not a list of who consented, of a version that is understood here.")
        found = cls(content["campaign"], content["frozen"], _people(content["people"], charter.nodes), content["salt"])
        if found.campaign != charter.identity or not is_fingerprint(found.salt) or type(found.frozen) is not int:
            raise ProtocolViolation("The list of who consented is not of this campaign.")
        if not charter.consent:
            raise ProtocolViolation("The charter asks for nobody's consent, so that no list of it can be used.")
        return found


def opened(charter: Charter, server: str, data: bytes, signature: bytes) -> Consents:
    """The list, if the server signed these very bytes with the key that the issuer's log names."""
    if not server or not verify(server, data, signature, PURPOSE):
        raise ProtocolViolation(
            "The list of who consented is not signed with the key that the issuer's log names; do not answer."
        )
    return Consents.from_bytes(charter, data)


def word(charter: Charter, participant: int, consents: bool) -> bytes:
    """The bytes in which one person says whether it consents; the server repeats them."""
    return encode({"campaign": charter.identity, "consents": int(consents), "participant": participant})


def read_word(charter: Charter, participant: int, data: bytes) -> bool:
    """Whether this person consents by these bytes; refuses any but the two that say so."""
    for consents in (True, False):
        if data == word(charter, participant, consents):
            return consents
    raise ProtocolViolation("This does not say whether this person consents in this campaign.")


def _people(content: object, nodes: int) -> tuple[int, ...]:
    numbers = content if isinstance(content, list) else [-1]
    if not all(type(each) is int and 0 <= each < nodes for each in numbers):
        raise ProtocolViolation("The list of who consented names somebody who is not in the roster.")
    if any(before >= after for before, after in pairwise(numbers)):
        raise ProtocolViolation("The list of who consented is sorted, and names everybody once.")
    return tuple(numbers)
