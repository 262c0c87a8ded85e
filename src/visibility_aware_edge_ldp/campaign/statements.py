"""What a server signs: receipts, and one statement of each closed round; and its short code for people.  [WITNESS.1-3]

Receipts of one moment have one signature, of the root of a tree over them; each travels with its way to that root. Its
leaf has a salt, so that a way, which holds hashes of others' receipts, does not tell who they are.  [WITNESS.5]

A statement binds the campaign, the round, the root, how many uploads there are, the times, the transcript and the
statement of the round before. The transcript stands there under a salt that is erased with it: so the statement, which
stays, does not tell the first answers of few people, as the transcript's own digest would.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from visibility_aware_edge_ldp.campaign.signed_documents import (
    Content,
    decode,
    digest,
    encode,
    is_fingerprint,
    sign,
    verify,
)
from visibility_aware_edge_ldp.campaign.wire_format import root_above, root_and_ways
from visibility_aware_edge_ldp.errors import ProtocolViolation

FORMAT = "va-edge-ldp statement 1"
# What is signed, sealed or shortened begins with its purpose, so that nothing passes for something else.
RECEIPT, STATEMENT = b"va-edge-ldp receipt 2\n", b"va-edge-ldp statement 1\n"
_RECEIPT_ALONE = b"va-edge-ldp receipt 1\n"  # of a receipt's own bytes: ledgers hold such signatures
_SEALED, _CODE = b"va-edge-ldp transcript 1\n", b"va-edge-ldp code 1\n"
SALT = 32
# Octets of a signature; of the numbers that a receipt's place is told by; and of all that shows that it is signed.
SIGNATURE, _NUMBER = 64, 4
_WAY = SIGNATURE + SALT + 2 * _NUMBER
SHOWN = range(SIGNATURE, _WAY + 32 * 8 * _NUMBER + 1)
LARGEST = 1 << 12
_LAST_SECOND = 253_402_300_799
# 32 letters and digits, none of which is taken for another (no I, L, O, U): 5 groups of 4 are 100 bits.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_GROUPS, _GROUP, _BITS = 5, 4, 5
# So often is hashed for one code: whoever looks for two statements with one code pays this for each try.
TURNS = 1 << 16
_CONSENTS = "consents"
_TEXTS, _WHOLES = ("campaign", "root", "transcript", "before"), ("round", "count", "opened", "closed")


@dataclass(frozen=True)
class Statement:
    """What a server says of a closed round, once.  [WITNESS.1]

    Parameters
    ----------
    campaign, round, root, count
        The campaign's identity; which round; the Merkle root of its uploads, in hex, and how many they are.
    transcript
        :func:`sealed` digest of the transcript, where the question broadcasts one; else nothing.
    opened, closed
        When the round was opened and closed, by the server's clock, in seconds of Unix time; 0 where it is not known.
    before
        SHA-256 of the statement of the round before, in hex; nothing for the first.
    consents
        The digest of the list of those who consented, where the charter asks for it; else it is not written.
    """

    campaign: str
    round: int
    root: str
    count: int
    transcript: str
    opened: int
    closed: int
    before: str = ""
    consents: str = ""

    def __post_init__(self) -> None:
        if not all(is_fingerprint(each) for each in (self.campaign, self.root)):
            raise ProtocolViolation("A statement names a campaign and a root.")
        if not all(each == "" or is_fingerprint(each) for each in (self.transcript, self.before, self.consents)):
            raise ProtocolViolation("A statement names transcript, consents and the statement before it by digests.")
        if not all(type(getattr(self, name)) is int for name in _WHOLES):
            raise ProtocolViolation("A statement's round, count and times are whole numbers.")
        times = all(0 <= each <= _LAST_SECOND for each in (self.opened, self.closed))
        if self.round not in (1, 2) or self.count < 0 or not times or (self.before == "") != (self.round == 1):
            raise ProtocolViolation("A statement is of round 1, or of round 2 and names that of round 1.")

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes, which are signed."""
        names = (*_TEXTS, *_WHOLES, *((_CONSENTS,) if self.consents else ()))
        content: dict[str, Content] = {name: getattr(self, name) for name in names}
        return encode({"format": FORMAT, **content})

    @classmethod
    def from_bytes(cls, data: bytes) -> Statement:
        """The statement in these bytes; refuses anything that :attr:`data` would not be."""
        content = decode(data, LARGEST)
        if not isinstance(content, dict) or content.pop("format", "") != FORMAT:
            raise ProtocolViolation("This is not a statement of a version that is understood here.")
        if content.keys() - {_CONSENTS} != {*_TEXTS, *_WHOLES} or content.get(_CONSENTS) == "":
            raise ProtocolViolation("A statement holds other fields than its version has.")
        return cls(**content)  # type: ignore[arg-type]

    @property
    def digest(self) -> str:
        """What the next round's statement names."""
        return digest(self.data)


