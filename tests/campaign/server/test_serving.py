"""A server of its own process: how it starts, why it does not, and how it stops."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.campaign_estimators import MARK
from support.campaign_lab import FAR, Running, new_lab, running, sqlite_url, stub_estimate
from support.campaign_server_load import run_load, shuffled_requests
from support.campaign_server_wire import Answer, ask
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


def _operator(server: Running, method: str, path: str = "/v1/estimate") -> Answer:
    return ask(
        server,
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.lab.operator}\r\n"
        "Content-Length: 0\r\n\r\n".encode(),
    )


def _until(there: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not there():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_an_estimate_is_stopped_and_one_that_was_asked_for_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the operator; by SIGTERM, within seconds; by a kill, whose child ends too. Then it is made unasked."""
    lab, url, mark = new_lab(tmp_path / "lab", 12, "degrees", (FAR,)), sqlite_url(tmp_path), tmp_path / "mark"
    monkeypatch.setenv(MARK, str(mark))
    options = ("--own-process", "endless")
    with ThreadPoolExecutor(1) as pool:
        with running(lab, url, *options) as server:
            ask(server, lab.request(3, lab.report(3)))
            _operator(server, "POST", "/v1/rounds/1/close")
            making = pool.submit(_operator, server, "POST")
            _until(mark.exists)
            assert json.loads(_operator(server, "DELETE").body) == {"stopped": True}
            assert b"was stopped" in making.result(30).body
            assert json.loads(_operator(server, "DELETE").body) == {"stopped": False}
            mark.unlink()
            making = pool.submit(_operator, server, "POST")
            _until(mark.exists)
            begun = time.monotonic()
            assert server.stop() == 0
            assert (making.result(30).status, time.monotonic() - begun < 10) == (409, True)
        mark.unlink()
        with running(lab, url, *options) as server:
            _until(mark.exists)  # nobody has asked again
            child = Path(f"/proc/{mark.read_text()}")
            server.kill()
            _until(lambda: not child.exists())
    with running(lab, url, *options) as server:
        _until(lambda: ask(server, b"GET /v1/estimates HTTP/1.1\r\nHost: x\r\n\r\n").status == 200)
        found = ask(server, b"GET /v1/estimates HTTP/1.1\r\nHost: x\r\n\r\n").body
    assert found == stub_estimate(None, None, {1: {3: lab.report(3)}})


def test_a_process_that_crashes_is_named_and_the_server_goes_on(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "degrees", (FAR,))
    with running(lab, sqlite_url(tmp_path), "--own-process", "killed") as server:
        ask(server, lab.request(3, lab.report(3)))
        _operator(server, "POST", "/v1/rounds/1/close")
        told = _operator(server, "POST")
        assert told.status == 500
        assert "ended by SIGKILL, as where memory is short" in json.loads(told.body)["detail"]
        assert ask(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").status == 200
