"""A policy as canonical JSON and back: with its tables, so that everybody can bind it to the roster.  [CHARTER.4]

Oracles have no text: a real campaign must not use private data that nobody paid for. What was paid for the policy is
carried along, so that bills have it.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from numbers import Integral
from typing import Any, TypeVar

from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, encode, exact_fraction, shortened
from visibility_aware_edge_ldp.errors import BadPolicy, BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, Release
from visibility_aware_edge_ldp.public.node_rules import AttributeRule, Attributes, DrawnProfiles, NodeTypes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import KeyedHash, ListedPositions, MostOpen, Rule, SameClass, canonical
from visibility_aware_edge_ldp.public.visibility import Multipliers, Visibility

FORMAT = "va-edge-ldp policy 1"
Object = dict[str, Content]
Kind = TypeVar("Kind")
# How a value is written and read.
Codec = tuple[Callable[[Any], Content], Callable[[Content], Any]]


def distinct(items: Iterable[tuple[Hashable, Any]]) -> dict[Any, Any]:
    """A dictionary of these items; refuses a key that stands twice."""
    listed = list(items)
    found = dict(listed)
    if len(found) != len(listed):
        raise unreadable("something that it names twice")
    return found


def unreadable(what: str) -> ProtocolViolation:
    """The error for a text that holds something else than it must."""
    return ProtocolViolation(f"A policy's text is not understood, for {what}; it cannot be answered.")


def object_of(content: Content, *fields: str) -> Object:
    """An object with these fields and no other."""
    if not isinstance(content, dict) or content.keys() != set(fields):
        raise unreadable(f"an object that must hold {', '.join(fields)} and nothing else")
    return content


def _of(kind: type[Kind], words: str) -> Callable[[Content], Kind]:
    """A function that returns its argument if it is of this kind, and refuses it otherwise."""

    def read(content: Content) -> Kind:
        if not isinstance(content, kind):
            raise unreadable(f"{shortened(content)}, which must be {words}")
        return content

    return read


text_of, whole_of = _of(str, "a text"), _of(int, "a whole number")
list_of: Callable[[Content], list[Content]] = _of(list, "a list")
fraction_of = partial(exact_fraction, what="A number of a policy")


def tuples_of(content: Content, size: int) -> list[list[Content]]:
    """A list of lists of one size."""
    rows = [list_of(row) for row in list_of(content)]
    if any(len(row) != size for row in rows):
        raise unreadable(f"a list whose entries must have {size} parts")
    return rows


def class_of(content: Content) -> Visibility:
    """A class of visibility, by its name."""
    if not isinstance(content, str) or content not in Visibility.__members__:
        raise unreadable(f"the class {shortened(content)}")
    return Visibility[content]


def policy_bytes(policy: VisibilityPolicy) -> bytes:
    """The bytes of a policy; refuses oracles, and names or values that canonical JSON cannot tell apart."""
    if policy.is_oracle:
        raise BadPolicy(
            f"A real campaign cannot use this policy, because it assumes that {shortened(policy.assumptions[0])}; "
            "choose by public metadata, or pay for a private choice of hubs."
        )
    data = encode(_written(policy))
    if policy_from_bytes(data).digest != policy.digest:
        raise BadPolicy("The policy compares with values that are neither texts nor numbers; write them as texts.")
    return data


def policy_from_bytes(data: bytes) -> VisibilityPolicy:
    """The policy in these bytes."""
    content = object_of(decode(data), "format", "digest", "rule", "multipliers", "assumptions", "paid")
    if content["format"] != FORMAT:
        raise unreadable("its format")
    assumptions = tuple(text_of(each) for each in list_of(content["assumptions"]))
    try:
        guard = object_of(content["multipliers"], "FRIEND_VISIBLE", "PRIVATE")
        multipliers = Multipliers(*(fraction_of(guard[name]) for name in ("FRIEND_VISIBLE", "PRIVATE")))
        paid = tuple(_read_release(each) for each in list_of(content["paid"]))
        policy = VisibilityPolicy.of(read_rule(content["rule"]), assumptions, multipliers, paid)
    except (BadPolicy, BadPrivacyParameter) as error:
        raise ProtocolViolation(f"The policy's text cannot be used: {error}") from error
    if policy.is_oracle:
        raise ProtocolViolation("The policy rests on private data that nobody paid for; a real campaign cannot use it.")
    if policy.digest != content["digest"]:
        raise ProtocolViolation("The policy's text and the digest that it states are not of the same policy.")
    if encode(_written(policy)) != data:
        raise unreadable("lists that are not in their order")
    return policy


def _written(policy: VisibilityPolicy) -> Object:
    return {
        "format": FORMAT,
        "digest": policy.digest,
        "rule": write_rule(policy.rule),
        "multipliers": {**policy.multipliers.describe()},
        "assumptions": list(policy.assumptions),
        "paid": [_write_release(release) for release in policy.paid],
    }


def write_rule(rule: Rule) -> Content:
    """A rule as an object with its kind."""
    for kind, (own, fields) in _KINDS.items():
        if type(rule) is own:
            written = {_in_text(each): write(getattr(rule, each)) for each, (write, _) in fields.items()}
            return {"kind": kind, **(_write_attributes(rule) if isinstance(rule, Attributes) else written)}
    raise BadPolicy(f"A real campaign cannot use the rule {str(rule)!r}: it looks at private data.")


def read_rule(content: Content) -> Rule:
    """The rule that such an object describes."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise unreadable(f"the kind of rule {shortened(kind)}")
    own, fields = _KINDS[kind]
    if own is Attributes:
        return _read_attributes(content)
    given = object_of(content, "kind", *map(_in_text, fields))
    rule: Rule = own(**{each: read(given[_in_text(each)]) for each, (_, read) in fields.items()})
    if isinstance(rule, KeyedHash) and rule.public + rule.friend_visible > 1:
        raise unreadable("shares that sum to more than 1")
    if isinstance(rule, DrawnProfiles) and (len(rule.table) != 2 or rule.fraction > 1):
        raise unreadable("its table of profiles")
    return rule


