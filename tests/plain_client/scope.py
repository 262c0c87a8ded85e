"""A scope: where positions are asked about."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

from plain_client.canonical import demand, members, sha256
from plain_client.rules import PUBLIC, Names, Rule, canonical, refuse_disorder, refuse_strangers, rows_of, value_of

_MASK = (1 << 64) - 1


def members_digest(numbers: Iterable[int], code: str = "q") -> str:
    """SHA-256 of little-endian numbers of 64 bits."""
    listed = list(numbers)
    return sha256(struct.pack(f"<{len(listed)}{code}", *listed))


Inside = tuple[Callable[[int, int], bool], dict[str, Any]]


def scope_on(scope: Any, names: Names, rule: Rule, edges: list[tuple[int, int]]) -> Inside:
    found = members(scope, "words", "columns", "files")
    words, columns, files = found["words"], found["columns"], found["files"]
    demand(isinstance(words, str) and isinstance(columns, dict) and isinstance(files, dict), "a scope")
    demand(all(len(each) <= 200 and each.isprintable() for each in (words, *columns, *files)), "printable words")
    used: set[tuple[str, str]] = set()

    def part(word: str) -> Inside:
        kind, colon, rest = word.strip().partition(":")
        if kind in ("lists", "public") and not colon:
            public: Inside = (lambda u, v: rule.of(u, v) == PUBLIC), {"kind": "public"}
            return public if kind == "public" else _either([_lists(len(names), rule, edges), public])
        demand(rest and kind in ("group", "file") and rest in (columns if kind == "group" else files), "a scope's word")
        used.add((kind, rest))
        return _same_value(rest, columns[rest], names) if kind == "group" else _named(files[rest], names)

    parts = [_joined([part(word) for word in each.split("&")], all, "both") for each in words.split("|")]
    demand(used == {("group", each) for each in columns} | {("file", each) for each in files}, "tables of the words")
    return _joined(parts, any, "either")


def _joined(parts: list[Inside], join: Callable[[Iterable[bool]], bool], kind: str) -> Inside:
    if len(parts) == 1:
        return parts[0]
    return (lambda u, v: join(inside(u, v) for inside, _ in parts)), {"kind": kind, "parts": [p for _, p in parts]}


def _either(parts: list[Inside]) -> Inside:
    return _joined(parts, any, "either")


def _same_value(words: str, rows: Any, names: Names) -> Inside:
    values = {canonical(name): value_of(value) for name, value in rows_of(rows, 2)}
    refuse_disorder(canonical(name) for name, _ in rows)
    refuse_strangers((name for name, _ in rows), names)
    numbers: dict[Any, int] = {}
    own = [values.get(canonical(name)) for name in names]
    places = [-1 if each is None else numbers.setdefault(each, len(numbers)) for each in own]
    demand(numbers, "somebody has a value")
    described = {
        "kind": "same value",
        "attribute": words.partition(",missing=")[0],
        "values": members_digest(places),
    }
    return (lambda u, v: places[u] == places[v] >= 0), described


def _named(rows: Any, names: Names) -> Inside:
    pairs = [(canonical(a), canonical(b)) for a, b in rows_of(rows, 2)]
    refuse_disorder(pairs)
    refuse_strangers((name for row in rows for name in row), names)
    place, n = {canonical(name): number for number, name in enumerate(names)}, len(names)
    ends = (sorted((place[a], place[b])) for a, b in pairs if a != b)
    codes = sorted({u * n + v for u, v in ends})
    known = set(codes)
    described = {"kind": "named", "positions": members_digest(codes)}
    return (lambda u, v: min(u, v) * n + max(u, v) in known), described


def _lists(nodes: int, rule: Rule, edges: list[tuple[int, int]]) -> Inside:
    open_to_all = [all(rule.of(u, v) == PUBLIC for v in range(nodes) if v != u) for u in range(nodes)]
    held: dict[int, set[int]] = {}
    for u, v in [*edges, *((v, u) for u, v in edges)]:
        if open_to_all[u]:
            held.setdefault(u, {u}).add(v)
    demand(held, "the scope 'lists' needs public friend lists")
    lists = [held[owner] for owner in sorted(held)]
    words = -(-len(lists) // 64)
    marks = [sum(1 << k for k, each in enumerate(lists) if person in each) for person in range(nodes)]
    flat = [mark >> 64 * word & _MASK for mark in marks for word in range(words)]
    described = {"kind": "lists", "lists": len(lists), "members": members_digest(flat, "Q")}
    return (lambda u, v: marks[u] & marks[v] != 0), described
