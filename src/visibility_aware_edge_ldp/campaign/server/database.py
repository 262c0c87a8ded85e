"""What a store in tables needs of a database."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Database(Protocol):
    """The little that the two databases do differently."""

    words: dict[str, str]

    def transaction(self) -> AbstractContextManager[object]:
        """All or nothing; on disk when it ends."""

    def run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """One statement, with a ? for every value, and its rows."""

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
        """Many rows in few statements: each statement may cost the thread a wait."""

    def digests(self, number: int, participants: Sequence[int]) -> dict[int, bytes]:
        """What is known of these participants."""

    def erase(self, *tables: str) -> None:
        """Remove every row, so that the disk does not hold it either; StoreUnavailable while it still does."""

    def recover(self) -> None:
        """After a failure: be ready for the next transaction."""

    def close(self) -> None:
        """Let go of it."""
