"""Policies by name or from a file ``policy.toml``."""

import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, did_you_mean
from visibility_aware_edge_ldp.public.groups import Groups, group_by
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.private_hub_selection import noisy_hubs
from visibility_aware_edge_ldp.public.rules import Names
from visibility_aware_edge_ldp.public.scope import Scope
from visibility_aware_edge_ldp.public.scope_words import MISSING, ScopeWords
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.truth.attributes import NodeTable, attribute_rows, read_attributes

NAMED: dict[str, Callable[[], VisibilityPolicy]] = {
    "nothing": VisibilityPolicy.nothing,
    "document-001": lambda: VisibilityPolicy("0.15", "0.35", "0.5"),
    "document-003": lambda: VisibilityPolicy("0.331"),
}

PAID = ",epsilon="
# What a policy file of each kind may say.
KEYS = {
    "nothing": {"loss"},
    "fractions": {"public", "friend_visible", "private", "salt", "loss"},
    "profiles": {"profiles", "file", "node", "public_when", "rule", "loss"},
    "attributes": {"file", "node", "missing", "rules", "otherwise", "loss"},
    "positions": {"public", "friend_visible", "otherwise", "loss"},
    "hubs": {"fraction", "count", "epsilon", "rule", "loss"},
}


def open_policy(text: str) -> VisibilityPolicy:
    """What the command line calls a policy.

    A name from ``NAMED``, ``fractions:PUBLIC,FRIEND_VISIBLE,PRIVATE``, ``profiles:FRACTION[,RULE]``,
    ``hubs:COUNT,epsilon=EPSILON[,RULE]`` (chosen by noisy degrees, which are paid for), ``hubs:FRACTION`` (an oracle,
    for simulations), or the path of a ``.toml`` file.
    """
    kind, _, rest = text.partition(":")
    if text in NAMED:
        return NAMED[text]()
    makers: dict[str, tuple[int, Callable[..., VisibilityPolicy]]] = {
        "fractions": (3, VisibilityPolicy),
        "profiles": (2, VisibilityPolicy.public_profiles),
        "hubs": (1, VisibilityPolicy.public_hubs),
    }
    if kind == "hubs" and PAID in rest:
        count, _, bought = rest.partition(PAID)
        return noisy_hubs(count, *bought.split(",", 1))
    if kind in makers and rest:
        most, make = makers[kind]
        values = rest.split(",")
        if len(values) > most:
            raise BadPolicy(f"{kind}: takes at most {most} values; got {len(values)}.")
        return make(*values)
    if not _exists(text):
        raise BadPolicy(
            f"{text!r} is neither a file nor a policy's name; "
            f"use {', '.join(NAMED)}, fractions:0.15,0.35,0.5, profiles:0.5, hubs:10,epsilon=0.1, hubs:0.1, or a "
            "policy.toml."
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
        "hubs": lambda: _hubs(content),
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


def _hubs(content: Mapping[str, Any]) -> VisibilityPolicy:
    rule = content.get("rule", "any")
    if "count" in content:
        return noisy_hubs(content["count"], _need(content, "epsilon"), rule)
    return VisibilityPolicy.public_hubs(_need(content, "fraction"), rule=rule)


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


def declared_attributes(policy_file: str | Path, columns: Sequence[str]) -> dict[Hashable, dict[str, Hashable]]:
    """These columns of the table that the policy file names, for each of its nodes."""
    file = Path(policy_file)
    content = tomllib.loads(file.read_text(encoding="utf-8")) if file.suffix == ".toml" else {}
    if "file" not in content:
        raise BadInput(
            f"The policy {file} names no table of attributes, so none can be declared. "
            "Use a policy.toml that has a 'file', or leave --attributes out."
        )
    table = read_attributes(file.parent / content["file"], node=content.get("node", "id"))
    for column in columns:
        if column not in table.columns:
            known = ", ".join(table.columns)
            raise BadInput(
                f"There is no column {column!r} to declare; there are {known}.{did_you_mean(column, table.columns)}"
            )
    rows = attribute_rows(table, content.get("missing", ""))
    return {name: {column: row[column] for column in columns} for name, row in rows.items()}


def open_scope(text: str, view: PublicView, attributes: Any = None) -> Scope:
    """What the command line calls a scope: lists, public, group:ATTRIBUTE, file:PATH, joined by | and &.

    ``group:year,missing=0`` leaves nodes with the value 0 outside. ``attributes`` is a table of the nodes, or the path
    of a CSV file with a column "id".
    """
    return read_scope(text, attributes).scope(view)


def read_scope(text: str, attributes: Any = None) -> ScopeWords:
    """The words of a scope, as in :func:`open_scope`, with the columns and the files that they name."""
    from visibility_aware_edge_ldp.truth.readers import read_graph

    groups, paths = ScopeWords(text).needs()
    names = {path: Path(path).name for path in paths}
    if len(set(names.values())) < len(names):
        raise BadPolicy(f"Two files of the scope {text!r} have the same name; rename one of them.")
    files = {}
    for path, name in names.items():
        listed = read_graph(path)
        files[name] = [(listed.names[u], listed.names[v]) for u, v in listed.edges.tolist()]
        text = text.replace(f"file:{path}", f"file:{name}")
    return ScopeWords(text, {words: _column(words, attributes) for words in groups}, files)


def _column(words: str, attributes: Any) -> dict[Hashable, Hashable]:
    """The values of the attribute that a group of a scope names, of all who have one."""
    attribute, _, missing = words.partition(MISSING)
    return attribute_values(f"The scope group:{attribute}", attribute, attributes, missing)


def attribute_values(wanted_by: str, attribute: str, attributes: Any, missing: str = "") -> dict[Hashable, Hashable]:
    """The value of one column for each node that has one, from a table of the nodes or the path of a CSV file."""
    if attributes is None:
        raise BadPolicy(f"{wanted_by} needs a table of the nodes; name it with --attributes FILE.")
    rows = attribute_rows(read_attributes(attributes) if isinstance(attributes, (str, Path)) else attributes)
    known = dict.fromkeys(column for row in rows.values() for column in row)
    if attribute not in known:
        raise BadPolicy(
            f"The table has no column {attribute!r}; it has {', '.join(known)}.{did_you_mean(attribute, known)}"
        )
    values = {name: row.get(attribute) for name, row in rows.items()}
    return {name: value for name, value in values.items() if str(value) not in ("None", "", missing)}


def scope_attributes(text: str, attributes: Any = None) -> dict[Hashable, dict[str, Hashable]]:
    """For each node the values that a scope's words go by: what its leak check may take as public."""
    found: dict[Hashable, dict[str, Hashable]] = {}
    for words, column in read_scope(text, attributes).columns.items():
        for name, value in column.items():
            found.setdefault(name, {})[words] = value
    return found


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
