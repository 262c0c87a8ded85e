"""The receipt: what is given for an upload, the same bytes whenever it is asked for again.  [CHARTER.7]"""

from __future__ import annotations

from dataclasses import dataclass

from visibility_aware_edge_ldp.campaign.canonical import Content, decode, encode
from visibility_aware_edge_ldp.campaign.signing import is_fingerprint
from visibility_aware_edge_ldp.errors import ProtocolViolation

_LARGEST = 4096
_FIELDS = {"campaign", "round", "participant", "digest"}


@dataclass(frozen=True)
class Receipt:
    """Which upload is stored: the campaign's identity, the round, the participant and the upload's SHA-256 in hex."""

    campaign: str
    round: int
    participant: int
    digest: str

    def __post_init__(self) -> None:
        named = is_fingerprint(self.campaign) and is_fingerprint(self.digest)
        if not named or type(self.round) is not int or type(self.participant) is not int:
            raise ProtocolViolation("A receipt names a campaign, a round, a participant and a digest.")
        if self.round not in (1, 2) or self.participant < 0:
            raise ProtocolViolation("A receipt is for round 1 or 2 of a participant of the roster.")

    def to_bytes(self) -> bytes:
        """The bytes that are sent."""
        content: dict[str, Content] = {**vars(self)}
        return encode(content)

    @classmethod
    def from_bytes(cls, data: bytes) -> Receipt:
        """The receipt in these bytes; refuses anything that :meth:`to_bytes` would not have written."""
        content = decode(data, _LARGEST)
        if not isinstance(content, dict) or content.keys() != _FIELDS:
            raise ProtocolViolation("A receipt holds campaign, round, participant and digest, and nothing else.")
        return cls(**content)  # type: ignore[arg-type]
