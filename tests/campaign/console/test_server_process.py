"""Servers that a console starts: they end with it, and say why they did not start."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from support.campaign_lab import new_lab
from visibility_aware_edge_ldp.campaign.console.server_process import LOG, ServerProcesses
from visibility_aware_edge_ldp.errors import BadInput


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    lab, servers = new_lab(tmp_path / "lab", 6), ServerProcesses()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadInput, match="cannot be listened at"):
        servers.start("one", lab.directory, taken.getsockname()[1])
    assert not servers.is_running("one")
    assert (tmp_path / LOG).stat().st_mode & 0o077 == 0


def test_a_server_is_started_once_and_stopped_with_all_others(tmp_path: Path) -> None:
    lab, servers = new_lab(tmp_path / "lab", 6), ServerProcesses()
    servers.start("one", lab.directory, 0)
    process = servers.running["one"]
    servers.start("one", lab.directory, 0)
    assert servers.running["one"] is process
    assert servers.is_running("one")
    servers.stop("another")
    servers.stop_all()
    assert process.poll() == 0
    assert not servers.is_running("one")
