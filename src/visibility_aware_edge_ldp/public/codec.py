"""Reports as bytes and back: a fixed header, then the packed bits."""

from __future__ import annotations

from visibility_aware_edge_ldp.public.report import PositionReport, SampledReport
from visibility_aware_edge_ldp.public.wire import Wire, octets

# round, start, count, survey identity; of a sample, how many are drawn before the identity
_WIRE = Wire("report of positions", b"VAEL", "BQQ32s")
_SAMPLED = Wire("report of a sample of positions", b"VAES", "BQQQ32s")


def encode(report: PositionReport) -> bytes:
    """The bytes that leave a client."""
    head = _WIRE.head(report.round, report.start, report.count, bytes.fromhex(report.survey))
    return head + report.answered + report.ones


def decode(data: bytes) -> PositionReport:
    """The report in these bytes; refuses anything that :func:`encode` would not have written."""
    (number, start, count, survey), body = _WIRE.read(data)
    answered, ones = _WIRE.cut(body, octets(count), octets(count))
    return PositionReport(survey.hex(), number, start, count, answered, ones)


def encode_sampled(report: SampledReport) -> bytes:
    """The bytes that leave a client of a sampled survey."""
    head = _SAMPLED.head(report.round, report.start, report.count, report.drawn, bytes.fromhex(report.survey))
    return head + report.answered + report.ones


def decode_sampled(data: bytes) -> SampledReport:
    """The report in these bytes; refuses anything that :func:`encode_sampled` would not have written."""
    (number, start, count, drawn, survey), body = _SAMPLED.read(data)
    answered, ones = _SAMPLED.cut(body, octets(drawn), octets(drawn))
    return SampledReport(survey.hex(), number, start, count, drawn, answered, ones)
