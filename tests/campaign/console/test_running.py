"""A console is alone in its folder, and at an address that nobody can listen to."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from support.console_visitor import INJECTED
from visibility_aware_edge_ldp.campaign.console.running import LOCK, run_console
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.file_lock import lock


@pytest.mark.parametrize("address", ["http://console.example.org", "ftp://127.0.0.1", "https://a:b@c.org"])
def test_a_passphrase_never_travels_in_the_open(tmp_path: Path, address: str) -> None:
    with pytest.raises(BadInput):
        run_console(tmp_path / "console", INJECTED, port=0, address=address)


def test_all_addresses_of_a_machine_are_not_listened_at_without_tls(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Use https"):
        run_console(tmp_path / "console", INJECTED, host="0.0.0.0", port=0)


def test_two_consoles_do_not_share_a_folder(tmp_path: Path) -> None:
    with (tmp_path / LOCK).open("a") as held:
        lock(held.fileno(), wait=False)
        with pytest.raises(BadInput, match="Another console uses"):
            run_console(tmp_path, INJECTED, port=0)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadInput, match="cannot be listened at"):
        run_console(tmp_path, INJECTED, port=taken.getsockname()[1])
