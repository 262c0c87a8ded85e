"""HTML that is safe by the way it is made: every text is escaped, unless it was made here."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | None


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


BREAK = Markup("<wbr>")
"""Where a long word may be broken."""


def tag(name: str, *children: object, **attributes: Value) -> Markup:
    """An element; ``class_`` and ``aria_label`` are written without and with a hyphen, and None is left out."""
    said = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Markup(f"<{name}{said}>{together(*children)}</{name}>")


def together(*parts: object) -> Markup:
    """Texts and elements, one after the other; None is nothing, and lists are opened."""
    return Markup("".join(_escaped(part) for part in _flat(parts)))


def _flat(parts: Iterable[object]) -> Iterable[object]:
    for part in parts:
        if isinstance(part, (list, tuple)):
            yield from _flat(part)
        elif part is not None:
            yield part


def _escaped(part: object) -> str:
    return part if isinstance(part, Markup) else html.escape(str(part))


def _attribute(key: str, value: Value) -> str:
    return f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
