"""The documents: roster, policy and public edges as canonical JSON, each pinned by the charter.  [CHARTER.4]"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.canonical import Content, decode, digest, encode, shortened
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.policy_text import policy_bytes, policy_from_bytes, write_name
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, ProtocolViolation
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView

Name = str | int
LONGEST_NAME = 200
Edges = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Documents:
    """What everybody knows of a campaign: who is asked, which positions are public, and the public edges.

    ``roster`` are the names in the order that numbers them; ``edges`` are pairs of such numbers, the smaller first,
    sorted.
    """

    roster: tuple[Name, ...] = field(repr=False)
    policy: VisibilityPolicy
    edges: Edges = field(repr=False)

    @cached_property
    def view(self) -> PublicView:
        """The public view that both sides compute with."""
        return PublicView(self.roster, self.policy, self.edges)

    @cached_property
    def roster_bytes(self) -> bytes:
        return encode(list[Content](self.roster))

    @cached_property
    def policy_bytes(self) -> bytes:
        return policy_bytes(self.policy)

    @cached_property
    def edges_bytes(self) -> bytes:
        return encode(self.edges.tolist())

    @classmethod
    def from_bytes(cls, charter: Charter, roster: bytes, policy: bytes, edges: bytes) -> Documents:
        """The documents of a charter; refuses one byte that it does not pin, and a roster in another order."""
        for name, data in (("roster", roster), ("policy", policy), ("edges", edges)):
            if digest(data) != getattr(charter, name):
                raise ProtocolViolation(f"The {name} document is not the one that the charter names; fetch it again.")
        names = _read_roster(roster)
        if len(names) != charter.nodes:
            raise ProtocolViolation(
                f"The charter is for {charter.nodes:,} participants; its roster has {len(names):,}."
            )
        if list(names) != in_order(names, charter.epoch):
            raise ProtocolViolation(
                "The roster is not in the order of its public hash, so somebody chose who holds what; do not answer."
            )
        documents = cls(names, policy_from_bytes(policy), _read_edges(edges, charter.nodes))
        try:
            documents.view.classes  # noqa: B018 - refuses a policy about other people
        except BadPolicy as error:
            raise ProtocolViolation(f"The documents do not fit together: {error}") from error
        return documents


def in_order(names: Iterable[Name], epoch: str) -> list[Name]:
    """The names by SHA-256 of the epoch and the name as written: nobody chooses who holds a position.  [CHARTER.5]

    The number 7 and the text "7" are one person's name to every ledger, so they have one place in the order.
    """
    return sorted(names, key=lambda name: hashlib.sha256(encode([epoch, str(name)])).digest())


def checked_names(names: Iterable[Hashable]) -> list[Name]:
    """Names that a roster can have: short texts without control characters, or whole numbers, no two written alike."""
    found = [write_name(name) for name in names]
    for name in found:
        if len(str(name)) > LONGEST_NAME:
            raise BadInput(
                f"A roster's names have up to {LONGEST_NAME} characters, as everybody downloads all of them; "
                f"{shortened(name)} has {len(str(name)):,}."
            )
        if isinstance(name, str) and (not name or any(unicodedata.category(letter) == "Cc" for letter in name)):
            raise BadInput(
                f"A roster's names have letters and no control characters; {shortened(name)} cannot be used."
            )
    twice = next((name for name, times in Counter(map(str, found)).items() if times > 1), None)
    if twice is not None:
        raise BadInput(
            f"Two names of the roster are written alike, {shortened(twice)}; give everybody a name of its own."
        )
    return found


def _read_roster(data: bytes) -> tuple[Name, ...]:
    content = decode(data)
    if not isinstance(content, list) or not all(isinstance(name, (str, int)) for name in content):
        raise ProtocolViolation("A roster is a list of names, which are texts or whole numbers.")
    try:
        return tuple(checked_names(content))  # type: ignore[arg-type]
    except BadInput as error:
        raise ProtocolViolation(f"The roster cannot be used: {error}") from error


def _read_edges(data: bytes, nodes: int) -> Edges:
    content = decode(data)
    if not isinstance(content, list) or not all(_is_pair(pair) for pair in content):
        raise ProtocolViolation("Public edges are a list of pairs of places in the roster.")
    edges = np.array(content, np.int64).reshape(-1, 2)
    if len(edges) and (edges.min() < 0 or edges.max() >= nodes or (edges[:, 0] >= edges[:, 1]).any()):
        raise ProtocolViolation("A public edge joins two different places of the roster, the smaller one first.")
    codes = edges[:, 0] * nodes + edges[:, 1]
    if (np.diff(codes) <= 0).any():
        raise ProtocolViolation("Public edges are sorted, and each stands once.")
    return edges.astype(np.int32)


def _is_pair(pair: Content) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(end) is int for end in pair)


def renumbered(edges: npt.ArrayLike, places: Sequence[int]) -> Edges:
    """Public edges between old places, as sorted pairs of new ones: ``places[old]`` is where a name has gone."""
    found = np.asarray(places, np.int64)[np.asarray(edges, np.int64).reshape(-1, 2)]
    found = np.unique(np.sort(found, axis=1), axis=0)
    return found.astype(np.int32)
