"""What a terminal needs: characters that its code page has, never a traceback; and an orderly end when told to end."""

import codecs
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

PLAIN = {
    "ε": "epsilon", "δ": "delta", "σ": "sigma", "Σ": "sum", "√": "sqrt", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=",
    "–": "-", "—": "-", "−": "-", "…": "...", "“": '"', "”": '"', "’": "'", "✓": "ok", "✗": "no", "∞": "infinite",
    "°": "o", "†": "+", "→": "->", "²": "2", "³": "3", "⁻": "-", "⁶": "6", "·": "*", "─": "-", "│": "|", "━": "-",
}  # fmt: skip
_HANDLER = "visibility_aware_edge_ldp.plain"


def plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that cannot be written; an error handler for ``codecs``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def use_plain_characters(*streams: TextIO) -> None:
    """Let these streams, or stdout and stderr, write what they can and plain characters for the rest."""
    codecs.register_error(_HANDLER, plain)
    for stream in streams or (sys.stdout, sys.stderr):
        if not speaks_unicode(stream) and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_HANDLER)


def speaks_unicode(stream: TextIO) -> bool:
    """Whether a stream can write every character."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return codecs.lookup(encoding).name.startswith("utf")


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Being told to end (SIGTERM) is an interrupt like any other, after which no file is left."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
