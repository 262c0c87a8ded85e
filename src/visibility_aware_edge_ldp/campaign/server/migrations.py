"""The tables, and how a store that an older version wrote becomes one that this version reads."""

from __future__ import annotations

from visibility_aware_edge_ldp.errors import BadInput

META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
_UPLOADS = (
    "CREATE TABLE uploads (round INTEGER NOT NULL, participant INTEGER NOT NULL, digest {octets} NOT NULL,"
    " PRIMARY KEY (round, participant)){compact}"
)


def _unsampled(table: str, *columns: str) -> str:
    """PostgreSQL copies values of columns into its statistics, which outlive the rows; these are not copied."""
    return f"{{if_sampled}}ALTER TABLE {table} {', '.join(f'ALTER {name} SET STATISTICS 0' for name in columns)}"


# Bodies stand apart from their digests: they are appended, so that a commit writes few pages, and they go first.
# A transcript is heard while the second round lasts, also by a server that was started again; it may be larger than one
# value can be, so it stands in pieces. From it the first reports can be made again, and of few people from its digest
# too, by trying: so the digest stands before the first piece, and all go when the reports go.
# Of arrivals only counts are kept. An erasure says since when what is missing is not damage.
# Of reports, and of when they came, no statistics; a database without such ones takes these lines for comments.
TABLES = (
    "CREATE TABLE rounds (round INTEGER PRIMARY KEY, state TEXT NOT NULL, included INTEGER NOT NULL,"
    " root TEXT NOT NULL)",
    _UPLOADS,
    "CREATE TABLE bodies (place {counter}, round INTEGER NOT NULL, participant INTEGER NOT NULL,"
    " body {octets} NOT NULL)",
    "CREATE TABLE pieces (round INTEGER NOT NULL, piece INTEGER NOT NULL, octets {octets} NOT NULL,"
    " PRIMARY KEY (round, piece))",
    "CREATE TABLE arrivals (round INTEGER NOT NULL, since BIGINT NOT NULL, seconds BIGINT NOT NULL,"
    " reports INTEGER NOT NULL, PRIMARY KEY (round, since))",
    "CREATE TABLE answers (place INTEGER PRIMARY KEY, made BIGINT NOT NULL, estimate {octets} NOT NULL)",
    "CREATE TABLE erasures (place INTEGER PRIMARY KEY, made BIGINT NOT NULL)",
    _unsampled("bodies", "place", "round", "participant", "body"),
    _unsampled("pieces", "round", "piece", "octets"),
    _unsampled("arrivals", "round", "since", "seconds", "reports"),
)
# The version of these tables: those before belonged to charters that are not read any more. What is changed from now
# on is one more step here, a tuple of statements; all that a store lacks are run in one transaction.
TABLES_VERSION = 6
STEPS: tuple[tuple[str, ...], ...] = ()

# A table's rows, and the rows on a page of it, lie in the order in which they came. This writes them anew, in order of
# participants, so that the order of coming does not outlive the reports.
IN_ORDER = (
    "ALTER TABLE uploads RENAME TO as_they_came",
    _UPLOADS,
    "INSERT INTO uploads SELECT round, participant, digest FROM as_they_came ORDER BY round, participant",
    "DROP TABLE as_they_came",
)


def newest() -> int:
    """The version that this program writes."""
    return TABLES_VERSION + len(STEPS)


def steps_from(version: int) -> tuple[str, ...]:
    """The statements that bring a store of this version to the present one; 0 is one without tables."""
    if version > newest():
        raise BadInput(
            f"The store has version {version}, and this program knows versions up to {newest()}. "
            "Serve it with the newer program that wrote it."
        )
    if 0 < version < TABLES_VERSION:
        raise BadInput(
            f"The store has version {version}, and this program reads versions from {TABLES_VERSION} on. "
            "Serve it with the program that wrote it, until its reports are erased."
        )
    lacking = STEPS[version - TABLES_VERSION :] if version else (TABLES, *STEPS)
    return tuple(statement for step in lacking for statement in step)
