"""Policies by name or from a file ``policy.toml``."""

import tomllib
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, did_you_mean
from visibility_aware_edge_ldp.public.groups import Groups, group_by
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import Names
from visibility_aware_edge_ldp.public.scope import (
    PublicPositions,
    Scope,
    group_scope,
    list_scope,
    named_scope,
    parse_scope,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.truth.attributes import NodeTable, attribute_rows, read_attributes

NAMED: dict[str, Callable[[], VisibilityPolicy]] = {
    "nothing": VisibilityPolicy.nothing,
    "document-001": lambda: VisibilityPolicy("0.15", "0.35", "0.5"),
    "document-003": lambda: VisibilityPolicy("0.331"),
}

# What a policy file of each kind may say.
KEYS = {
    "nothing": {"loss"},
    "fractions": {"public", "friend_visible", "private", "salt", "loss"},
    "profiles": {"profiles", "file", "node", "public_when", "rule", "loss"},
    "attributes": {"file", "node", "missing", "rules", "otherwise", "loss"},
    "positions": {"public", "friend_visible", "otherwise", "loss"},
    "hubs": {"fraction", "rule", "loss"},
}


def open_policy(text: str) -> VisibilityPolicy:
    """What the command line calls a policy.

    A name from ``NAMED``, ``fractions:PUBLIC,FRIEND_VISIBLE,PRIVATE``, ``profiles:FRACTION[,RULE]``,
    ``hubs:FRACTION`` (an oracle, for simulations), or the path of a ``.toml`` file.
    """
    kind, _, rest = text.partition(":")
    if text in NAMED:
        return NAMED[text]()
    makers: dict[str, tuple[int, Callable[..., VisibilityPolicy]]] = {
        "fractions": (3, VisibilityPolicy),
        "profiles": (2, VisibilityPolicy.public_profiles),
        "hubs": (1, VisibilityPolicy.public_hubs),
    }
    if kind in makers and rest:
        most, make = makers[kind]
        values = rest.split(",")
        if len(values) > most:
            raise BadPolicy(f"{kind}: takes at most {most} values; got {len(values)}.")
        return make(*values)
    if not _exists(text):
        raise BadPolicy(
            f"{text!r} is neither a file nor a policy's name; "
            f"use {', '.join(NAMED)}, fractions:0.15,0.35,0.5, profiles:0.5, hubs:0.1, or a policy.toml."
        )
    return read_policy(text)


def read_policy(path: str | Path) -> VisibilityPolicy:
    """The policy that a TOML file describes; files it names are looked for beside it."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadPolicy(
            f"The policy file {file.name} cannot be read: {error}. Write it as in docs/policies.md."
        ) from error
    makers = {
        "nothing": lambda: VisibilityPolicy.nothing(),
        "fractions": lambda: _fractions(content),
        "profiles": lambda: _profiles(content, file.parent),
        "attributes": lambda: _attributes(content, file.parent),
        "positions": lambda: _positions(content, file.parent),
        "hubs": lambda: VisibilityPolicy.public_hubs(_need(content, "fraction"), rule=content.get("rule", "any")),
    }
    kind = _need(content, "kind")
    if not isinstance(kind, str) or kind not in makers:
        raise BadPolicy(f"A policy's kind is one of {', '.join(makers)}; {file.name} says {kind!r}.")
    unknown = content.keys() - KEYS[kind] - {"kind"}
    if unknown:
        raise BadPolicy(
            f"{file.name} has {sorted(unknown)[0]!r}, which a {kind} policy does not know; check its spelling."
        )
    try:
        return _guarded(makers[kind](), content.get("loss"))
    except BadPolicy:
        raise
    except BadInput as error:
        raise BadPolicy(f"In {file.name}: {error}") from error
    except (TypeError, AttributeError, ValueError, KeyError) as error:
        raise BadPolicy(
            f"In {file.name} a value has the wrong type: {error}. Write it as in docs/policies.md."
        ) from error


def _guarded(policy: VisibilityPolicy, loss: Mapping[str, Any] | None) -> VisibilityPolicy:
    """The policy with the loss per class that the file states, in units of epsilon."""
    if loss is None:
        return policy
    unknown = dict(loss).keys() - {"friend_visible", "private"}
    if unknown:
        raise BadPolicy(
            f"A loss is stated for friend_visible and private; the file has one for {sorted(unknown)[0]!r}."
        )
    if not policy.multipliers.is_default:
        raise BadPolicy("The file states losses both in its rules and under 'loss'; keep one of the two.")
    return policy.guarded(**loss)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def _need(content: Mapping[str, Any], key: str) -> Any:
    if key not in content:
        raise BadPolicy(f"The policy file has no {key!r}; add it as in docs/policies.md.")
    return content[key]


def _fractions(content: Mapping[str, Any]) -> VisibilityPolicy:
    shares = (content.get("public", 0), content.get("friend_visible", 0), content.get("private"))
    return VisibilityPolicy(*shares, **({"salt": content["salt"]} if "salt" in content else {}))


def _profiles(content: Mapping[str, Any], folder: Path) -> VisibilityPolicy:
    if "profiles" in content:
        profiles: Mapping[Hashable, str | bool] = _with_numbers(content["profiles"])
    else:
        profiles = dict(_table(content, folder).where(_need(content, "public_when")))
    return VisibilityPolicy.from_profiles(profiles, content.get("rule", "both"))


def _attributes(content: Mapping[str, Any], folder: Path) -> VisibilityPolicy:
    rows = attribute_rows(_table(content, folder), content.get("missing", ""))
    return VisibilityPolicy.from_attributes(rows, _need(content, "rules"), content.get("otherwise", "private"))


def _positions(content: Mapping[str, Any], folder: Path) -> VisibilityPolicy:
    from visibility_aware_edge_ldp.truth.readers import read_graph

    def pairs(key: str) -> list[tuple[Hashable, Hashable]]:
        if key not in content:
            return []
        listed = read_graph(folder / content[key])
        return [(listed.names[u], listed.names[v]) for u, v in listed.edges.tolist()]

    return VisibilityPolicy.from_positions(
        pairs("public"), pairs("friend_visible"), content.get("otherwise", "private")
    )


def _table(content: Mapping[str, Any], folder: Path) -> NodeTable:
    return read_attributes(folder / _need(content, "file"), node=content.get("node", "id"))


def _with_numbers(profiles: Mapping[str, str]) -> dict[Hashable, str | bool]:
    """TOML keys are texts; whole numbers among them are node numbers."""
    return {int(name) if name.isdecimal() else name: word for name, word in profiles.items()}


def open_scope(text: str, view: PublicView, attributes: Any = None) -> Scope:
    """What the command line calls a scope: lists, public, group:ATTRIBUTE, file:PATH, joined by | and &.

    ``group:year,missing=0`` leaves nodes with the value 0 outside. ``attributes`` is a table of the nodes, or the path
    of a CSV file with a column "id".
    """

    def group(words: str) -> Scope:
        attribute, _, missing = words.partition(",missing=")
        return group_scope(
            view.names, attribute, attribute_values(f"The scope group:{attribute}", attribute, attributes, missing)
        )

    def file(path: str) -> Scope:
        from visibility_aware_edge_ldp.truth.readers import read_graph

        listed = read_graph(path)
        return named_scope(view.names, ((listed.names[u], listed.names[v]) for u, v in listed.edges.tolist()))

    makers: dict[str, Callable[[str], Scope]] = {
        "lists": lambda rest: list_scope(view),
        "public": lambda rest: PublicPositions(),
        "group": group,
        "file": file,
    }
    return parse_scope(text, makers)


def attribute_values(wanted_by: str, attribute: str, attributes: Any, missing: str = "") -> dict[Hashable, Hashable]:
    """The value of one column for each node that has one, from a table of the nodes or the path of a CSV file."""
    if attributes is None:
        raise BadPolicy(f"{wanted_by} needs a table of the nodes; name it with --attributes FILE.")
    table = read_attributes(attributes) if isinstance(attributes, (str, Path)) else attributes
    rows = attribute_rows(table)
    known = dict.fromkeys(column for row in rows.values() for column in row)
    if attribute not in known:
        raise BadPolicy(
            f"The table has no column {attribute!r}; it has {', '.join(known)}.{did_you_mean(attribute, known)}"
        )
    values = {name: row.get(attribute) for name, row in rows.items()}
    return {name: value for name, value in values.items() if str(value) not in ("None", "", missing)}


def open_groups(text: str, names: Names, attributes: Any = None) -> Groups:
    """What the command line calls groups: a column of the table, such as ``year``; ``year,least=100,missing=0``.

    Nodes without a value, with the value ``missing``, or in groups of fewer than ``least`` members are "the rest".
    """
    attribute, *options = text.split(",")
    given = dict(option.partition("=")[::2] for option in options)
    if unknown := given.keys() - {"least", "missing"}:
        raise BadInput(f"{sorted(unknown)[0]!r} in the groups {text!r} is not known; use COLUMN,least=N,missing=VALUE.")
    least = given.get("least", "1")
    if not least.isdecimal():
        raise BadInput(f"The least size of a group is a whole number, as in {attribute},least=100; got {least!r}.")
    values = attribute_values(f"Groups by {attribute}", attribute, attributes, given.get("missing", ""))
    return group_by(names, attribute, values, int(least))
