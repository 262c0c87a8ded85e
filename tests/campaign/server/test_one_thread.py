"""Answers are the same to the last byte, however many threads the environment gives to matrix products."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from campaign.server import town as towns
from campaign.server.town import Town, new_town
from visibility_aware_edge_ldp.campaign.server.one_thread import one_thread

SERVER = ("visibility_aware_edge_ldp.campaign.server",)
COMMAND = ("visibility_aware_edge_ldp.cli", "campaign", "serve")
# The same estimate by a process that was not told to take one thread.
ALONE = """
import json, sys
from pathlib import Path
from visibility_aware_edge_ldp.campaign.new import read_campaign
from visibility_aware_edge_ldp.campaign.server.estimating import estimate_bytes
campaign = read_campaign(Path(sys.argv[1]))
reports = {int(who): bytes.fromhex(body) for who, body in json.load(sys.stdin).items()}
sys.stdout.buffer.write(estimate_bytes(campaign.charter, campaign.documents.view, {1: reports}))
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    """A hundred people are enough to see it in the 4-cycles' standard error, and everybody answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(towns.STATISTICS, "position", ("four_cycles",))
        return new_town(tmp_path_factory.mktemp("threads") / "town", "position", people=100)


@pytest.fixture(scope="module")
def expected(town: Town) -> bytes:
    return alone(town, 1)


def environment(threads: int) -> dict[str, str]:
    return {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}


def alone(town: Town, threads: int) -> bytes:
    reports = {str(who): town.report(who).hex() for who in town.asked}
    command = [sys.executable, "-c", ALONE, str(town.directory)]
    given = json.dumps(reports).encode()
    return subprocess.run(command, input=given, env=environment(threads), check=True, stdout=subprocess.PIPE).stdout


def call(address: str, method: str, path: str, token: str, body: bytes = b"") -> bytes:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    request = urllib.request.Request(address + path, method=method, data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return bytes(reply.read())


def served(town: Town, words: tuple[str, ...], threads: int, folder: Path) -> bytes:
    """The answers of a real server in this environment."""
    store = f"sqlite:///{folder / f'{len(words)}-{threads}.db'}"
    command = [sys.executable, "-m", *words, str(town.directory), "--port", "0", "--store", store]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(threads)
    ) as process:
        assert process.stdout is not None
        try:
            said = process.stdout.readline().decode().split()
            address = next(word for word in said if word.startswith("http://")).rstrip(".")
            for who in town.asked:
                call(address, "PUT", town.path(who, 1), town.tokens[who], town.report(who))
            call(address, "POST", "/v1/rounds/1/close", town.operator)
            return call(address, "POST", "/v1/estimate", town.operator)
        finally:
            process.terminate()


@pytest.mark.parametrize(("words", "threads"), [(SERVER, 1), (SERVER, 2), (COMMAND, 2)])
def test_a_server_has_one_thread(
    words: tuple[str, ...], threads: int, town: Town, expected: bytes, tmp_path: Path
) -> None:
    assert served(town, words, threads, tmp_path) == expected


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two threads need two cores")
def test_without_it_the_bytes_would_differ(town: Town, expected: bytes) -> None:
    one, two = json.loads(expected), json.loads(alone(town, 2))
    assert one != two
    name = "four_cycles"
    assert one["estimates"][name]["value"] == two["estimates"][name]["value"]


def test_whatever_the_environment_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"OPENBLAS_NUM_THREADS": "8", "HOME": "/"})
    one_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["HOME"] == "/"
