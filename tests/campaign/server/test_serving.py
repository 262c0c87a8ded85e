"""A server of its own process: how it starts, why it does not, and how it stops."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.campaign_lab import FAR, new_lab, running, sqlite_url, stub_estimate
from support.campaign_server_load import run_load, shuffled_requests
from support.campaign_server_wire import ask
from visibility_aware_edge_ldp.campaign.server import serving
from visibility_aware_edge_ldp.errors import BadInput


def test_sigterm_finishes_what_was_accepted(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 200, "degrees", (FAR,))
    url = sqlite_url(tmp_path)
    (lab.directory / "amendments").mkdir()
    with running(lab, url) as server:
        load = run_load(server.host, server.port, shuffled_requests(lab), 32)
        assert load.statuses == {201: 200}
        assert server.stop() == 0
        lines = {line["event"]: line for line in map(json.loads, server.log.splitlines())}
    assert list(lines)[-1] == "stopped"
    assert lines["secrets beside the server"]["files"] == ["issuer.key", "tokens.csv", "amendments"]
    secrets = [lab.operator, *lab.tokens, "p17"]
    assert not any(secret in server.log for secret in secrets)
    for name in ("issuer.key", "tokens.csv", "amendments"):
        (lab.directory / name).rename(tmp_path / name)
    with running(lab, url) as server:
        status = ask(server, b"GET /v1/rounds/1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert json.loads(status.body)["received"] == 200
    assert "secrets" not in server.log


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "degrees", (FAR,))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=rf"127\.0\.0\.1:{port} cannot be listened at: .* Choose another --port"):
            serving.serve(lab.directory, port=port, estimate_bytes=stub_estimate)


def test_an_address_that_means_all_is_written_as_one_that_can_be_asked() -> None:
    for host, written in (("127.0.0.1", "127.0.0.1:"), ("0.0.0.0", "127.0.0.1:"), ("::", "[::1]:")):
        try:
            listener = serving.listener_at(host, 0)
        except BadInput:  # this machine has no such addresses
            assert ":" in host
            continue
        with listener:
            assert serving.written_address(listener) == f"{written}{listener.getsockname()[1]}"


def test_why_a_store_cannot_be_opened_is_a_sentence_and_an_exit_code(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "degrees", (FAR,))
    words = [sys.executable, "-m", serving.__name__, str(lab.directory), "--port", "0", "--store", "mysql://x"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    sentence = "A store is named sqlite:///path or postgresql://…; neither was given."
    assert (ended.returncode, ended.stderr.splitlines()[-1], ended.stdout) == (BadInput.exit_code, sentence, "")