def _in_text(attribute: str) -> str:
    """What the text calls a rule's attribute."""
    return {"visibility": "class", "listed": "positions"}.get(attribute, attribute)


def write_name(name: Hashable) -> str | int:
    """A node's name, which is a text or a whole number."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, Integral) and not isinstance(name, bool):
        return int(name)
    raise BadPolicy(f"A campaign's names are texts or whole numbers; {shortened(name)} is neither.")


def read_name(content: Content) -> str | int:
    """The inverse of :func:`write_name`."""
    if isinstance(content, (str, int)):
        return content
    raise unreadable(f"the name {shortened(content)}")


def write_value(value: Hashable) -> Content:
    """A value of an attribute: a text, a number, or nothing."""
    if value is None:
        return []
    if type(value) is float and math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, (str, Integral)):
        return int(value) if isinstance(value, Integral) else str(value)
    raise BadPolicy(f"An attribute's value is a text or a number; {shortened(value)} is neither.")


def read_value(content: Content) -> Hashable:
    """The inverse of :func:`write_value`."""
    if content == []:
        return None
    if isinstance(content, dict):
        text = text_of(object_of(content, "float")["float"])
        with suppress(ValueError):
            if repr(value := float(text)) == text and math.isfinite(value):
                return value
        raise unreadable(f"the number {shortened(text)}")
    return read_name(content)


def _read_types(content: Content) -> dict[str | int, int]:
    return distinct((read_name(name), whole_of(kind)) for name, kind in tuples_of(content, 2))


def _write_positions(listed: Mapping[frozenset[Hashable], Visibility]) -> list[Content]:
    ordered = [(sorted(pair, key=canonical), kind) for pair, kind in listed.items()]
    ordered.sort(key=lambda item: [canonical(name) for name in item[0]])
    return [[*map(write_name, pair), str(kind)] for pair, kind in ordered]


def _read_positions(content: Content) -> dict[frozenset[str | int], Visibility]:
    rows = tuples_of(content, 3)
    return distinct((frozenset({read_name(a), read_name(b)}), class_of(kind)) for a, b, kind in rows)


def _write_attributes(rule: Attributes) -> Object:
    columns = sorted({line.column for line in rule.rules})
    rows: list[Content] = [
        [write_name(name), [write_value(row.get(column)) for column in columns]] for name, row in _by_name(rule.table)
    ]
    lines: list[Content] = [
        [line.kind, line.column, write_value(line.value), str(line.visibility)] for line in rule.rules
    ]
    return {"columns": list[Content](columns), "rows": rows, "rules": lines, "otherwise": str(rule.otherwise)}


def _read_attributes(content: Content) -> Attributes:
    found = object_of(content, "kind", "columns", "rows", "rules", "otherwise")
    columns = [text_of(each) for each in list_of(found["columns"])]
    rows = distinct((read_name(name), _read_row(columns, values)) for name, values in tuples_of(found["rows"], 2))
    lines = tuple(
        AttributeRule(text_of(kind), text_of(column), class_of(given), read_value(value))
        for kind, column, value, given in tuples_of(found["rules"], 4)
    )
    if not lines or columns != sorted({line.column for line in lines}):
        raise unreadable("its columns")
    return Attributes(rows, lines, class_of(found["otherwise"]))


def _read_row(columns: list[str], values: Content) -> dict[str, Hashable]:
    found = list_of(values)
    if len(found) != len(columns):
        raise unreadable("a row of attributes")
    return {column: read_value(value) for column, value in zip(columns, found, strict=True)}


def _read_table(content: Content) -> tuple[tuple[Visibility, ...], ...]:
    table = tuple(tuple(class_of(cell) for cell in list_of(row)) for row in list_of(content))
    if any(len(row) != len(table) for row in table) or tuple(zip(*table, strict=True)) != table:
        raise unreadable("a table of classes that both ends would not read alike")
    return table


def _read_rules(content: Content) -> tuple[Rule, ...]:
    parts = tuple(read_rule(part) for part in list_of(content))
    if not parts:
        raise unreadable("a choice among no rules")
    return parts


_TEXT, _WHOLE, _FRACTION, _CLASS = (str, text_of), (int, whole_of), (str, fraction_of), (str, class_of)
_TABLE: Codec = (lambda table: [[str(cell) for cell in row] for row in table], _read_table)
_TYPES: Codec = (lambda types: [[write_name(name), int(kind)] for name, kind in _by_name(types)], _read_types)
_RULES: Codec = (lambda rules: [write_rule(part) for part in rules], _read_rules)
_KINDS: dict[str, tuple[type, Mapping[str, Codec]]] = {
    "same": (SameClass, {"visibility": _CLASS}),
    "hash": (KeyedHash, {"public": _FRACTION, "friend_visible": _FRACTION, "salt": _TEXT}),
    "drawn profiles": (DrawnProfiles, {"fraction": _FRACTION, "table": _TABLE, "salt": _TEXT}),
    "types": (NodeTypes, {"types": _TYPES, "table": _TABLE, "words": _TEXT, "otherwise": _WHOLE}),
    "listed": (ListedPositions, {"listed": (_write_positions, _read_positions), "otherwise": _CLASS}),
    "attributes": (Attributes, {}),  # whose columns follow from its lines, so that it has two functions of its own
    "most open": (MostOpen, {"rules": _RULES}),
}


def _write_release(release: Release) -> Content:
    prices: list[Content] = [[str(kind), str(price.epsilon), str(price.delta)] for kind, price in release.prices]
    named: Object = {"survey": release.survey, "round": release.round, "transcript": release.transcript}
    return {**named, "prices": prices}


def _read_release(content: Content) -> Release:
    found = object_of(content, "survey", "round", "transcript", "prices")
    prices = tuple(
        (class_of(kind), Guarantee(OneEdge, fraction_of(epsilon), fraction_of(delta)))
        for kind, epsilon, delta in tuples_of(found["prices"], 3)
    )
    return Release(text_of(found["survey"]), whole_of(found["round"]), prices, text_of(found["transcript"]))


def _by_name(table: Mapping[Hashable, Any]) -> list[tuple[Hashable, Any]]:
    return sorted(table.items(), key=lambda item: canonical(item[0]))
