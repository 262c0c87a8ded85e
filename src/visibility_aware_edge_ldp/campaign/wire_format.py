"""What is sent: uploads, receipts, refusals, and the tree of hashes over a round's uploads.  [CHARTER.7] [CHARTER.8]

An upload is 32 random octets, then a report. The octets go wherever the report goes, and nowhere else: to the server's
table of bodies and into the own ledger. So digests, which are kept and shown when reports are gone, cannot be compared
with those of all reports that there might be.

The tree's root names all uploads of a round, and a short proof shows one. Hashing is RFC 6962's: SHA-256, with 0x00
before a leaf and 0x01 before a node, so that neither passes for the other. The root is the hash of 0x02, how many
leaves there are, and the tree's top: so a proof also shows of how many. Where the first answers are read in parts, the
parts have such a tree, too, and each travels with its proof.
"""

import hashlib
import os
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, encode, is_fingerprint
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

SALT = 32
_LARGEST, _LARGEST_PROBLEM = 1 << 12, 1 << 16
_FIELDS = {"campaign", "round", "participant", "digest"}
MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:va-edge-ldp:problem:"
Level = list[bytes]
Leaf = tuple[int, bytes]  # a participant and the SHA-256 of its upload


def salted(report: bytes) -> bytes:
    """A report as it is sent, with octets before it that nobody can guess."""
    return os.urandom(SALT) + report


def report_in(upload: bytes) -> bytes:
    """The report without them."""
    return upload[SALT:]


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
    def from_bytes(cls, data: bytes) -> "Receipt":
        """The receipt in these bytes; refuses anything that :meth:`to_bytes` would not have written."""
        content = decode(data, _LARGEST)
        if not isinstance(content, dict) or content.keys() != _FIELDS:
            raise ProtocolViolation("A receipt holds campaign, round, participant and digest, and nothing else.")
        return cls(**content)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Problem:
    """One kind of refusal: its last word names it, the title is for people, the status is HTTP's."""

    name: str
    title: str
    status: int

    @property
    def type(self) -> str:
        """The registered type, which programs compare."""
        return PREFIX + self.name

    def body(self, detail: str = "") -> bytes:
        """The bytes that are sent; ``detail`` is one sentence on this case."""
        # A sentence may quote what a stranger sent; whatever that was, the answer can be written.
        fit = unicodedata.normalize("NFC", detail.encode(errors="replace").decode())
        said = {"detail": fit} if fit else {}
        return encode({"type": self.type, "title": self.title, "status": self.status, **said})


_ALL = (
    Problem("bad-request", "This request is not understood.", 400),
    Problem("unauthorized", "A valid token is needed.", 401),
    Problem("forbidden", "This token is for somebody else.", 403),
    Problem("not-found", "There is nothing here.", 404),
    Problem("method-not-allowed", "This cannot be done here.", 405),
    Problem("deadline", "The request took too long.", 408),
    Problem("conflict", "Another upload is stored; the first one stands.", 409),
    Problem("late", "The round is closed.", 409),
    Problem("not-open", "The round is not open yet.", 409),
    Problem("out-of-order", "This amendment does not follow the last one.", 409),
    Problem("withdrawn", "This person has withdrawn, and nothing of it is stored.", 409),
    Problem("not-ready", "This is not there yet.", 409),
    Problem("erased", "This was erased, as the charter promises.", 410),
    Problem("length-required", "The length must be said first.", 411),
    Problem("too-large", "This is larger than what is asked for.", 413),
    Problem("media-type", "Uploads are plain octets.", 415),
    Problem("bad-report", "This is not the report that was asked for.", 422),
    Problem("bad-amendment", "This is not an amendment that may be made.", 422),
    Problem("too-many", "Too many requests; wait and try again.", 429),
    Problem("header-too-large", "The head of the request is too large.", 431),
    Problem("internal", "The server failed; try again.", 500),
    Problem("damaged", "The store does not hold what it acknowledged; restore it from a copy.", 500),
    Problem("store-unavailable", "Nothing can be stored now; try again.", 503),
)
PROBLEMS = {problem.name: problem for problem in _ALL}
BY_TYPE = {problem.type: problem for problem in _ALL}


def problem_in(media_type: str, body: bytes) -> Problem | None:
    """The refusal in a body with this Content-Type, if our servers write it."""
    if media_type.split(";")[0].strip() != MEDIA_TYPE:
        return None
    try:
        content = decode(body, _LARGEST_PROBLEM)
    except ProtocolViolation:
        return None
    return BY_TYPE.get(str(content.get("type", ""))) if isinstance(content, dict) else None


def leaf(participant: int, digest: str) -> bytes:
    """What stands for one upload: eight octets of the participant's number, then the upload's SHA-256."""
    return participant.to_bytes(8, "big") + bytes.fromhex(digest)


def root(leaves: Sequence[bytes]) -> bytes:
    """The hash that names all leaves in their order, and how many there are."""
    return _of_all(len(leaves), top(leaves))


def top(leaves: Sequence[bytes]) -> bytes:
    """The top of RFC 6962's tree; of no leaves, SHA-256 of nothing."""
    return levels_of(leaves)[-1][0] if leaves else hashlib.sha256().digest()


def proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The siblings on the way from a leaf to the root."""
    if not 0 <= index < len(leaves):
        raise BadInput(f"There are {len(leaves):,} leaves; there is no number {index}.")
    return _siblings(levels_of(leaves), index)


def _siblings(levels: Sequence[Level], index: int) -> list[bytes]:
    found = []
    for level in levels[:-1]:
        if index ^ 1 < len(level):
            found.append(level[index ^ 1])
        index >>= 1
    return found


def verify(root: bytes, leaf: bytes, index: int, count: int, proof: Sequence[bytes]) -> bool:
    """Whether the leaf stands at this place among ``count`` leaves with this root."""
    return root_above(leaf, index, count, proof) == root


def root_above(leaf: bytes, index: int, count: int, proof: Sequence[bytes]) -> bytes | None:
    """The root that a leaf at this place among ``count`` and the hashes beside its way lead to; None of others."""
    if not 0 <= index < count < 1 << 64 or any(len(sibling) != 32 for sibling in proof):
        return None
    found, last, siblings = _of_leaf(leaf), count - 1, iter(proof)
    while last:
        if index ^ 1 <= last:
            sibling = next(siblings, None)
            if sibling is None:
                return None
            found = _of_node(sibling, found) if index & 1 else _of_node(found, sibling)
        index, last = index >> 1, last >> 1
    return _of_all(count, found) if next(siblings, None) is None else None


def part_files(parts: Iterable[bytes]) -> tuple[str, list[bytes]]:
    """The root of a round's parts, in hex, and each part as it is sent: with the hashes beside its way to the root."""
    bodies = list(parts)
    leaves = [leaf(number, hashlib.sha256(body).hexdigest()) for number, body in enumerate(bodies)]
    found, ways = root_and_ways(leaves)
    return found.hex(), [body + way for body, way in zip(bodies, ways, strict=True)]


def root_and_ways(leaves: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """The root of one leaf or more, and for each leaf the hashes beside its way to it, one after the other."""
    levels, ways = levels_of(leaves), [b""]
    for level in levels[-2::-1]:  # the way of a node is its sibling, then the way of the node above both
        beside = [level[place ^ 1] if place ^ 1 < len(level) else b"" for place in range(len(level))]
        ways = [sibling + ways[place >> 1] for place, sibling in enumerate(beside)]
    return _of_all(len(leaves), levels[-1][0]), ways


def proof_octets(index: int, count: int) -> int:
    """How many octets the hashes beside the way of this leaf have."""
    found, last = 0, count - 1
    while last:
        found += 32 * (index ^ 1 <= last)
        index, last = index >> 1, last >> 1
    return found


def part_in(data: bytes, number: int, count: int) -> tuple[bytes, str]:
    """The part in a file of this number, and the root that the hashes after it lead to, in hex."""
    size = len(data) - proof_octets(number, count)
    body, beside = data[: max(size, 0)], data[max(size, 0) :]
    own = leaf(number, hashlib.sha256(body).hexdigest())
    found = root_above(own, number, count, [beside[at : at + 32] for at in range(0, len(beside), 32)])
    return body, (found or b"").hex()


def levels_of(leaves: Sequence[bytes]) -> list[Level]:
    """The leaves' hashes, then each level above; a node without a sibling goes up as it is."""
    levels = [[_of_leaf(each) for each in leaves]]
    while len(levels[-1]) > 1:
        below = levels[-1]
        above = [_of_node(a, b) for a, b in zip(below[::2], below[1::2], strict=False)]
        levels.append(above + below[2 * len(above) :])
    return levels


def _of_leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\0" + data).digest()


def _of_all(count: int, top: bytes) -> bytes:
    return hashlib.sha256(b"\2" + count.to_bytes(8, "big") + top).digest()


def _of_node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


@dataclass(frozen=True)
class Proof:
    """Where a participant's upload stands among how many, and the hashes that lead from it to the root."""

    index: int
    count: int
    digest: str
    siblings: list[str]


@dataclass(frozen=True)
class Tree:
    """All hashes of a closed round, level by level, so that a proof costs a few look-ups."""

    participants: list[int]
    digests: list[bytes] = field(repr=False)
    levels: list[Level] = field(repr=False)

    @classmethod
    def of(cls, leaves: Sequence[Leaf]) -> "Tree":
        data = [leaf(participant, digest.hex()) for participant, digest in leaves]
        levels = levels_of(data) if data else []
        return cls([participant for participant, _ in leaves], [digest for _, digest in leaves], levels)

    def proof(self, participant: int) -> Proof | None:
        """None for somebody whose upload is not included."""
        index = bisect_left(self.participants, participant)
        if index == len(self.participants) or self.participants[index] != participant:
            return None
        siblings = [each.hex() for each in _siblings(self.levels, index)]
        return Proof(index, len(self.participants), self.digests[index].hex(), siblings)


def round_root(leaves: Sequence[Leaf]) -> str:
    """The root of a round's uploads, in hex."""
    return root([leaf(participant, digest.hex()) for participant, digest in leaves]).hex()
