"""An issuer who signs amendments, for tests of both sides."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign.amendments import Amended, Amendment, Person, SignedAmendment
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.signed_documents import new_token, token_hash


@dataclass
class Issuer:
    """Signs one amendment after the other."""

    charter: Charter
    key: bytes = field(repr=False)
    amended: Amended = field(init=False)

    def __post_init__(self) -> None:
        self.amended = Amended(self.charter)

    @classmethod
    def of(cls, charter: Charter, directory: Path) -> Issuer:
        return cls(charter, bytes.fromhex((directory / "issuer.key").read_text()))

    def drafted(self, kind: str, participant: int | None = None, **says: Any) -> tuple[Amendment, Person | None]:
        """What would follow, not signed yet."""
        person = None if participant is None else Person(participant)
        named = {} if person is None else {"person": person.hidden(self.charter.identity)}
        return self.amended.next(kind, **named, **says), person

    def signs(self, kind: str, participant: int | None = None, **says: Any) -> SignedAmendment:
        """The next one; whoever is handed it has to take it before the one after."""
        amendment, person = self.drafted(kind, participant, **says)
        signed = SignedAmendment.of(amendment, self.key, person)
        self.amended = self.amended.after(signed)
        return signed

    def replaces_token(self, participant: int, kind: str = "token", **says: Any) -> tuple[SignedAmendment, str]:
        token = new_token()
        return self.signs(kind, participant, token=token_hash(token), **says), token
