"""Fetching a graph from a server on this machine: all of it and the right one, or nothing."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.truth import datasets
from visibility_aware_edge_ldp.truth.datasets import fetch, find
from visibility_aware_edge_ldp.truth.readers import read_graph

TEXT = b"0 1\n1 2\n"
FILE = "facebook_combined.txt.gz"


@pytest.fixture(autouse=True)
def direct(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy between the test and its own server."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the three nodes of TEXT be the dataset called facebook."""
    changed = replace(datasets.DATASETS["facebook"], nodes=3, edges=2, sha256=hashlib.sha256(TEXT).hexdigest())
    monkeypatch.setitem(datasets.DATASETS, "facebook", changed)


@dataclass
class Server:
    """A web server whose one answer can be set."""

    address: str = ""
    body: bytes = gzip.compress(TEXT)
    status: int = 200
    promised: int | None = None
    asked: tuple[str, ...] = ()


@pytest.fixture
def server() -> Iterator[Server]:
    answer = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer.asked += (self.path,)
            self.send_response(answer.status)
            self.send_header("Content-Length", str(answer.promised or len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        answer.address = f"http://127.0.0.1:{web.server_address[1]}/data"
        yield answer
        web.shutdown()
        thread.join()


@pytest.mark.usefixtures("tiny")
def test_fetch_keeps_what_is_right(server: Server, cache: Path) -> None:
    path = fetch("facebook", base=server.address)
    assert path == cache / FILE == find("facebook")
    assert [file.name for file in cache.iterdir()] == [FILE]
    assert read_graph(path).m == 2
    assert fetch("facebook", base=server.address) == path
    assert server.asked == ("/data/facebook_combined.txt.gz",)  # once


@pytest.mark.usefixtures("tiny")
def test_fetch_replaces_a_damaged_copy(server: Server, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / FILE).write_bytes(gzip.compress(TEXT)[:-5])
    fetch("facebook", base=server.address)
    assert gzip.decompress((cache / FILE).read_bytes()) == TEXT


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"promised": 9_999}, "could not be fetched"),
        ({"body": gzip.compress(TEXT, mtime=0)[:-6]}, "damaged or incomplete"),
        ({"body": gzip.compress(b"0 1\n", mtime=0)}, "checksum"),
        ({"body": b"<html>not found</html>"}, "checksum"),
        ({"body": b""}, "checksum"),
        ({"status": 404}, "Not Found"),
        ({"status": 500}, "could not be fetched"),
    ],
)
def test_fetch_keeps_nothing_else(server: Server, cache: Path, change: dict[str, Any], hint: str) -> None:
    for name, value in change.items():
        setattr(server, name, value)
    with pytest.raises(BadInput, match=hint) as caught:
        fetch("facebook", base=server.address)
    assert "VA_EDGE_LDP_DATA" in str(caught.value)  # what to do instead
    assert list(cache.iterdir()) == []
    assert find("facebook") is None


def test_fetch_without_a_network(cache: Path) -> None:
    with pytest.raises(BadInput, match="could not be fetched"):
        fetch("facebook", base="http://127.0.0.1:9", timeout=2)
    assert list(cache.iterdir()) == []


def test_fetch_needs_a_web_address() -> None:
    with pytest.raises(BadInput, match="no address"):
        fetch("imdb-actors-c10")
    with pytest.raises(BadInput, match="not a web address"):
        fetch("facebook", base="file:///tmp")
