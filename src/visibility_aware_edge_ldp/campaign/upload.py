"""An upload: 32 random octets, then a report.  [CHARTER.8]

They go wherever the report goes, and nowhere else: to the server's table of bodies and into the own ledger. So digests,
which are kept and shown when reports are gone, cannot be compared with those of all reports that there might be.
"""

from __future__ import annotations

import os

SALT = 32


def salted(report: bytes) -> bytes:
    """A report as it is sent, with octets before it that nobody can guess."""
    return os.urandom(SALT) + report


def report_in(upload: bytes) -> bytes:
    """The report without them."""
    return upload[SALT:]
