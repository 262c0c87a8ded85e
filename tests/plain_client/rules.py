"""Rules: the class of each position, which classes occur, and the objects that digests are made of."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from plain_client.canonical import demand, fraction, members

PUBLIC, FRIEND_VISIBLE, PRIVATE = range(3)
CLASSES = ("PUBLIC", "FRIEND_VISIBLE", "PRIVATE")
HIDDEN = (FRIEND_VISIBLE, PRIVATE)
_MASK = (1 << 64) - 1
Names = Sequence[Any]
Of = Callable[[int, int], int]


@dataclass
class Rule:
    """A rule on a roster: a position's class, the classes that may occur, and the object that digests are made of."""

    of: Of
    present: set[int]
    described: dict[str, Any]


def class_of(word: Any) -> int:
    demand(word in CLASSES, "a class")
    return CLASSES.index(word)


def canonical(name: Any) -> str:
    if name == []:
        return "None"
    if isinstance(name, dict):
        return str(members(name, "float")["float"])
    demand(isinstance(name, (str, int)), "a name or a value")
    return f"text {name}" if isinstance(name, str) else f"number {name}"


def mix(x: int) -> int:
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & _MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


def node_keys(names: Names, salt: Any) -> list[int]:
    demand(isinstance(salt, str), "a salt is a text")
    key = hashlib.sha256(salt.encode()).digest()
    hashed = (hashlib.blake2b(str(name).encode(), digest_size=8, key=key).digest() for name in names)
    return [int.from_bytes(each, "little") for each in hashed]


def rule_on(rule: Any, names: Names) -> Rule:
    kind = rule.get("kind") if isinstance(rule, dict) else None
    demand(kind in _RULES, "an unknown kind of rule")
    fields, make = _RULES[kind]
    return make(members(rule, "kind", *fields), names)


def _same(rule: dict[str, Any], names: Names) -> Rule:
    kind = class_of(rule["class"])
    return Rule(lambda u, v: kind, {kind}, rule)


def _hash(rule: dict[str, Any], names: Names) -> Rule:
    public, friends = fraction(rule["public"]), fraction(rule["friend_visible"])
    demand(public + friends <= 1, "shares sum to more than 1")
    keys, first, second = node_keys(names, rule["salt"]), public * 2**64 // 1, (public + friends) * 2**64 // 1

    def of(u: int, v: int) -> int:
        drawn = mix(keys[u] + keys[v] & _MASK)
        return (drawn >= first) + (drawn >= second)

    shares = (public, friends, 1 - public - friends)
    return Rule(of, {kind for kind in range(3) if shares[kind]}, rule)


def _by_types(kinds: list[int], cells: Any, described: dict[str, Any]) -> Rule:
    demand(isinstance(cells, list) and all(isinstance(row, list) for row in cells), "a table")
    table = [[class_of(cell) for cell in row] for row in cells]
    demand(all(len(row) == len(table) for row in table), "a square table")
    demand(all(table[a][b] == table[b][a] for a in range(len(table)) for b in range(a)), "read alike by both ends")
    demand(all(0 <= kind < len(table) for kind in kinds), "types are rows of the table")
    counts = [kinds.count(kind) for kind in range(len(table))]
    pairs = ((a, b) for a in range(len(table)) for b in range(a + 1))
    present = {table[a][b] for a, b in pairs if (counts[a] > 1 if a == b else counts[a] and counts[b])}
    return Rule(lambda u, v: table[kinds[u]][kinds[v]], present, described)


