"""The documents of a campaign: roster, policy and public edges as canonical JSON, each pinned.  [CHARTER.4, CHARTER.5]

A scope stands in the policy's document: its words, and the public tables that they go by. Who stands in which public
list is not written down once more: whoever has the roster, the policy and the public edges works it out. Public groups
stand there too: the group of each place in the roster.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign import policy_text
from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, digest, encode, shortened, why_misread
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, ProtocolViolation
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import canonical
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.view import PublicView

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter

Name = str | int
LONGEST_NAME = 200
Edges = npt.NDArray[np.int32]
SCOPE, GROUPS = "scope", "groups"
# The documents that hold names: a server shows them to whoever has a token, and to nobody else.
NAMED = frozenset({"roster", "policy"})
# The words of a scope, and a group's name, have at most so many characters.
MOST_WORDS = 200


@dataclass(frozen=True, eq=False)
class Documents:
    """What everybody knows of a campaign: who is asked, which positions are public, and the public edges.

    ``roster`` are the names in the order that numbers them; ``edges`` are pairs of such numbers, the smaller first,
    sorted: all that the policy makes public, also those outside a ``scope``. ``groups`` are in the roster's order.
    """

    roster: tuple[Name, ...] = field(repr=False)
    policy: VisibilityPolicy
    edges: Edges = field(repr=False)
    scope: ScopeWords | None = None
    groups: Groups | None = None

    @cached_property
    def view(self) -> PublicView:
        """The public view that both sides compute with; each works the scope out by itself.  [SCOPE.1]"""
        whole = PublicView(self.roster, self.policy, self.edges, self.groups)
        return whole if self.scope is None else whole.within(self.scope.scope(whole))

    @cached_property
    def data(self) -> dict[str, bytes]:
        """The bytes of each document, by its name."""
        roster, edges = encode(list[Content](self.roster)), encode(self.edges.tolist())
        policy = document_bytes(self.policy, self.scope, self.groups)
        return {"roster": roster, "policy": policy, "edges": edges}

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
        rule, scope, groups = document_from_bytes(policy)
        if groups is not None and groups.members.size != charter.nodes:
            raise ProtocolViolation("The groups are of more or fewer people than the roster has; do not answer.")
        documents = cls(names, rule, _read_edges(edges, charter.nodes), scope, groups)
        try:
            documents.view.classes  # noqa: B018 - refuses a policy about other people
        except BadPolicy as error:
            raise ProtocolViolation(f"The documents do not fit together: {error}") from error
        return documents


def drafted(
    names: Iterable[Hashable],
    policy: VisibilityPolicy,
    edges: npt.ArrayLike,
    epoch: str,
    scope: ScopeWords | None = None,
    groups: Groups | None = None,
) -> Documents:
    """The documents, with the roster in the order of its public hash and the public edges renumbered.  [CHARTER.5]

    ``groups`` are in the order of ``names``.
    """
    given = checked_names(names)
    roster = tuple(in_order(given, epoch))
    place = {name: i for i, name in enumerate(roster)}
    own = None if scope is None else scope.for_roster(roster)
    places = np.array([place[name] for name in given], np.int64)
    placed = None if groups is None else groups.of(np.argsort(places))
    return Documents(roster, policy, renumbered(edges, places), own, placed)


def in_order(names: Iterable[Name], epoch: str) -> list[Name]:
    """The names by SHA-256 of the epoch and the name as written: nobody chooses who holds a position.  [CHARTER.5]

    The number 7 and the text "7" are one person's name to every ledger, so they have one place in the order.
    """
    return sorted(names, key=lambda name: hashlib.sha256(encode([epoch, str(name)])).digest())


def checked_names(names: Iterable[Hashable]) -> list[Name]:
    """Names that a roster can have: short texts that are seen whole, or whole numbers, no two written alike."""
    found = [policy_text.write_name(name) for name in names]
    for name in found:
        if len(str(name)) > LONGEST_NAME:
            raise BadInput(
                f"A roster's names have up to {LONGEST_NAME} characters, as everybody downloads all of them; "
                f"{shortened(name)} has {len(str(name)):,}."
            )
        if isinstance(name, str) and (why := "it is empty" if not name else why_misread(name)):
            raise BadInput(f"A roster's names are texts that are seen whole; {shortened(name)}: {why}.")
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


def renumbered(edges: npt.ArrayLike, places: Sequence[int] | npt.NDArray[np.int64]) -> Edges:
    """Public edges between old places, as sorted pairs of new ones: ``places[old]`` is where a name has gone."""
    found = np.asarray(places, np.int64)[np.asarray(edges, np.int64).reshape(-1, 2)]
    found = np.unique(np.sort(found, axis=1), axis=0)
    return found.astype(np.int32)


# ── the policy's document ──


def document_bytes(policy: VisibilityPolicy, scope: ScopeWords | None = None, groups: Groups | None = None) -> bytes:
    """The bytes of a policy's document; without scope and groups they are the policy's."""
    data = policy_text.policy_bytes(policy)
    more: policy_text.Object = {} if scope is None else {SCOPE: _write_scope(scope)}
    if groups is not None:
        more[GROUPS] = {
            "attribute": groups.attribute,
            "labels": list[Content](groups.labels),
            "members": groups.members.tolist(),
        }
    return encode({**_object(data), **more}) if more else data


def document_from_bytes(data: bytes) -> tuple[VisibilityPolicy, ScopeWords | None, Groups | None]:
    """The policy without a scope, the scope, and the groups in these bytes."""
    content = _object(data)
    scope = _read_scope(content.pop(SCOPE)) if SCOPE in content else None
    groups = _read_groups(content.pop(GROUPS)) if GROUPS in content else None
    if scope is None and groups is None:
        return policy_text.policy_from_bytes(data), None, None
    policy = policy_text.policy_from_bytes(encode(content))
    if document_bytes(policy, scope, groups) != data:
        raise policy_text.unreadable("lists of its scope that are not in their order")
    return policy, scope, groups


def _read_groups(content: Content) -> Groups:
    found = policy_text.object_of(content, "attribute", "labels", "members")
    labels, members = found["labels"], found["members"]
    if not isinstance(labels, list) or not isinstance(members, list) or not all(type(each) is int for each in members):
        raise policy_text.unreadable("groups that are not names and a number for each place of the roster")
    names = [policy_text.text_of(each) for each in (found["attribute"], *labels)]
    if not all(0 < len(name) <= MOST_WORDS and name.isprintable() for name in names):
        raise policy_text.unreadable(f"names of groups that are not 1 to {MOST_WORDS} printable characters")
    try:
        return Groups(names[0], tuple(names[1:]), np.array(members, np.int64))
    except BadInput as error:
        raise policy_text.unreadable("groups that not everybody is in") from error


def _object(data: bytes) -> policy_text.Object:
    content = decode(data)
    return content if isinstance(content, dict) else {}


def _write_scope(scope: ScopeWords) -> Content:
    columns: policy_text.Object = {
        words: [
            [policy_text.write_name(name), policy_text.write_value(value)]
            for name, value in sorted(column.items(), key=_by_name)
        ]
        for words, column in scope.columns.items()
    }
    files: policy_text.Object = {}
    for words, pairs in scope.files.items():
        ordered = sorted(
            {tuple(sorted(pair, key=canonical)) for pair in pairs}, key=lambda pair: list(map(canonical, pair))
        )
        files[words] = [[*map(policy_text.write_name, pair)] for pair in ordered]
    return {"words": scope.words, "columns": columns, "files": files}


def _by_name(item: tuple[Hashable, Hashable]) -> str:
    return canonical(item[0])


def _read_scope(content: Content) -> ScopeWords:
    found = policy_text.object_of(content, "words", "columns", "files")
    columns, files = found["columns"], found["files"]
    if not isinstance(columns, dict) or not isinstance(files, dict):
        raise policy_text.unreadable("the tables of its scope")
    # They are shown where consent is asked for: no characters that could change what else stands there.
    if not all(
        len(words) <= MOST_WORDS and words.isprintable()
        for words in (policy_text.text_of(found["words"]), *columns, *files)
    ):
        raise policy_text.unreadable(f"words of its scope that are not 1 to {MOST_WORDS} printable characters")
    scope = ScopeWords(
        policy_text.text_of(found["words"]),
        {words: _column(rows) for words, rows in columns.items()},
        {words: _pairs(rows) for words, rows in files.items()},
    )
    try:
        needed = scope.needs()
    except BadPolicy as error:
        raise policy_text.unreadable("the words of its scope") from error
    if needed != (set(scope.columns), set(scope.files)):
        raise policy_text.unreadable("tables that the words of its scope do not go by")
    return scope


def _column(rows: Content) -> dict[Hashable, Hashable]:
    return policy_text.distinct(
        (policy_text.read_name(name), policy_text.read_value(value)) for name, value in policy_text.tuples_of(rows, 2)
    )


def _pairs(rows: Content) -> list[tuple[Hashable, Hashable]]:
    return [(policy_text.read_name(a), policy_text.read_name(b)) for a, b in policy_text.tuples_of(rows, 2)]
