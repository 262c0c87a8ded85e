"""Bytes of a text file, packed or not."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import BadGraph, BadInput
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.text_file import load_bytes


@pytest.mark.parametrize(
    ("name", "stored", "plain"),
    [
        ("a.txt", b"text", True),
        ("a.txt.gz", b"text", False),
        ("a.txt", gzip.compress(b"text", mtime=0), False),
        ("a.txt", b"\xef\xbb\xbftext", False),
        ("a.gz", gzip.compress(b"te", mtime=0) + gzip.compress(b"xt", mtime=0), False),
    ],
)
def test_what_is_read(tmp_path: Path, name: str, stored: bytes, plain: bool) -> None:
    (tmp_path / name).write_bytes(stored)
    raw = load_bytes(tmp_path / name, BadGraph)
    assert (raw.data, raw.is_plain) == (b"text", plain)


@pytest.mark.parametrize("error", [BadGraph, BadInput])
def test_the_caller_chooses_the_error(tmp_path: Path, error: type[BadInput]) -> None:
    with pytest.raises(error, match="There is no file") as caught:
        load_bytes(tmp_path / "absent", error)
    assert type(caught.value) is error
    assert caught.value.exit_code == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"0 1\n1 2\n",))
    writer.start()
    assert read_graph(pipe).m == 2
    writer.join()
