"""What every action of the operator is given: the vault, the log, the servers, and the signing key for one request.

The log is an append-only chain of lines, as a campaign's server keeps one. It holds no names and no tokens. A line that
was changed or removed is seen by whoever kept a later head.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign.console.draft_page import InjectedFunctions
from visibility_aware_edge_ldp.campaign.console.server_process import ServerProcesses
from visibility_aware_edge_ldp.campaign.console.sessions import Attempts
from visibility_aware_edge_ldp.campaign.console.studies import Study
from visibility_aware_edge_ldp.campaign.console.study_pages import ServerStatus, Shown
from visibility_aware_edge_ldp.campaign.console.vault import SIGNING, Key, Vault, WrongPassphrase
from visibility_aware_edge_ldp.campaign.console.visits import EarlyReply, Visit, elsewhere
from visibility_aware_edge_ldp.campaign.server.messages import Reply
from visibility_aware_edge_ldp.campaign.server.operations import line_head, refuse_broken_log
from visibility_aware_edge_ldp.errors import ProtocolViolation

LOG_FILE = "operations.jsonl"


class OperationLog:
    """What was done in this console, a line each in a file; the line is on the disk before the action is done."""

    def __init__(self, folder: Path) -> None:
        self._path, self._turn = folder / LOG_FILE, threading.Lock()

    def note(self, what: str) -> None:
        """Write one more line; refuses a file whose hashes do not fit."""
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
        """All lines, the oldest first; refuses a file whose hashes do not fit."""
        if not self._path.exists():
            return []
        try:
            found = [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]
        except ValueError as error:
            raise ProtocolViolation(f"{self._path} is damaged; bring back a copy, and keep this one.") from error
        return refuse_broken_log(found)


@dataclass(frozen=True)
class OperatorContext:
    """What an action is given: the vault, the log, the servers, and what the console was started with."""

    vault: Vault
    log: OperationLog
    servers: ServerProcesses
    attempts: Attempts
    injected: InjectedFunctions
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
            self.log.note("a wrong passphrase")
            raise
        self.attempts.succeeded()
        return key

    def shown(self, visit: Visit, study: Study, status: ServerStatus | None = None) -> Shown:
        choices, people = study.draft(visit.session.key)
        return Shown(
            visit.session, study.name, study.charter, choices, people, study.settings, study.has_tokens,
            status or ServerStatus(),
        )  # fmt: skip


def refuse_haste(attempts: Attempts) -> None:
    """Refuse a passphrase that comes too soon after wrong ones, with the seconds to wait."""
    if wait := attempts.wait:
        after = (b"retry-after", b"%d" % (int(wait) + 1))
        raise EarlyReply(429, f"Too many wrong passphrases. Try again in {int(wait) + 1} seconds.", (after,))


def back_to(study: Study) -> Reply:
    """A redirect to the study's page."""
    return elsewhere(f"/studies/{study.name}")
