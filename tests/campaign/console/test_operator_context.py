"""The console's log holds together, and says when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from visibility_aware_edge_ldp.campaign.console.operator_context import LOG_FILE, OperationLog, refuse_haste
from visibility_aware_edge_ldp.campaign.console.sessions import FREE, Attempts
from visibility_aware_edge_ldp.campaign.console.visits import EarlyReply
from visibility_aware_edge_ldp.errors import ProtocolViolation


def test_lines_are_kept_in_order_and_pin_those_before(tmp_path: Path) -> None:
    log = OperationLog(tmp_path)
    assert log.lines() == []
    for what in ("one", "two", "three"):
        log.note(what)
    assert [(each["number"], each["what"]) for each in OperationLog(tmp_path).lines()] == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
    ]
    assert (tmp_path / LOG_FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("change", [("two", "2"), ('"number": 1', '"number": 7'), ("}\n{", "}\nnonsense\n{")])
def test_a_changed_log_is_refused_and_not_continued(tmp_path: Path, change: tuple[str, str]) -> None:
    log = OperationLog(tmp_path)
    for what in ("one", "two", "three"):
        log.note(what)
    path = tmp_path / LOG_FILE
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(ProtocolViolation):
        log.note("four")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(ProtocolViolation):
        log.lines()


def test_haste_is_refused_with_how_long_to_wait() -> None:
    attempts = Attempts(lambda: 0.0)
    refuse_haste(attempts)
    for _ in range(FREE + 2):
        attempts.failed()
    with pytest.raises(EarlyReply) as found:
        refuse_haste(attempts)
    assert dict(found.value.reply.headers)[b"retry-after"] == b"5"
