"""``va-edge-ldp campaign console`` as it is typed; what an operator does in it is tried in a real browser."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from support.command import Run
from support.openapi_document import schema_file


def test_it_says_where_it_is_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "visibility_aware_edge_ldp", "campaign", "console", str(tmp_path / "console")]
    process = subprocess.Popen(
        [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert set(said) == set(schema_file("campaign-console-1.schema.json")["required"])
        assert len(said["setup_code"]) == 12
        url = urlsplit(said["address"])
        assert url.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection(url.netloc, timeout=20)
        connection.request("GET", "/")
        reply = connection.getresponse()
        assert (reply.status, reply.headers["location"]) == (303, "/set-up")
        connection.close()
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, "Traceback" in err) == (0, "", False)
    assert (tmp_path / "console").stat().st_mode & 0o077 == 0


def test_what_is_wrong_is_said_in_a_sentence(campaign: Run) -> None:
    said = campaign("console", "console", "--port", "70000")
    assert (said.code, "from 0 to 65535" in said.err) == (2, True)
    said = campaign("console", "console", "--address", "http://console.example.org")
    assert (said.code, "Use https" in said.err) == (2, True)
    said = campaign("console", "console", "--store", "sqlite:///one.db")
    assert (said.code, "PostgreSQL alone" in said.err) == (2, True)
