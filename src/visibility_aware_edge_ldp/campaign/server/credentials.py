"""Who may do what: of every token the server knows its SHA-256 alone."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from visibility_aware_edge_ldp.errors import BadInput

_TOKEN = re.compile(rb"[Bb]earer ([A-Za-z0-9_\-]{43})")


@dataclass(frozen=True)
class Credentials:
    """The hashes of the operator's token and of every participant's."""

    operator: bytes = field(repr=False)
    participants: tuple[bytes, ...] = field(repr=False)
    _known: frozenset[bytes] = field(repr=False)

    @classmethod
    def of(cls, operator: str, participants: Sequence[str]) -> Credentials:
        """From hashes in hex."""
        hashes = tuple(bytes.fromhex(each) for each in participants)
        known = frozenset([bytes.fromhex(operator), *hashes])
        if len(known) != len(hashes) + 1:
            raise BadInput("Two people have the same token. Make the campaign anew.")
        return cls(bytes.fromhex(operator), hashes, known)

    def shown(self, authorization: bytes | None) -> bytes | None:
        """The hash of the token that a request shows, if anybody has such a token."""
        found = _TOKEN.fullmatch(authorization or b"")
        if found is None:
            return None
        shown = hashlib.sha256(found[1]).digest()
        # Looked up by its hash: how long that takes tells about the hash, from which no token follows.
        return shown if shown in self._known else None

    def is_participant(self, shown: bytes, participant: int) -> bool:
        return hmac.compare_digest(shown, self.participants[participant])

    def is_operator(self, shown: bytes) -> bool:
        return hmac.compare_digest(shown, self.operator)
