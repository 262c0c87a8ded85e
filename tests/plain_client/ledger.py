"""The ledger: what was answered and what it cost, on disk before anything is sent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

from plain_client.campaign import Campaign
from plain_client.canonical import demand
from plain_client.noise import response_loss
from plain_client.rules import FRIEND_VISIBLE, PRIVATE, PUBLIC

UNITS = 10**12
CAPS: Mapping[int, Fraction] = {FRIEND_VISIBLE: Fraction(2), PRIVATE: Fraction(1)}
LIFETIME = 4
_TABLES = """
CREATE TABLE IF NOT EXISTS uploads (campaign, round, upload, receipt, PRIMARY KEY (campaign, round));
CREATE TABLE IF NOT EXISTS seen (what, issuer, campaign, round, octets, signature);
CREATE TABLE IF NOT EXISTS memos (epoch, question, report, PRIMARY KEY (epoch, question));
CREATE TABLE IF NOT EXISTS bits (epoch, name, friend, PRIMARY KEY (epoch, name));
CREATE TABLE IF NOT EXISTS levels (epoch, name, flip, said, PRIMARY KEY (epoch, name, flip));
CREATE TABLE IF NOT EXISTS charges (epoch, name, question, chain, units, PRIMARY KEY (epoch, name, question));
CREATE TABLE IF NOT EXISTS classes (epoch, name, class, PRIMARY KEY (epoch, name, class));
"""
Charge = tuple[str, str, int, int]  # a name, a question, whether it is a chain's, units


class Ledger:
    """One participant's ledger in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.executescript(_TABLES)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Alone; all that is written inside is on disk when this ends, or nothing is."""
        with closing(sqlite3.connect(self._path, isolation_level=None, timeout=30)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN EXCLUSIVE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def upload(self, campaign: str, number: int) -> tuple[bytes, bytes | None] | None:
        """What was answered in a round, and its receipt."""
        with self.transaction() as page:
            query = "SELECT upload, receipt FROM uploads WHERE campaign = ? AND round = ?"
            found: tuple[bytes, bytes | None] | None = page.execute(query, (campaign, number)).fetchone()
            return found

    def see(self, what: str, issuer: str, campaign: str, number: int, octets: bytes, signature: str = "") -> None:
        """Keep what was shown, before it is judged; what is known is not kept twice."""
        named = (what, issuer, campaign, number, octets, signature)
        with self.transaction() as page:
            query = "SELECT * FROM seen WHERE what = ? AND issuer = ? AND campaign = ? AND round = ?"
            if named not in page.execute(query, named[:4]).fetchall():
                page.execute("INSERT INTO seen VALUES (?, ?, ?, ?, ?, ?)", named)

    def seen(self, what: str, issuer: str, campaign: str | None = None, number: int = 0) -> list[bytes]:
        """All that was ever shown, in order; of all the issuer's campaigns if none is named."""
        with self.transaction() as page:
            query = "SELECT octets FROM seen WHERE what = ? AND issuer = ? AND campaign = ifnull(?, campaign)"
            found = page.execute(f"{query} AND round = ? ORDER BY rowid", (what, issuer, campaign, number))
            return [octets for (octets,) in found]

    def keep_receipt(self, campaign: str, number: int, receipt: bytes) -> None:
        with self.transaction() as page:
            query = "UPDATE uploads SET receipt = ? WHERE campaign = ? AND round = ? AND receipt IS NULL"
            page.execute(query, (receipt, campaign, number))


def question(campaign: Campaign, number: int, transcript: str = "") -> str:
    """What names a question: asked again, it is answered alike."""
    edges = campaign.charter["edges"] if campaign.question in ("triangles", "hubs") else ""
    return f"{campaign.charter['survey']} {number} {transcript} {edges}"


def charges(campaign: Campaign, person: int, number: int, transcript: str = "") -> list[Charge]:
    """What this round, those after it and all that others answer in the campaign cost, name by name."""
    found: list[Charge] = []
    rounds = range(1, len(campaign.charter["rounds"]) + 1)
    for each in rounds:
        rows = campaign.question in ("position", "triangles")
        for other in range(campaign.nodes):
            own = not campaign.plan and (other > person or not rows)
            kind = campaign.policy.of(person, other) if other != person else PUBLIC
            if kind == PUBLIC or (own and each < number):
                continue
            if rows and each == 1:
                flip = campaign.thresholds(1)[kind]
                found.append((str(campaign.names[other]), f"chain {flip}", 1, _units(response_loss(flip, 12))))
                continue
            heard = (
                transcript if own and each == number else campaign.identity if campaign.question == "triangles" else ""
            )
            named = f"{question(campaign, each, heard)} {'own' if own else 'others'}"
            found.append((str(campaign.names[other]), named, 0, _units(campaign.losses(each)[kind])))
    return found


def _units(loss: Fraction) -> int:
    return -int(-loss * UNITS // 1)


def charge(
    page: sqlite3.Connection, campaign: Campaign, person: int, number: int, transcript: str = "", write: bool = False
) -> None:
    """Declines what would cost more than the caps; writes the charges of this round and of what others answer.

    Of whom nothing is asked, it charges what others answer, beyond the caps too: that cannot be declined.
    """
    epoch = campaign.charter["epoch"]
    due = charges(campaign, person, number, transcript)
    for other in range(campaign.nodes):
        if other != person and (kind := campaign.policy.of(person, other)) != PUBLIC:
            name = str(campaign.names[other])
            page.execute("INSERT OR IGNORE INTO classes VALUES (?, ?, ?)", (epoch, name, kind))
            held = page.execute("SELECT class FROM classes WHERE epoch = ? AND name = ?", (epoch, name)).fetchall()
            here, ever = _lost(page, epoch, name, [each for each in due if each[0] == name])
            for (each,) in held if campaign.asks(person) else ():
                demand(here <= CAPS[each] * UNITS, "more than the cap of the epoch")
                demand(ever <= LIFETIME * CAPS[each] * UNITS, "more than the cap of a lifetime")
    if write:
        rows = [
            (epoch, *each) for each in due if each[2] or each[1].endswith("others") or _is_now(each, campaign, number)
        ]
        page.executemany("INSERT OR IGNORE INTO charges VALUES (?, ?, ?, ?, ?)", rows)


def _is_now(due: Charge, campaign: Campaign, number: int) -> bool:
    return due[1].startswith(f"{campaign.charter['survey']} {number} ")


def _lost(page: sqlite3.Connection, epoch: str, name: str, due: Sequence[Charge]) -> tuple[int, int]:
    """What a name will have lost in this epoch, and in all: the largest of chains, and the sum of all else."""
    query = "SELECT epoch, question, chain, units FROM charges WHERE name = ?"
    all_rows = {(row[0], row[1]): (row[2], row[3]) for row in page.execute(query, (name,))}
    for _, asked, chain, units in due:
        all_rows.setdefault((epoch, asked), (chain, units))
    lost = {}
    for each in {epoch, *(key[0] for key in all_rows)}:
        here = [value for key, value in all_rows.items() if key[0] == each]
        chained = max((units for chain, units in here if chain), default=0)
        lost[each] = chained + sum(units for chain, units in here if not chain)
    return lost[epoch], sum(lost.values())


def friend_bits(page: sqlite3.Connection, campaign: Campaign, person: int, given: set[str]) -> list[bool]:
    """Who is a friend: by what is public, else by the ledger, else by the list."""
    epoch, edges, found = campaign.charter["epoch"], set(campaign.policy.edges), []
    for other, name in enumerate(map(str, campaign.names)):
        if other != person and campaign.policy.of(person, other) == PUBLIC:
            found.append((min(person, other), max(person, other)) in edges)
            continue
        kept = page.execute("SELECT friend FROM bits WHERE epoch = ? AND name = ?", (epoch, name)).fetchone()
        found.append(bool(kept[0]) if kept else other != person and name in given)
    return found


def row_levels(page: sqlite3.Connection, campaign: Campaign, person: int) -> list[dict[int, bool]]:
    """What each position of the row answered before in this epoch, by threshold."""
    query = "SELECT flip, said FROM levels WHERE epoch = ? AND name = ?"
    names = (str(name) for name in campaign.names[person + 1 :])
    rows = (page.execute(query, (campaign.charter["epoch"], name)).fetchall() for name in names)
    return [{int(flip): bool(said) for flip, said in each} for each in rows]


def keep(
    page: sqlite3.Connection,
    campaign: Campaign,
    person: int,
    friends: Sequence[bool],
    fresh: Mapping[int, Mapping[int, bool]],
) -> None:
    """Keep the bits that an answer was made from, and its levels."""
    epoch, names = campaign.charter["epoch"], list(map(str, campaign.names))
    bits = [(epoch, name, int(friends[i])) for i, name in enumerate(names) if i != person]
    page.executemany("INSERT OR IGNORE INTO bits VALUES (?, ?, ?)", bits)
    said = [(epoch, names[i], str(flip), int(bit)) for flip, level in fresh.items() for i, bit in level.items()]
    page.executemany("INSERT OR IGNORE INTO levels VALUES (?, ?, ?, ?)", said)
