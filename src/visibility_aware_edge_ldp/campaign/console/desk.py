"""What everything that an operator does works with: the vault, the log, the servers, and who may sign.

The log is an append-only chain of lines, as a campaign's server keeps one. It holds no names and no tokens. A line that
was changed or removed is seen by whoever kept a later head.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign.console.draft_page import Outside
from visibility_aware_edge_ldp.campaign.console.server_process import ServerProcesses
from visibility_aware_edge_ldp.campaign.console.sessions import Attempts
from visibility_aware_edge_ldp.campaign.console.studies import Study
from visibility_aware_edge_ldp.campaign.console.study_pages import Shown, Standing
from visibility_aware_edge_ldp.campaign.console.vault import SIGNING, Key, Vault, WrongPassphrase
from visibility_aware_edge_ldp.campaign.console.visits import Turned, Visit, elsewhere
from visibility_aware_edge_ldp.campaign.server.messages import Reply
from visibility_aware_edge_ldp.campaign.server.operations import line_head, refuse_broken_log
from visibility_aware_edge_ldp.errors import ProtocolViolation

JOURNAL = "operations.jsonl"


class Journal:
    """The lines in a file; each is on the disk before what it says is done."""

    def __init__(self, folder: Path) -> None:
        self._path, self._turn = folder / JOURNAL, threading.Lock()

    def note(self, what: str) -> None:
        """One more line; refuses to go on from a file that does not hold together."""
        with self._turn:
            lines = self.lines()
            before = bytes.fromhex(lines[-1]["head"]) if lines else bytes(32)
            number, made = len(lines) + 1, int(time.time())
            head = line_head(before, number, made, what).hex()
            line = json.dumps({"number": number, "made": made, "what": what, "head": head})
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())

    def lines(self) -> list[dict[str, Any]]:
        """All lines, the oldest first; refuses a chain that does not hold."""
        if not self._path.exists():
            return []
        try:
            found = [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]
        except ValueError as error:
            raise ProtocolViolation(f"{self._path} is damaged; bring back a copy, and keep this one.") from error
        return refuse_broken_log(found)


@dataclass(frozen=True)
class Desk:
    """What actions work with: the vault, the log, the servers, and what the console was started with."""

    vault: Vault
    journal: Journal
    servers: ServerProcesses
    attempts: Attempts
    outside: Outside
    first_port: int
    default_address: str = ""
    clock: Callable[[], float] = field(default=time.time)

    def signing(self, visit: Visit) -> Key:
        """The signing key, for this visit alone; a wrong passphrase counts as one at the sign-in does."""
        refuse_haste(self.attempts)
        try:
            key = self.vault.unlock(visit.form.get("passphrase", ""), SIGNING)
        except WrongPassphrase:
            self.attempts.failed()
            self.journal.note("a wrong passphrase")
            raise
        self.attempts.succeeded()
        return key

    def shown(self, visit: Visit, study: Study, standing: Standing | None = None) -> Shown:
        choices, people = study.draft(visit.session.key)
        return Shown(
            visit.session, study.name, study.charter, choices, people, study.settings, study.has_tokens,
            standing or Standing(),
        )  # fmt: skip


def refuse_haste(attempts: Attempts) -> None:
    """Refuses a passphrase that comes too soon after wrong ones."""
    if wait := attempts.wait:
        after = (b"retry-after", b"%d" % (int(wait) + 1))
        raise Turned(429, f"Too many wrong passphrases. Try again in {int(wait) + 1} seconds.", (after,))


def back_to(study: Study) -> Reply:
    """The study's page."""
    return elsewhere(f"/studies/{study.name}")
