"""Which two columns of a table hold an edge, and whether its first line is a header.

Both are decided by comparing the first line with the lines below it. Where nothing tells, the table is refused and the
caller is told which option settles it: a header that is read as an edge would be two people who do not exist.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from visibility_aware_edge_ldp.errors import BadGraph

Row = Sequence[str]

# Words that stand above the two ends of an edge, without "id", "name" and the like around them.
END_WORDS = (
    "source target", "src dst", "src dest", "src tgt", "from to", "u v", "ego alter", "person contact", "person friend",
    "user friend", "user contact", "user follower", "follower followee", "follower followed", "follower following",
    "member friend", "respondent nominee", "respondent contact", "respondent alter", "case contact",
    "infector infectee", "sender receiver", "sender recipient", "payer payee", "buyer seller", "caller callee",
    "origin destination", "start end", "tail head", "parent child", "author coauthor", "citing cited", "person partner",
    "me friend", "self other", "name friend", "name contact", "person place", "person venue", "visitor place",
    "visitor venue", "patient place",
    "node neighbor", "node neighbour", "vertex neighbor", "vertex neighbour", "i j", "x y",
)  # fmt: skip
_PAIRS = tuple(tuple(pair.split()) for pair in END_WORDS)
_NUMBERED = (("1", "2"), ("a", "b"), ("i", "j"), ("x", "y"), ("from", "to"), ("source", "target"), ("left", "right"))
_ROUND_IT = {"id", "ids", "name", "names", "code", "nr", "no", "num", "number", "key", "uuid", "label", "node", "index"}
# Words that stand above what is known of an edge, which is not read.
_ABOUT_AN_EDGE = {
    "weight", "weights", "w", "time", "timestamp", "date", "day", "days", "duration", "count", "counts", "strength",
    "type", "kind", "sign", "rating", "amount", "cost", "value", "wave", "year", "month", "frequency", "closeness",
    "relation", "relationship", "edge", "edgeid", "row", "rownames", "id", "index", "key", "label", "distance", "n",
    "score",
}  # fmt: skip
_MISSING = {"", "na", "nan", "n/a", "null", "none"}
_EGOR = ({"egoid", "altid"}, {"egoid", "srcid", "tgtid"})
_CANVAS_ENDS = ("networkcanvassourceuuid", "networkcanvastargetuuid")


@dataclass(frozen=True)
class TableOptions:
    """How a table of edges is laid out, where its reader shall not decide that.

    Parameters
    ----------
    columns
        The two columns that hold an edge: their names, or their numbers from 1.
    header
        Whether the first line is a header; None to decide by comparing it with the others.
    delimiter
        What separates the columns of a text file, one character; None to see.
    """

    columns: tuple[str | int, str | int] | None = None
    header: bool | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if self.columns is not None:
            chosen = tuple(self.columns.split(",")) if isinstance(self.columns, str) else tuple(self.columns)
            if len(chosen) != 2 or chosen[0] == chosen[1]:
                raise BadGraph("`columns` must name two different columns, such as FROM,TO or 1,3.")
            object.__setattr__(self, "columns", chosen)
        if self.delimiter is not None:
            mark = {"tab": "\t", "\\t": "\t", "space": " "}.get(self.delimiter, self.delimiter)
            if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n':
                raise BadGraph(f"The delimiter must be one character such as , ; | or tab; got {self.delimiter!r}.")
            object.__setattr__(self, "delimiter", mark)

    def named_columns(self, header: Row) -> tuple[int, int] | None:
        """The places of the two columns that were asked for, or None where none were."""
        if self.columns is None:
            return None
        i, j = (_place(column, header) for column in self.columns)
        if i == j:
            raise BadGraph("`columns` names the same column twice.")
        return i, j

    @property
    def by_name(self) -> bool:
        """Whether a column was asked for by its name, which only a header can tell."""
        return any(isinstance(column, str) and not column.strip().isdigit() for column in self.columns or ())


def _place(column: str | int, header: Row) -> int:
    names = [name.strip() for name in header]
    text = str(column).strip()
    if text in names:
        return names.index(text)
    if text.isdigit() and 1 <= int(text) <= len(names):
        return int(text) - 1
    raise BadGraph(f"There is no column {text!r}. The table has: {', '.join(names)}. Name two, or count them from 1.")


def is_word(name: str | bytes) -> bool:
    """Whether a name is not a number of any kind, "nan" included."""
    try:
        float(name)
    except ValueError:
        return True
    return False


def plain(title: str) -> str:
    """A column's name without capitals, dots and blanks."""
    return re.sub(r"[^a-z0-9]", "", title.lower())


def known_columns(header: Row) -> tuple[int, int] | None:
    """The two columns whose names say that they hold the ends of an edge, or None."""
    joined = [plain(name) for name in header]
    if all(end in joined for end in _CANVAS_ENDS):
        return joined.index(_CANVAS_ENDS[0]), joined.index(_CANVAS_ENDS[1])
    stems = [_stem(name) for name in header]
    for left, right in _PAIRS:
        if (left,) in stems and (right,) in stems:
            return stems.index((left,)), stems.index((right,))
    whole = [tuple(_parts(name)) for name in header]
    for i, parts in enumerate(whole):
        for j, others in enumerate(whole):
            if len(parts) > 1 and parts[:-1] == others[:-1] and (parts[-1], others[-1]) in _NUMBERED:
                return i, j
            if len(parts) > 1 and parts[1:] == others[1:] and (parts[0], others[0]) in _NUMBERED:
                return i, j
    letters = (("a",), ("b",))
    return (stems.index(letters[0]), stems.index(letters[1])) if set(letters) <= set(stems) else None


