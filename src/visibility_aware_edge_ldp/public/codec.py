"""Reports as bytes and back: a fixed header, then the packed bits."""

from __future__ import annotations

import struct

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import PositionReport

# magic, format version, round, start, count, survey identity
_HEADER = struct.Struct(">4sBBQQ32s")
_MAGIC, _VERSION = b"VAEL", 1


def encode(report: PositionReport) -> bytes:
    """The bytes that leave a client."""
    survey = bytes.fromhex(report.survey)
    head = _HEADER.pack(_MAGIC, _VERSION, report.round, report.start, report.count, survey)
    return head + report.answered + report.ones


def decode(data: bytes) -> PositionReport:
    """The report in these bytes; refuses anything that :func:`encode` would not have written."""
    if len(data) < _HEADER.size:
        raise ProtocolViolation(f"A report has at least {_HEADER.size} bytes; this has {len(data)}.")
    magic, version, number, start, count, survey = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ProtocolViolation("These bytes are not a report of a version that is understood here.")
    size = (count + 7) // 8
    body = data[_HEADER.size :]
    if len(body) != 2 * size:
        raise ProtocolViolation(f"A report of {count} positions carries {2 * size} bytes; this carries {len(body)}.")
    return PositionReport(survey.hex(), number, start, count, body[:size], body[size:])
