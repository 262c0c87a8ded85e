"""Output that any terminal can show: characters that its code page lacks become plain ones, never a traceback."""

import codecs
import sys
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
