"""A text file: its bytes, unpacked if they are gzipped, or one sentence on why not; and the table of edges in it.

Of a table: its separator, its two columns of names, and whether its first line is a header.
"""

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from visibility_aware_edge_ldp.errors import BadGraph, BadInput, TooLarge
from visibility_aware_edge_ldp.truth import header
from visibility_aware_edge_ldp.truth.header import TableOptions

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Text, integers and sort keys of an edge list together, measured.
_MEMORY_PER_BYTE = 6
# NumPy chooses how to open a file by its name alone.
_PACKED_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma"}
_SAMPLE = 200


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


@dataclass(frozen=True)
class TextTable:
    """The bytes, and how their first data line is laid out.

    ``path`` is set when NumPy may open the file by name, where it is twice as fast as from memory.
    """

    data: bytes = field(repr=False)
    source: str
    path: Path | None
    skip: int  # lines before the first data line
    start: int  # the byte where that line begins
    first: bytes = field(repr=False)
    notes: tuple[str, ...]
    options: TableOptions

    @classmethod
    def of(cls, raw: RawText, path: Path, options: TableOptions) -> "TextTable":
        data, by_name = raw.data, raw.is_plain
        if b"\n" not in data and b"\r" in data:
            data, by_name = data.replace(b"\r", b"\n"), False
        matrix = data.startswith(b"%%MatrixMarket")
        skip, start, first = _first_data_line(data, skip_one=matrix)
        if not first:
            raise BadGraph(f"{path.name} holds no edges. Give a file with two node names on each line.")
        notes = ("the size line of the Matrix Market file is not an edge",) if matrix else ()
        return cls(data, path.name, path if by_name else None, skip, start, first, notes, options)

    @property
    def separator(self) -> bytes | None:
        if self.options.delimiter:
            return self.options.delimiter.strip(" ").encode() or None
        return next((mark for mark in (b",", b";", b"\t") if mark in self.first), None)

    @property
    def fields(self) -> list[bytes]:
        return split_fields(self.first, self.separator)

    @cached_property
    def has_quotes(self) -> bool:
        return b'"' in self.data

    @cached_property
    def sample(self) -> list[list[str]]:
        """The fields of the first lines, the very first included."""
        return list(islice(self._rows(), _SAMPLE + 1))

    def _rows(self) -> Iterator[list[str]]:
        stream = io.BytesIO(self.data)
        stream.seek(self.start)
        for line in map(bytes.strip, stream):
            if is_data(line):
                yield [
                    name.decode("utf-8", "replace") for name in split_fields(line.partition(b" #")[0], self.separator)
                ]

    def rows_of_a_square(self) -> list[list[str]] | None:
        """All rows where there are about as many as columns, as in an adjacency matrix."""
        width = max(len(row) for row in self.sample[:2])
        if width < 3 or self.data.count(b"\n") > 2 * width + _SAMPLE:
            return None
        rows = list(self._rows())
        return rows if len(rows) > 2 and (abs(len(rows) - width) <= 1 or _zeros_and_ones(rows[1:])) else None

    @cached_property
    def may_be_header(self) -> bool | None:
        """Whether the first line is a header, as far as options and a sample of lines tell."""
        first, *body = self.sample
        if self.options.header is not None or self.options.by_name:
            return self.options.header is not False
        if len(first) < 2 or not body:
            return False
        if not first[0] and all(row[0] for row in body):
            return True  # a column of row numbers without a name
        ends = self.options.named_columns(first) or header.known_columns(first) or (0, 1)
        names = {row[end] for row in body for end in ends if end < len(row)}
        return header.is_header(first, body, ends, bool(names & {first[end] for end in ends}))

    @cached_property
    def columns(self) -> tuple[int, int]:
        """The two columns that hold an edge."""
        first = self.sample[0]
        if (asked := self.options.named_columns(first)) is not None:
            return asked
        if self.may_be_header is not False:
            header.refuse_known_tables(first, self.source)
        if len(first) <= 2 or self.may_be_header is False:
            return 0, 1
        if self.may_be_header is None:
            raise header.ambiguous_header(first, False, self.source)
        return header.choose_columns(first, self.source)

    def has_header(self, repeated: bool) -> bool:
        """Whether the first line is a header, when all lines were read; refused where nothing tells.

        ``repeated``: one of its two names stands in another line too.
        """
        verdict, sure = self.may_be_header, self.options.header is not None or self.options.by_name
        if verdict is None and repeated:
            return False
        if verdict is None or (verdict and repeated and not sure):
            raise header.ambiguous_header(self.sample[0], repeated, self.source)
        return verdict

    def refuse_adjacency_list(self) -> None:
        """Refuse lines of a person and all friends, of which only the first friend would be read."""
        rows = [_without_comment(row) for row in self.sample]
        _ = self.columns  # refuses what has no two columns of names
        if self.options.columns or self.may_be_header or max(map(len, rows)) < 3:
            return
        ends = {name for row in rows for name in row[:2]}
        others = [name for row in rows for name in row[2:]]
        ragged = len(set(map(len, rows))) > 1
        if (ragged and ends & set(others)) or (set(others) <= ends and all(map(header.is_word, others))):
            raise BadGraph(
                f"{self.source} seems to list a person and all friends on each line. Put one pair of names on each "
                "line, or say that only two columns hold the edge with --columns 1,2."
            )


def _without_comment(row: list[str]) -> list[str]:
    cut = next((i for i, name in enumerate(row) if name[:1] in ("#", "%")), len(row))
    return row[:cut]


def _zeros_and_ones(rows: list[list[str]]) -> bool:
    return all(name in ("0", "1") for row in rows[:_SAMPLE] for name in row)


def _first_data_line(data: bytes, *, skip_one: bool) -> tuple[int, int, bytes]:
    start = 0
    for number, line in enumerate(io.BytesIO(data)):
        if is_data(line.strip()):
            if not skip_one:
                return number, start, line.strip(b" \r\n\v\f")
            skip_one = False
        start += len(line)
    return 0, 0, b""


def is_data(line: bytes) -> bool:
    return bool(line) and line[0] not in b"#%"


def split_fields(line: bytes, separator: bytes | None) -> list[bytes]:
    """The fields of one line, quotes taken off; any white space separates where ``separator`` is None."""
    if b'"' not in line:
        return [name.strip() for name in line.split(separator)]
    mark = separator.decode() if separator else " "
    try:
        row = next(csv.reader([line.decode("utf-8", "surrogateescape")], delimiter=mark, skipinitialspace=True))
    except csv.Error as error:
        raise BadGraph(
            f"A line of the file is not text with node names: {error}. Give a text file of edges."
        ) from error
    return [name.strip().encode("utf-8", "surrogateescape") for name in row if name or separator]
