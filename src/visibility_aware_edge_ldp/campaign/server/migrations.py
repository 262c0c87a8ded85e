"""The tables, and how a store that an older version wrote becomes one that this version reads."""

from __future__ import annotations

from visibility_aware_edge_ldp.errors import BadInput

_UPLOADS = (
    "CREATE TABLE uploads (round INTEGER NOT NULL, participant INTEGER NOT NULL, digest {octets} NOT NULL,"
    " PRIMARY KEY (round, participant)){compact}"
)

# Bodies stand apart from their digests: they are appended, so that a commit writes few pages, and they go first.
_FIRST = (
    "CREATE TABLE rounds (round INTEGER PRIMARY KEY, state TEXT NOT NULL, included INTEGER NOT NULL,"
    " root TEXT NOT NULL, transcript TEXT NOT NULL)",
    _UPLOADS,
    "CREATE TABLE bodies (place {counter}, round INTEGER NOT NULL, participant INTEGER NOT NULL,"
    " body {octets} NOT NULL)",
    "CREATE TABLE answers (place INTEGER PRIMARY KEY, made BIGINT NOT NULL, estimate {octets} NOT NULL)",
)

# A transcript is heard while the second round lasts, also by a server that was started again; it may be larger than
# one value can be. From it the first reports can be made again, so it goes when they do.
_SECOND = (
    "CREATE TABLE pieces (round INTEGER NOT NULL, piece INTEGER NOT NULL, octets {octets} NOT NULL,"
    " PRIMARY KEY (round, piece))",
)

# When the reports went: what is missing since then is not damage.
_THIRD = ("CREATE TABLE erasures (place INTEGER PRIMARY KEY, made BIGINT NOT NULL)",)

# How many reports came when, in slots of time; of who came in which nothing is written.
_FOURTH = (
    "CREATE TABLE arrivals (round INTEGER NOT NULL, since BIGINT NOT NULL, seconds BIGINT NOT NULL,"
    " reports INTEGER NOT NULL, PRIMARY KEY (round, since))",
)


def _unsampled(table: str, **columns: str) -> str:
    """PostgreSQL copies values of columns into its statistics, which outlive the rows.

    A column that gets its type anew, though it is the same one, loses the statistics that it has; no row is written.
    """
    changes = (f"ALTER {name} TYPE {kind}, ALTER {name} SET STATISTICS 0" for name, kind in columns.items())
    return f"{{if_sampled}}ALTER TABLE {table} {', '.join(changes)}"


# Of reports, and of when they came, no copies; a database without such statistics takes these lines for comments.
_FIFTH = (
    _unsampled("bodies", place="BIGINT", round="INTEGER", participant="INTEGER", body="{octets}"),
    _unsampled("pieces", round="INTEGER", piece="INTEGER", octets="{octets}"),
    _unsampled("arrivals", round="INTEGER", since="BIGINT", seconds="BIGINT", reports="INTEGER"),
)

MIGRATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)
VERSION = len(MIGRATIONS)
# A table's rows, and the rows on a page of it, lie in the order in which they came. This writes them anew, in order of
# participants, so that the order of coming does not outlive the reports.
IN_ORDER = (
    "ALTER TABLE uploads RENAME TO as_they_came",
    _UPLOADS,
    "INSERT INTO uploads SELECT round, participant, digest FROM as_they_came ORDER BY round, participant",
    "DROP TABLE as_they_came",
)
META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"


def steps_from(version: int) -> tuple[str, ...]:
    """The statements that bring a store of this version to the present one."""
    if version > VERSION:
        raise BadInput(
            f"The store has version {version}, and this program knows versions up to {VERSION}. "
            "Serve it with the newer program that wrote it."
        )
    return tuple(statement for step in MIGRATIONS[version:] for statement in step)
