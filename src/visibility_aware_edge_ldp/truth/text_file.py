"""The bytes of a text file, unpacked if they are gzipped, or one sentence on why not."""

import gzip
import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from visibility_aware_edge_ldp.errors import BadInput, TooLarge

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Text, integers and sort keys of an edge list together, measured.
_MEMORY_PER_BYTE = 6
# NumPy chooses how to open a file by its name alone.
_PACKED_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma"}


@dataclass(frozen=True)
class RawText:
    """A file's text as bytes.

    Parameters
    ----------
    data
        The unpacked bytes, without a byte order mark.
    is_plain
        Whether a regular file, named like plain text, holds exactly these bytes.
    """

    data: bytes = field(repr=False)
    is_plain: bool


def load_bytes(path: Path, error: type[BadInput]) -> RawText:
    """Read a file, by its first bytes and not by its name.

    Parameters
    ----------
    path
        The file.
    error
        What to raise when it cannot be read.
    """
    stored = _stored(path, error)
    data = _unpacked(stored, path.name, error) if stored.startswith(_GZIP) else stored
    marked = data.startswith(_BYTE_ORDER_MARK)
    # A pipe cannot be read a second time, so it is never plain.
    plain = data is stored and not marked and path.suffix.lower() not in _PACKED_SUFFIXES and path.is_file()
    return RawText(data.removeprefix(_BYTE_ORDER_MARK), plain)


def _stored(path: Path, error: type[BadInput]) -> bytes:
    try:
        if path.is_dir():
            raise error(f"{str(path)!r} is a folder. Name the file inside it.")
        _check_memory(path)
        return path.read_bytes()
    except BadInput:
        raise
    except FileNotFoundError:
        raise error(f"There is no file {str(path)!r}. Check the path, or name a known dataset.") from None
    except (OSError, ValueError) as reason:
        text = getattr(reason, "strerror", None) or reason
        raise error(f"{str(path)!r} cannot be opened: {text}. Check the path and its permissions.") from None


def _unpacked(stored: bytes, name: str, error: type[BadInput]) -> bytes:
    try:
        return gzip.decompress(stored)
    except EOFError:
        raise error(f"{name} is a truncated gzip file. Download or copy it again.") from None
    except (OSError, zlib.error):
        raise error(f"{name} is a damaged gzip file. Download or copy it again.") from None


def _check_memory(path: Path) -> None:
    """Refuse before starting what would not fit."""
    size, memory = path.stat().st_size, _physical_memory()
    if memory and _MEMORY_PER_BYTE * size > memory:
        raise TooLarge(
            f"{path.name} has {size / 2**30:.1f} GiB, reading it takes about {_MEMORY_PER_BYTE} times that, "
            f"and this machine has {memory / 2**30:.1f} GiB of memory. Take a part or a larger machine."
        )


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 0
