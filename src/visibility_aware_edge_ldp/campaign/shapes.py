"""The shapes that a policy's text is made of: each reader gives what it found or refuses it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

from visibility_aware_edge_ldp.campaign.canonical import Content, exact_fraction, shortened
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.visibility import Visibility

Object = dict[str, Content]


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


def list_of(content: Content) -> list[Content]:
    """A list."""
    if not isinstance(content, list):
        raise unreadable(f"{shortened(content)}, which must be a list")
    return content


def tuples_of(content: Content, size: int) -> list[list[Content]]:
    """A list of lists of one size."""
    rows = [list_of(row) for row in list_of(content)]
    if any(len(row) != size for row in rows):
        raise unreadable(f"a list whose entries must have {size} parts")
    return rows


def text_of(content: Content) -> str:
    """A text."""
    if not isinstance(content, str):
        raise unreadable(f"{shortened(content)}, which must be a text")
    return content


def whole_of(content: Content) -> int:
    """A whole number."""
    if not isinstance(content, int):
        raise unreadable(f"{shortened(content)}, which must be a whole number")
    return content


def fraction_of(content: Content) -> Fraction:
    """A fraction in lowest terms."""
    return exact_fraction(content, "A number of a policy")


def class_of(content: Content) -> Visibility:
    """A class of visibility, by its name."""
    if not isinstance(content, str) or content not in Visibility.__members__:
        raise unreadable(f"the class {shortened(content)}")
    return Visibility[content]
