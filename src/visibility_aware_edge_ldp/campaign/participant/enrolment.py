"""Enrolling: a campaign's charter and documents, fetched, checked and kept on the participant's own disk."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from visibility_aware_edge_ldp.campaign.charter import FORMAT as CHARTER_FORMAT
from visibility_aware_edge_ldp.campaign.charter import LARGEST as LARGEST_CHARTER
from visibility_aware_edge_ldp.campaign.charter import Charter, SignedCharter
from visibility_aware_edge_ldp.campaign.documents import NAMED, Documents
from visibility_aware_edge_ldp.campaign.http_client import Patience, Transport
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Page
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.signed_documents import decode, encode, sync, verify, write_over
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, secure_random_bytes

FORMAT = "va-edge-ldp enrolment 1"
_DOCUMENTS = ("roster", "policy", "edges")
_FILES = ("charter.json", "charter.sig", *(f"{name}.json" for name in _DOCUMENTS), "enrolment.json", "token")
_OWN = ("url", "name", "issuer")
LEDGER = "ledger.db"


class OtherVersion(BadInput):
    """A campaign that another version of this program was enrolled in, and that this one cannot read."""


@dataclass(frozen=True, eq=False)
class Enrolment:
    """A campaign that this participant knows; every time it is opened, signature and digests are checked again."""

    url: str
    name: str
    issuer: str
    token: str = field(repr=False)
    signed: SignedCharter = field(repr=False)
    documents: Mapping[str, bytes] = field(repr=False)

    @cached_property
    def charter(self) -> Charter:
        """The charter, if the pinned issuer signed it.  [CHARTER.2]"""
        return self.signed.opened(self.issuer)

    @cached_property
    def context(self) -> ParticipantContext:
        """The participant's context; refuses a charter that misstates what it asks.  [CHARTER.3, CHARTER.4]"""
        return ParticipantContext.of(self.charter, _documents(self.charter, **self.documents), self.name)

    @property
    def identity(self) -> str:
        """The campaign."""
        return self.charter.identity


@dataclass(frozen=True)
class Surroundings:
    """What tests and rehearsals replace: random bytes, patience with the server, the pace, and the transport itself."""

    random_bytes: Callable[[], RandomBytes] = secure_random_bytes
    patience: Patience = field(default_factory=Patience)
    pace: float | None = None
    transport: Callable[[str, str, Patience], Transport] = Transport

    def server(self, enrolment: Enrolment) -> Transport:
        return self.transport(enrolment.url, enrolment.token, self.patience)


def fetch(url: str, name: str, token: str, issuer: str, transport: Transport) -> Enrolment:
    """A campaign as its server shows it, checked against the pinned issuer before anything of it is believed."""
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise BadInput("A token is one word of plain letters and digits; copy it whole.")
    shown = transport.get("/v1/charter", LARGEST_CHARTER)
    signed = SignedCharter.from_hex(shown.body, shown.headers.get("charter-signature", ""))
    signed.opened(issuer)
    # Only a server that has shown what the pinned issuer signed is shown the token.
    documents = {each: transport.get(f"/v1/{each}", own=each in NAMED).body for each in _DOCUMENTS}
    enrolment = Enrolment(url, name, issuer, token, signed, documents)
    enrolment.context  # noqa: B018 - refuses documents that the charter does not name, and integers that do not follow
    return enrolment


def keep(enrolment: Enrolment, home: Path) -> Path:
    """Store a campaign under its identity; what is there already stays unless it is the same campaign again."""
    folder = home / "campaigns" / enrolment.identity
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = {name: getattr(enrolment, name) for name in _OWN}
    contents = (
        enrolment.signed.data,
        enrolment.signed.signature.hex().encode(),
        *(enrolment.documents[name] for name in _DOCUMENTS),
        encode({"format": FORMAT, **own}),
        enrolment.token.encode(),
    )
    if folder.exists():
        # The same campaign under another address or token; its documents are the same by their digests.
        for name, data in list(zip(_FILES, contents, strict=True))[-2:]:
            write_over(folder / name, data)
        return folder
    draft = folder.with_name(f"{folder.name}.{os.getpid()}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    for name, data in zip(_FILES, contents, strict=True):
        write_over(draft / name, data)
    draft.rename(folder)
    sync(folder.parent)
    return folder


def enrolled(home: Path) -> list[str]:
    """The identities of the campaigns that are kept."""
    folder = home / "campaigns"
    return sorted(each.name for each in folder.iterdir() if len(each.name) == 64) if folder.is_dir() else []


def load(home: Path, campaign: str | None = None) -> Enrolment:
    """A campaign that is kept; it need not be named, or not in full, where that is plain."""
    found = [each for each in enrolled(home) if campaign is None or each.startswith(campaign)]
    if len(found) != 1:
        known = ", ".join(each[:12] for each in enrolled(home)) or "none; enrol first"
        raise BadInput(f"Say which campaign is meant, by the beginning of its identity. Enrolled here: {known}.")
    folder = home / "campaigns" / found[0]
    try:
        data, signature, *documents, own, token = ((folder / name).read_bytes() for name in _FILES)
    except OSError as error:
        raise BadInput(f"The campaign {found[0][:12]} cannot be read ({error}); enrol again.") from error
    said = decode(own)
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise OtherVersion(f"The campaign {found[0][:12]} was enrolled by another version; enrol again.")
    url, name, issuer = (str(said[each]) for each in _OWN)
    signed = SignedCharter.from_hex(data, signature.decode())
    enrolment = Enrolment(url, name, issuer, token.decode(), signed, dict(zip(_DOCUMENTS, documents, strict=True)))
    _refuse_other_version(enrolment, found[0])
    if enrolment.identity != found[0]:
        raise BadInput(f"The folder {found[0][:12]} holds another campaign; enrol again.")
    return enrolment


def _refuse_other_version(enrolment: Enrolment, campaign: str) -> None:
    """A charter that the pinned issuer signed, in a format that is not read here, is no fault of anybody's."""
    signed = enrolment.signed
    if not verify(enrolment.issuer, signed.data, signed.signature):
        return
    content = decode(signed.data, LARGEST_CHARTER)
    if isinstance(content, dict) and content.get("format") != CHARTER_FORMAT:
        raise OtherVersion(
            f"The campaign {campaign[:12]} is of another version of this program; answer it with that one."
        )


@lru_cache(maxsize=1)
def _documents(charter: Charter, roster: bytes, policy: bytes, edges: bytes) -> Documents:
    """The same bytes are read once, however many rounds or people one process answers for."""
    return Documents.from_bytes(charter, roster, policy, edges)


def accept_epoch(page: Page, epoch: str, name: str, new_epoch: bool) -> None:
    """One name in one epoch, or the roster's order could make both ends of a position its holder.  [CHARTER.5]"""
    known = {entry.epoch: entry.key for entry in page.entries("epoch")}
    if known.get(epoch, name) != name:
        raise Refused(
            f"In the data epoch {epoch!r} you are {known[epoch]!r}; under a second name you could be asked twice."
        )
    if epoch in known:
        return
    if known and not new_epoch:
        raise Refused(
            f"This campaign's data epoch is {epoch!r}; you knew {', '.join(map(repr, known))}. "
            "Losses of different epochs are not added up: agree to a new one only if your list is of another time."
        )
    page.append(Entry("epoch", epoch, name))