def _parts(name: str) -> list[str]:
    """The words and numbers of a column's name: "user_ID2" is user, id, 2."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return re.findall(r"[a-z]+|[0-9]+", spaced.lower())


def _stem(name: str) -> tuple[str, ...]:
    """A column's name without "id" and the like; all of it where nothing else is there."""
    parts = _parts(name)
    if len(parts) == 1 and parts[0].endswith("id") and len(parts[0]) > 2:
        parts = [parts[0][:-2]]  # userid, egoid
    return tuple(part for part in parts if part not in _ROUND_IT) or tuple(parts)


def choose_columns(header: Row, source: str) -> tuple[int, int]:
    """The two columns under a header that hold an edge; refused where the names do not tell."""
    refuse_known_tables(header, source)
    named = known_columns(header)
    if named is not None:
        return named
    left = [i for i, name in enumerate(header) if not _is_about_an_edge(name)]
    if len(left) != 2 and len(header) == 2:
        left = [0, 1]
    if len(left) != 2:
        raise BadGraph(
            f"{source} has the columns {', '.join(map(repr, header))}, and their names do not say which two hold an "
            "edge. Name them: --columns FROM,TO (in Python, columns=(…, …))."
        )
    return left[0], left[1]


def _is_about_an_edge(name: str) -> bool:
    return not name.strip() or "".join(_parts(name)) in _ABOUT_AN_EDGE


def refuse_known_tables(header: Row, source: str) -> None:
    """Refuse by name the tables of other programs whose rows are not edges between people of one list."""
    names = set(map(plain, header))
    if any(mark <= names for mark in _EGOR):
        raise BadGraph(
            f"{source} is an egor table: its alters are numbered within each ego, so that the same number is another "
            "person in the next row. Read it as an ego survey with a list of people: --roster people.csv (in Python, "
            "read_ego_survey)."
        )
    if any("networkcanvas" in name for name in names) and not set(_CANVAS_ENDS) <= names:
        raise BadGraph(
            f"{source} is a Network Canvas list of people, not of ties. Give the edge list of the same export, the "
            "file whose name ends in edgeList.csv or that has networkCanvasSourceUUID."
        )


def is_header(first: Row, body: Sequence[Row], ends: tuple[int, int], repeated: bool) -> bool | None:
    """Whether the first line is a header and not an edge; None where nothing tells.

    Parameters
    ----------
    first, body
        The fields of the first line, and of lines below it.
    ends
        The columns that hold an edge.
    repeated
        Whether one of the two names in the first line stands in the ends of another line too.
    """
    if not body or not all(is_word(first[end]) for end in ends) or first[ends[0]] == first[ends[1]]:
        return False
    numbers = [column for column in range(len(first)) if _all_numbers(body, column)]
    above_numbers = any(is_word(first[c]) and first[c].strip().lower() not in _MISSING for c in numbers)
    if above_numbers:
        return None if repeated else True
    others = [c for c in range(len(first)) if c not in ends]
    if repeated or any(_value(row, c) == first[c] != "" for row in body for c in others):
        return False
    if any(not is_word(first[c]) for c in numbers if c not in ends):
        return False
    return _by_looks([first[end] for end in ends], [_value(row, end) for row in body for end in ends])


def _by_looks(first: list[str], names: list[str]) -> bool | None:
    """Whether two names above others that they are not among look like a header's."""
    if {_skeleton(name) for name in first if _has_digit(name)} & set(map(_skeleton, names)):
        return False  # p001 above p002
    if known_columns(first) is not None:
        return True if any(len(name) > 1 for name in [*first, *names]) else None
    marks = (_has_digit, _has_capital, _has_sign)
    return True if any(all(map(mark, names)) and not any(map(mark, first)) for mark in marks) else None


def _skeleton(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _has_digit(name: str) -> bool:
    return any(letter.isdigit() for letter in name)


def _has_capital(name: str) -> bool:
    return name[:1].isupper()


def _has_sign(name: str) -> bool:
    return any(not letter.isalnum() for letter in name)


def _all_numbers(body: Sequence[Row], column: int) -> bool:
    values = [value for row in body if (value := _value(row, column)).lower() not in _MISSING]
    return bool(values) and not any(map(is_word, values))


def _value(row: Row, column: int) -> str:
    return row[column] if column < len(row) else ""


def ambiguous_header(first: Row, repeated: bool, source: str) -> BadGraph:
    """The refusal of a table whose first line may be a header or an edge."""
    why = "its words stand above numbers, but are names below too" if repeated else "its names stand nowhere else in it"
    return BadGraph(
        f"The first line of {source} ({', '.join(first[:4])}) may be a header or an edge: {why}. "
        "Say which: --header or --no-header (in Python, header=True or False)."
    )
