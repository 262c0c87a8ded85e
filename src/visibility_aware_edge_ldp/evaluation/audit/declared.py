"""The attributes that somebody declares to be public, from the table that a policy file names."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from visibility_aware_edge_ldp.errors import BadInput, meant
from visibility_aware_edge_ldp.evaluation.audit.leak import PublicAttributes
from visibility_aware_edge_ldp.truth.attributes import attribute_rows, read_attributes


def declared_attributes(policy_file: str | Path, columns: Sequence[str]) -> PublicAttributes:
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
                f"There is no column {column!r} to declare; there are {known}.{meant(column, table.columns)}"
            )
    rows = attribute_rows(table, content.get("missing", ""))
    return {name: {column: row[column] for column in columns} for name, row in rows.items()}
