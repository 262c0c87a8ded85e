"""What a format makes of any bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from visibility_aware_edge_ldp.errors import ProtocolViolation

Report = TypeVar("Report")


def written_again(data: bytes, decode: Callable[[bytes], Report], encode: Callable[[Report], bytes]) -> bytes | None:
    """These bytes read and written again, or None where they are refused; any other end is an error."""
    try:
        report = decode(data)
    except ProtocolViolation:
        return None
    return encode(report)