@dataclass(frozen=True)
class SignedStatement:
    """A statement as it travels: its bytes, and the server's signature of them."""

    data: bytes = field(repr=False)
    signature: bytes = field(repr=False)

    @classmethod
    def of(cls, statement: Statement, key: bytes) -> SignedStatement:
        """The statement, signed with the server's private key."""
        return cls(statement.data, sign(key, statement.data, STATEMENT))

    def opened(self, server: str) -> Statement:
        """The statement, if the holder of this public key signed these very bytes; nothing is read before."""
        if not verify(server, self.data, self.signature, STATEMENT):
            raise ProtocolViolation(
                "A statement of the server is not signed with the key that the issuer's log names; tell the issuer."
            )
        return Statement.from_bytes(self.data)


def sealed(transcript: str, salt: bytes) -> str:
    """A transcript's digest as a statement names it: with a salt that is erased when the transcript is."""
    return digest(_SEALED + salt + bytes.fromhex(transcript))


def sign_receipts(key: bytes, receipts: Sequence[bytes], salts: bytes = b"") -> list[str]:
    """What shows of each of these receipts that the server's key signed it, in hex; ``salts`` are for tests.

    The signature of the root, the receipt's salt, its place, how many there are, and the hashes beside its way.
    """
    count = len(receipts)
    salts = salts or os.urandom(SALT * count)
    own = [salts[start : start + SALT] for start in range(0, SALT * count, SALT)]
    root, ways = root_and_ways([salt + receipt for salt, receipt in zip(own, receipts, strict=True)])
    signature, of_so_many = sign(key, root, RECEIPT), count.to_bytes(_NUMBER, "big")
    places = [place.to_bytes(_NUMBER, "big") + of_so_many for place in range(count)]
    return [(signature + salt + place + way).hex() for salt, place, way in zip(own, places, ways, strict=True)]


def sign_receipt(key: bytes, receipt: bytes) -> str:
    """The same of one receipt."""
    return sign_receipts(key, [receipt])[0]


def receipt_is_signed(server: str, receipt: bytes, shown: bytes) -> bool:
    """Whether this shows that the holder of this public key acknowledged this receipt.  [WITNESS.5]"""
    if len(shown) == SIGNATURE:
        return verify(server, receipt, shown, _RECEIPT_ALONE)
    salt, place, way = shown[SIGNATURE : SIGNATURE + SALT], shown[SIGNATURE + SALT : _WAY], shown[_WAY:]
    index, count = (int.from_bytes(each, "big") for each in (place[:_NUMBER], place[_NUMBER:]))
    beside = [way[start : start + 32] for start in range(0, len(way), 32)]
    root = root_above(salt + receipt, index, count, beside)
    return root is not None and verify(server, root, shown[:SIGNATURE], RECEIPT)


@lru_cache(maxsize=64)
def code(statement: bytes) -> str:
    """A statement's bytes as 100 bits in five groups of four characters, for people to compare.  [WITNESS.2]"""
    found = int.from_bytes(hashlib.pbkdf2_hmac("sha256", statement, _CODE, TURNS, 32))
    letters = [ALPHABET[found >> 256 - _BITS * place & 31] for place in range(1, _GROUPS * _GROUP + 1)]
    return "-".join("".join(letters[start : start + _GROUP]) for start in range(0, len(letters), _GROUP))
