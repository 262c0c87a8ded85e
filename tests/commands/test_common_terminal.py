"""Output under other code pages, and without colour."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import pytest

from visibility_aware_edge_ldp.commands.common import PLAIN, plain, speaks_unicode, use_plain_characters

COMMANDS = [
    ["--help"],
    ["estimate", "random:30,60", "--trust", "user", "--statistics", "edges,stars:2", "--seed", "1"],
    ["plan", "--nodes", "100", "--edges", "300"],
    ["datasets", "list"],
]


def run(words: list[str], **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A command as it is typed, with the kernels that it chooses; loading compiled ones would take half of the time."""
    known = {**os.environ, **environment}
    for name in ("PYTHONUTF8", "VA_EDGE_LDP_KERNEL"):
        known.pop(name, None)
    return subprocess.run([sys.executable, "-m", "visibility_aware_edge_ldp", *words], capture_output=True, env=known)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("page", ["cp1252", "cp437", "ascii"])
def test_no_code_page_is_a_reason_to_fail(words: list[str], page: str) -> None:
    done = run(words, PYTHONIOENCODING=page)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    # click writes UTF-8 where it is told ASCII, which it holds to be a mistake of the system's.
    said = done.stdout.decode("utf-8" if page == "ascii" else page)
    assert words[0] != "estimate" or "epsilon = 1" in said or "ε = 1" in said


def test_json_keeps_every_character_under_any_code_page() -> None:
    words = ["estimate", "random:30,60", "--trust", "user", "--statistics", "edges", "--seed", "1", "--json"]
    assert json.loads(run(words, PYTHONIOENCODING="ascii").stdout) == json.loads(
        run(words, PYTHONIOENCODING="utf-8").stdout
    )


def test_no_color_is_heeded() -> None:
    words = COMMANDS[1]
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]", run(words, NO_COLOR="1", FORCE_COLOR="1", TERM="xterm").stdout)
    assert b"\x1b[" not in run(words, NO_COLOR="1", TERM="dumb").stdout


def test_plain_characters_stand_for_what_cannot_be_written() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    use_plain_characters(stream)
    stream.write("ε = 1 ± 2 × 3 李")
    stream.flush()
    assert raw.getvalue() == b"epsilon = 1 +/- 2 x 3 ?"
    assert not speaks_unicode(stream)
    assert speaks_unicode(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))


def test_plain_characters_are_plain() -> None:
    assert all(text.isascii() for text in PLAIN.values())
    with pytest.raises(UnicodeDecodeError):
        plain(UnicodeDecodeError("ascii", b"\xff", 0, 1, "not ASCII"))
