"""A server in several processes: one that is killed is started again, and nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from support.campaign_lab import FAR, ROOT, Lab, new_lab
from support.campaign_postgres_here import Postgres
from visibility_aware_edge_ldp.campaign.server.processes import serve_in_processes
from visibility_aware_edge_ldp.errors import BadInput

SERVE = [sys.executable, "-m", "visibility_aware_edge_ldp", "campaign", "serve"]


def ask(address: str, path: str) -> dict[str, object]:
    with urllib.request.urlopen(address + path, timeout=30) as reply:
        return dict(json.load(reply))


def put(lab: Lab, address: str, participant: int) -> int:
    head = {"Authorization": f"Bearer {lab.tokens[participant]}", "Content-Type": "application/octet-stream"}
    request = urllib.request.Request(
        address + lab.path(participant), lab.report(participant), headers=head, method="PUT"
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return int(reply.status)


def children(process: subprocess.Popen[bytes]) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.long
def test_two_processes_serve_two_campaigns_and_one_that_is_killed_comes_back(
    tmp_path: Path, postgres: Postgres
) -> None:
    labs = [new_lab(tmp_path / "folder" / name, 8, "degrees", (FAR,)) for name in ("a", "b")]
    options = [str(tmp_path / "folder"), "--port", "0", "--processes", "2", "--store", postgres.new_database()]
    said = (tmp_path / "log").open("w+b")
    server = subprocess.Popen([*SERVE, *options, "--json"], stdout=subprocess.PIPE, stderr=said, cwd=ROOT)
    with said, server:
        assert server.stdout is not None
        addresses = [json.loads(server.stdout.readline())["address"] for _ in labs]
        for lab, address in zip(labs, addresses, strict=True):
            assert (lab.directory / "server.address").read_text() == address
            assert address.endswith(lab.served.charter.identity)
            assert [put(lab, address, number) for number in (1, 2)] == [201, 201]
        before = children(server)
        os.kill(before[0], signal.SIGKILL)
        until = time.monotonic() + 30
        while len(set(children(server)) | set(before)) < 3:
            assert time.monotonic() < until
            time.sleep(0.1)
        for lab, address in zip(labs, addresses, strict=True):
            assert put(lab, address, 1) == 200, "its receipt is given again"
            assert ask(address, "/v1/rounds/1")["state"] == "open"
        server.terminate()
        assert server.wait(60) == 0
        said.seek(0)
        assert b"process ended" in said.read()
    assert not (labs[0].directory / "server.address").exists()


@pytest.mark.long
def test_processes_end_with_the_one_that_started_them(tmp_path: Path, postgres: Postgres) -> None:
    lab = new_lab(tmp_path / "lab", 8, "degrees", (FAR,))
    options = [str(lab.directory), "--port", "0", "--processes", "1", "--store", postgres.new_database()]
    server = subprocess.Popen([*SERVE, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    with server:
        assert server.stdout is not None
        assert b"is served at" in server.stdout.readline()
        (child,) = children(server)
        server.kill()
    until = time.monotonic() + 30
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(child, 0)
            assert time.monotonic() < until
            time.sleep(0.1)


@pytest.mark.parametrize(
    ("store", "processes", "words"),
    [("", 2, "need --store postgresql"), ("sqlite:///x", 1, "need --store postgresql"), ("postgresql://x", 0, "1 to")],
)
def test_what_cannot_be_shared_is_refused_at_once(store: str, processes: int, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        serve_in_processes([Path("nowhere")], store, "127.0.0.1", 0, processes)


def test_a_process_that_does_not_start_ends_the_others(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match="what it says above is why"):
        serve_in_processes([tmp_path], "postgresql://nobody@127.0.0.1:1/x", "127.0.0.1", 0, 1)
    assert "is not the directory of a campaign" in capfd.readouterr().err