def _drawn(rule: dict[str, Any], names: Names) -> Rule:
    share = fraction(rule["fraction"])
    demand(share <= 1 and len(rule["table"]) == 2, "a fraction, and a table of two")
    kinds = [int(mix(key) < share * 2**64 // 1) for key in node_keys(names, rule["salt"])]
    return _by_types(kinds, rule["table"], rule)


def rows_of(rows: Any, size: int) -> list[list[Any]]:
    demand(isinstance(rows, list) and all(isinstance(row, list) and len(row) == size for row in rows), "a list of rows")
    found: list[list[Any]] = rows
    return found


def refuse_disorder(keys: Iterable[Any]) -> None:
    demand(all(a < b for a, b in pairwise(keys)), "sorted, and nobody twice")


def refuse_strangers(named: Iterable[Any], names: Names) -> None:
    known = set(map(canonical, names))
    demand(all(canonical(name) in known for name in named), "names that are not in the roster")


def _types(rule: dict[str, Any], names: Names) -> Rule:
    rows, otherwise = rows_of(rule["types"], 2), rule["otherwise"]
    given = {canonical(name): kind for name, kind in rows}
    demand(isinstance(rule["words"], str) and all(type(each) is int for each in (*given.values(), otherwise)), "types")
    size = len(rule["table"]) if isinstance(rule["table"], list) else 0
    demand(all(0 <= each < size for each in (*given.values(), otherwise)), "types are rows of the table")
    refuse_disorder(canonical(name) for name, _ in rows)
    refuse_strangers((name for name, _ in rows), names)
    kinds = [given.get(canonical(name), otherwise) for name in names]
    described = {key: value for key, value in rule.items() if key != "words"} | {"types": given}
    return _by_types(kinds, rule["table"], described)


def _listed(rule: dict[str, Any], names: Names) -> Rule:
    rows, otherwise = rows_of(rule["positions"], 3), class_of(rule["otherwise"])
    pairs = [(canonical(a), canonical(b)) for a, b, _ in rows]
    demand(all(a < b for a, b in pairs), "two different names, the smaller first")
    refuse_disorder(pairs)
    refuse_strangers((name for a, b, _ in rows for name in (a, b)), names)
    own, n = [canonical(name) for name in names], len(names)
    listed = {frozenset(pair): class_of(row[2]) for pair, row in zip(pairs, rows, strict=True)}
    present = {*listed.values(), *({otherwise} if len(listed) < n * (n - 1) // 2 else ())}
    described = rule | {"positions": sorted([*pair, row[2]] for pair, row in zip(pairs, rows, strict=True))}
    return Rule(lambda u, v: listed.get(frozenset({own[u], own[v]}), otherwise), present, described)


def value_of(value: Any) -> Any:
    """A value that compares as the page says; None for none."""
    if isinstance(value, dict):
        text = members(value, "float")["float"]
        demand(isinstance(text, str), "a float's digits")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        demand(math.isfinite(number) and repr(number) == text, "a float's digits")
        return number
    demand(value == [] or isinstance(value, (str, int)), "a value")
    return None if value == [] else value


def _attributes(rule: dict[str, Any], names: Names) -> Rule:
    columns, lines, otherwise = rule["columns"], rows_of(rule["rules"], 4), class_of(rule["otherwise"])
    demand(lines and columns == sorted({line[1] for line in lines}), "columns of the lines")
    rows = rows_of(rule["rows"], 2)
    demand(all(isinstance(values, list) and len(values) == len(columns) for _, values in rows), "a value a column")
    refuse_disorder(canonical(name) for name, _ in rows)
    refuse_strangers((name for name, _ in rows), names)
    table = {canonical(name): dict(zip(columns, map(value_of, values), strict=True)) for name, values in rows}
    own = [table.get(canonical(name), {}) for name in names]
    for kind, column, value, _ in lines:
        held = [row.get(column) for row in own if row.get(column) is not None]
        demand(kind in ("same", "differ", "both", "any") and held, "a column that somebody has a value in")
        demand(kind in ("same", "differ") or not isinstance(value, str) or value in held, "a value that somebody has")
    read = [(kind, column, value_of(value), class_of(given)) for kind, column, value, given in lines]

    def of(u: int, v: int) -> int:
        return next((given for *line, given in read if _holds(*line, own[u], own[v])), otherwise)

    described = rule | {
        "rows": {canonical(name): list(map(canonical, values)) for name, values in rows},
        "rules": [[kind, column, canonical(value), given] for kind, column, value, given in lines],
    }
    return Rule(of, {otherwise, *(line[3] for line in read)}, described)


def _holds(kind: str, column: str, value: Any, u: dict[str, Any], v: dict[str, Any]) -> bool:
    a, b = u.get(column), v.get(column)
    if kind in ("same", "differ"):
        return a is not None and b is not None and (a == b) == (kind == "same")
    hits = [each is not None and value is not None and each == value for each in (a, b)]
    return all(hits) if kind == "both" else any(hits)


def _most_open(rule: dict[str, Any], names: Names) -> Rule:
    demand(isinstance(rule["rules"], list) and rule["rules"], "at least one rule")
    parts = [rule_on(part, names) for part in rule["rules"]]
    described = rule | {"rules": [part.described for part in parts]}
    return Rule(lambda u, v: min(part.of(u, v) for part in parts), set().union(*(p.present for p in parts)), described)


_RULES: dict[Any, tuple[tuple[str, ...], Callable[[dict[str, Any], Names], Rule]]] = {
    "same": (("class",), _same),
    "hash": (("public", "friend_visible", "salt"), _hash),
    "drawn profiles": (("fraction", "table", "salt"), _drawn),
    "types": (("types", "table", "words", "otherwise"), _types),
    "listed": (("positions", "otherwise"), _listed),
    "attributes": (("columns", "rows", "rules", "otherwise"), _attributes),
    "most open": (("rules",), _most_open),
}
