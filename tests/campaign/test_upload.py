"""A digest cannot be compared with those of all reports that there might be.  [CHARTER.8]"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign.canonical import digest
from visibility_aware_edge_ldp.campaign.upload import SALT, report_in, salted
from visibility_aware_edge_ldp.public import degree_report


def every_degree(around: int = 500) -> Iterator[bytes]:
    """The reports of a participant's noisy degree, whatever it is."""
    for value in range(-around, around):
        report = degree_report.degree_report("ab" * 32, 3, np.ones(1, np.bool_), np.array([[value]]))
        yield degree_report.encode(report)


def found_by_trying(seen: str) -> list[bytes]:
    """Which reports have this digest, alone or with a salt that somebody might have forgotten to draw."""
    tried = (b"", bytes(SALT), b"\xff" * SALT)
    return [report for report in every_degree() for salt in tried if digest(salt + report) == seen]


def test_a_short_report_is_not_found_by_trying_and_was_without_a_salt() -> None:
    sent = next(iter(every_degree(20)))
    assert found_by_trying(digest(salted(sent))) == []
    assert found_by_trying(digest(sent)) == [sent]
    assert found_by_trying(digest(bytes(SALT) + sent)) == [sent]


def test_every_upload_has_a_salt_of_its_own() -> None:
    assert len({salted(b"the same report")[:SALT] for _ in range(1000)}) == 1000


@given(st.binary(max_size=100))
def test_the_report_is_there(report: bytes) -> None:
    upload = salted(report)
    assert (report_in(upload), len(upload)) == (report, SALT + len(report))
