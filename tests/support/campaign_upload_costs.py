"""What a server pays to check one upload, in processor time: ``python -m benchmarks.campaign_uploads``."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import Documents, drafted
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import salted
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys import degrees as degree_report
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.surveys import rows as row_report
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.rows import RowReport
from visibility_aware_edge_ldp.public.visibility import Visibility

# The first row of so many people has 5,000 positions: 1,250 bytes and a head.
PEOPLE, CHECKS = 5001, 5000


def uploads(nodes: int = PEOPLE) -> Iterator[tuple[str, Terms, int, bytes]]:
    """For each kind of upload: its name, the question, the round, and what participant 0 sends."""
    documents = drafted(range(nodes), VisibilityPolicy("1/5", "3/10"), (), "benchmark")
    rows, degrees = (asked(documents, question) for question in ("triangles", "degrees"))
    one, number = np.ones(1, np.bool_), np.ones(1, np.int64)
    yield "a row of answers", rows, 1, row_upload(rows)
    sums = RowReport(rows.survey.identity, "0" * 64, 0, one, number, number)
    yield "a row's sum", rows, 2, salted(row_report.encode_rows(sums))
    values = np.ones((len(degrees.survey.classes), 1), np.int64)
    counts = degree_report.degree_report(degrees.survey.identity, 0, one, values)
    yield "a degree", degrees, 1, salted(degree_report.encode(counts))


def asked(documents: Documents, question: str) -> Terms:
    """The question as a server holds it."""
    statistics, rounds = (("triangles",), 2) if question == "triangles" else (("edges",), 1)
    closing = tuple(Round(number, 1) for number in range(1, rounds + 1))
    charter = charter_of(documents, "0" * 64, question, 1, statistics, closing, question, "benchmark")
    return Terms(charter, documents.view).prepared()


def row_upload(terms: Terms) -> bytes:
    """The first answers of participant 0, all of them 1."""
    count = terms.view.n - 1
    hidden = terms.view.classes.range(row_start(count + 1, 0), count) != Visibility.PUBLIC
    packed = np.packbits(hidden, bitorder="little").tobytes()
    return salted(codec.encode(PositionReport(terms.survey.first.identity, 1, 0, count, packed, packed)))


def microseconds(terms: Terms, number: int, data: bytes, checks: int = CHECKS) -> float:
    """Processor time of one check."""
    begun = time.process_time()
    for _ in range(checks):
        terms.check_upload(0, number, data)
    return (time.process_time() - begun) / checks * 1e6


def main() -> None:
    for name, terms, number, data in uploads():
        spent = min(microseconds(terms, number, data) for _ in range(3))
        print(f"{name}, {len(data):,} bytes: {spent:.0f} µs of processor time, {1e6 / spent:,.0f} a second and core")


if __name__ == "__main__":
    main()
