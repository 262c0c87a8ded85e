"""The issuer's log of charters: append-only, each entry signed and chained to the one before it.  [WITNESS.4]

There is one log for each issuer's key, whatever the epochs are called: an entry names a campaign, the data epoch and
the roster that it asks, and the public key of the campaign's server. The issuer keeps it beside its key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.file_lock import lock

LOG, SERVER_KEY = "log.json", "server.key"
FORMAT = "va-edge-ldp charter log 1"
PURPOSE = b"va-edge-ldp charter log 1\n"
# Some thousand charters.
LARGEST = 1 << 20
_TEXTS = ("before", "campaign", "epoch", "roster", "server")


@dataclass(frozen=True)
class LoggedCharter:
    """One entry: its number from 1 on, the digest of the entry before it, and what was issued."""

    number: int
    before: str
    campaign: str
    epoch: str
    roster: str
    server: str

    def __post_init__(self) -> None:
        named = all(signed_documents.is_fingerprint(each) for each in (self.campaign, self.roster, self.server))
        if not named or not isinstance(self.epoch, str) or type(self.number) is not int:
            raise ProtocolViolation("An entry of a log of charters names a campaign, an epoch, a roster and a key.")

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes, which are signed."""
        return signed_documents.encode(self.content)

    @property
    def content(self) -> dict[str, signed_documents.Content]:
        """The entry as JSON."""
        return {"number": self.number, **{name: getattr(self, name) for name in _TEXTS}}

    @property
    def digest(self) -> str:
        """What the next entry names."""
        return signed_documents.digest(PURPOSE + self.data)

    @classmethod
    def read(cls, content: signed_documents.Content) -> LoggedCharter:
        """From JSON."""
        if not isinstance(content, dict) or content.keys() != {"number", *_TEXTS}:
            raise ProtocolViolation("An entry of a log of charters holds other fields than its version has.")
        return cls(**content)  # type: ignore[arg-type]


@dataclass(frozen=True)
class CharterLog:
    """All entries of one issuer, with its signatures; making one from bytes checks every link.  [WITNESS.4]"""

    issuer: str
    entries: tuple[LoggedCharter, ...] = ()
    signatures: tuple[str, ...] = field(default=(), repr=False)

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes, as they are served and kept."""
        pairs = zip(self.entries, self.signatures, strict=True)
        listed: list[signed_documents.Content] = [
            {"entry": entry.content, "signature": signature} for entry, signature in pairs
        ]
        return signed_documents.encode({"format": FORMAT, "issuer": self.issuer, "entries": listed})

    @classmethod
    def from_bytes(cls, data: bytes, issuer: str) -> CharterLog:
        """The log in these bytes, if this issuer signed every entry and each names the one before it."""
        content = signed_documents.decode(data, LARGEST)
        if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("issuer") != issuer:
            raise ProtocolViolation(
                "This is not a log of the pinned issuer's charters, of a version that is read here."
            )
        listed = content.get("entries")
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise ProtocolViolation("A log of charters holds a list of signed entries.")
        entries = tuple(LoggedCharter.read(each.get("entry", "")) for each in listed if isinstance(each, dict))
        signatures = tuple(str(each.get("signature", "")) for each in listed if isinstance(each, dict))
        found = cls(issuer, entries, signatures)
        if found.data != data:
            raise ProtocolViolation("A log of charters holds other fields than its version has.")
        found._refuse_broken()
        return found

    def _refuse_broken(self) -> None:
        before = ""
        for number, (entry, signature) in enumerate(zip(self.entries, self.signatures, strict=True), 1):
            if entry.number != number or entry.before != before:
                raise ProtocolViolation(f"Entry {number} of the issuer's log does not follow the one before it.")
            if not signed_documents.verify(self.issuer, entry.data, _octets(signature), PURPOSE):
                raise ProtocolViolation(f"Entry {number} of the issuer's log is not signed by the pinned issuer.")
            before = entry.digest

    def of(self, campaign: str) -> LoggedCharter | None:
        """The entry of a campaign; the last one, where it was written anew after its directory was lost."""
        return next((entry for entry in reversed(self.entries) if entry.campaign == campaign), None)

    def about(self, epoch: str) -> tuple[LoggedCharter, ...]:
        """All entries about one data epoch."""
        return tuple(entry for entry in self.entries if entry.epoch == epoch)

    def first_difference(self, other: CharterLog) -> tuple[LoggedCharter, LoggedCharter] | None:
        """The first entries of both that differ; None where one log continues the other."""
        pairs = zip(self.entries, other.entries, strict=False)
        return next(((one, two) for one, two in pairs if one != two), None)

    def extended(self, charter: Charter, server: str, key: bytes) -> CharterLog:
        """The log with one more charter, signed with the issuer's private key."""
        if not signed_documents.fingerprint(key) == charter.issuer == self.issuer:
            raise ProtocolViolation("A charter stands in the log of the issuer that it names; this is another key.")
        before = self.entries[-1].digest if self.entries else ""
        entry = LoggedCharter(len(self.entries) + 1, before, charter.identity, charter.epoch, charter.roster, server)
        signature = signed_documents.sign(key, entry.data, PURPOSE).hex()
        return CharterLog(self.issuer, (*self.entries, entry), (*self.signatures, signature))


def continued(key_file: Path | None, charter: Charter, server: str, key: bytes) -> CharterLog:
    """The issuer's log with this charter; where the key is kept in a file, the log beside it is written anew first.

    A charter that stands in the log and was never served harms nobody; two charters in one place of it would accuse
    an honest issuer. So one process at a time comes here, and the log is on disk before the charter is.
    """
    if key_file is None:
        return CharterLog(charter.issuer).extended(charter, server, key)
    path = key_file.with_name(LOG)
    with key_file.open("rb") as held:
        lock(held.fileno(), wait=True)
        try:
            before = CharterLog.from_bytes(path.read_bytes(), charter.issuer) if path.exists() else None
        except (OSError, ProtocolViolation) as error:
            raise BadInput(
                f"{path} is not the log of this issuer's charters ({error}). Bring back the newest."
            ) from error
        log = (before or CharterLog(charter.issuer)).extended(charter, server, key)
        signed_documents.write_over(path, log.data)
    return log


def read_signing(place: Path, charter: Charter) -> tuple[CharterLog | None, bytes]:
    """The log and the server's key, which go together; neither in a campaign of before there were any."""
    if not (place / LOG).exists() and not (place / SERVER_KEY).exists():
        return None, b""
    try:
        log = CharterLog.from_bytes((place / LOG).read_bytes(), charter.issuer)
        key = bytes.fromhex((place / SERVER_KEY).read_text("ascii").strip())
    except (OSError, ValueError) as error:
        raise BadInput(f"{LOG} and {SERVER_KEY} go together in {place}; bring back both: {error}.") from error
    entry = log.of(charter.identity)
    if entry is None or entry.server != signed_documents.fingerprint(key):
        raise BadInput(f"{LOG} does not name {SERVER_KEY} as what this campaign's server signs with; bring back both.")
    return log, key


def _octets(signature: str) -> bytes:
    try:
        return bytes.fromhex(signature)
    except ValueError:
        return b""
