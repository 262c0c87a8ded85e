"""The tables of an ego survey, as egor and Network Canvas export them: who was asked, whom each named, who knows whom.

Read are egor's three tables (egos, alters, ties between alters; also as EgoWeb and openeddi call their columns), its
two-file and one-file shapes, and Network Canvas's CSV and GraphML exports: a folder, a ZIP archive or single files.
Tables are known by their columns, not by their files' names.
"""

import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.header import plain
from visibility_aware_edge_ldp.truth.text_file import load_bytes

Row = Mapping[str, str]
EGO, ALTER, TIE = "egos", "alters", "ties between alters"
_EGO_IDS = ("networkcanvasegouuid", "egoid", "puid", "ego")
_ALTER_IDS = ("networkcanvasuuid", "altid", "alterid", "alternumber", "nameid")
_SOURCES = ("networkcanvassourceuuid", "srcid", "source", "alter1number", "nameid")
_TARGETS = ("networkcanvastargetuuid", "tgtid", "target", "alter2number", "targetid")
_SIZES = ("netsize", "networksize")
_MISSING = ("", "na", "nan", "null")
_PAIR = re.compile(r"X?(\d+)\.to\.(\d+)")
_SLOT = re.compile(r"(.+?)[._](\d+)")
_CASE_ID = "networkCanvasCaseID"
_ENDINGS = (".csv", ".tsv", ".txt", ".graphml", ".gz")
# Network Canvas writes a quote before what a spreadsheet would take for a formula.
_GUARDED = ("'=", "'+", "'-", "'@", "'\t")
# What an archive may unpack to: far more than any survey holds.
_MOST_OCTETS = 1 << 30
_NO_TABLE = (
    "no table of an ego survey: none has a column such as .egoID, egoID or networkCanvasEgoUUID. "
    "Name the file of a graph, or what egor or Network Canvas wrote, as CSV or GraphML."
)


@dataclass(frozen=True)
class EgoTables:
    """An ego survey as it was exported. Private.

    Parameters
    ----------
    egos
        What is known of each person who was asked, by its key in the survey.
    alters
        Whom each ego named: the ego's key, the alter's key with this ego, and what is known of the alter.
    ties
        Which alters know each other, as their ego sees it: the ego's key, and two alters' keys.
    """

    egos: Mapping[str, Row] = field(repr=False)
    alters: Sequence[tuple[str, str, Row]] = field(repr=False)
    ties: Sequence[tuple[str, str, str]] = field(repr=False)


@dataclass(frozen=True)
class _Table:
    name: str
    header: list[str]
    rows: list[Row] = field(repr=False)

    def column(self, names: Sequence[str]) -> str | None:
        """The first of these columns that the table has, whatever its capitals and dots."""
        known = {plain(title): title for title in self.header}
        return next((known[name] for name in names if name in known), None)


def open_tables(source: str | Path | Iterable[str | Path]) -> EgoTables:
    """The tables of a survey: a folder, a ZIP archive, a file, or several files."""
    paths = [Path(source)] if isinstance(source, (str, Path)) else [Path(each) for each in source]
    tables = [table for path in paths for table in _tables_in(path.expanduser())]
    found = {kind: [table for table in tables if _kind(table) == kind] for kind in (EGO, ALTER, TIE)}
    if not found[EGO] and not found[ALTER]:
        raise BadGraph(f"{paths[0].name} holds {_NO_TABLE}")
    return _joined(found[EGO], found[ALTER], found[TIE])


def _tables_in(path: Path) -> list[_Table]:
    """All tables at a path; refuses a folder without a survey, or with a file that cannot be read."""
    if not path.is_dir():
        return [table for name, data in _files(path) for table in _tables(name, data)]
    tables, refusals = list[_Table](), list[BadGraph]()
    for each in sorted(path.rglob("*")):
        if each.is_file() and each.name.lower().endswith(_ENDINGS):
            try:
                tables += _tables_in(each)
            except BadGraph as refusal:
                refusals.append(refusal)
    if not any(map(_kind, tables)):
        unread = f" One of its files was not read: {refusals[0]}" if refusals else ""
        raise BadGraph(f"{str(path)!r} is a folder that holds {_NO_TABLE}{unread}")
    if refusals:
        raise refusals[0]
    return tables


def _tables(name: str, data: bytes) -> list[_Table]:
    return _graphml(name, data) if b"<graphml" in data[:4096].lower() else _csv(name, data)


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The name and bytes of a file, or of all tables in an archive."""
    data = load_bytes(path, BadGraph).data
    if not data.startswith(b"PK\x03\x04"):
        yield path.name, data
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [each for each in archive.infolist() if each.filename.lower().endswith(_ENDINGS[:-1])]
            if sum(each.file_size for each in members) > _MOST_OCTETS:
                raise BadGraph(f"{path.name} unpacks to more than 1 GB, which no survey does. Unpack it yourself.")
            for member in sorted(members, key=lambda one: one.filename):
                yield Path(member.filename).name, archive.read(member)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as reason:
        raise BadGraph(f"{path.name} cannot be unpacked ({reason}). Unpack it and give the folder.") from None


def _csv(name: str, data: bytes) -> list[_Table]:
    """A text table, with whatever separates its columns; none where it is empty or a matrix of ties."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadGraph(f"{name} is not UTF-8 text. Save it again as CSV, UTF-8.") from None
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if any(row)] or [[]]
    titles = [title.strip() for title in header]
    wrong = next((number for number, row in enumerate(rows, 2) if len(row) != len(titles)), None)
    if wrong is not None and _kind(_Table(name, titles, [])):
        raise BadGraph(
            f"Row {wrong} of {name} has {len(rows[wrong - 2])} values for {len(titles)} columns; complete it."
        )
    return [_Table(name, titles, [_row(titles, row) for row in rows])] if titles else []


def _row(titles: Sequence[str], values: Sequence[str]) -> Row:
    stripped = (value.strip() for value in values)
    return dict(zip(titles, (each[1:] if each.startswith(_GUARDED) else each for each in stripped), strict=False))


def _kind(table: _Table) -> str:
    """Which of a survey's tables this is, by its columns; nothing for any other table."""
    if table.column(_EGO_IDS) is None:
        return ""
    source, target = table.column(_SOURCES), table.column(_TARGETS)
    if source is not None and target is not None:
        return TIE
    return EGO if _of_people(table) or table.column(_ALTER_IDS) is None else ALTER


def _of_people(table: _Table) -> bool:
    """Whether a Network Canvas table is of those who were asked, whatever else its protocol calls a column."""
    return table.column((plain(_CASE_ID),)) is not None and table.column(("nodeid", "networkcanvasuuid")) is None


def _graphml(name: str, data: bytes) -> list[_Table]:
    """Network Canvas's GraphML: a graph for each ego, whose own values are data of the graph."""
    if b"<!doctype" in data[:4096].lower() or b"<!entity" in data.lower():
        raise BadGraph(f"{name} declares entities, which GraphML does not need. Export it again.")
    try:
        root = ElementTree.fromstring(data)  # noqa: S314 - what declares entities is refused above
    except ElementTree.ParseError as reason:
        raise BadGraph(f"{name} is damaged or cut off: {reason}. Export it again.") from None
    space = root.tag.rpartition("}")[0] + "}" if "}" in root.tag else ""
    keys = {each.get("id", ""): each.get("attr.name", "") for each in root.iter(f"{space}key")}

    def values(element: ElementTree.Element) -> dict[str, str]:
        told = ((each.get("key", ""), (each.text or "").strip()) for each in element.findall(f"{space}data"))
        return {keys.get(key) or key: text for key, text in told}

    egos, alters, ties = list[Row](), list[Row](), list[Row]()
    for number, graph in enumerate(root.findall(f"{space}graph")):
        about = {name.rpartition("}")[2]: value for name, value in graph.attrib.items()}
        own = values(graph)
        ego = own.pop("networkCanvasUUID", "") or about.get("sessionUUID") or f"{name} {number}"
        egos.append({"networkCanvasEgoUUID": ego, _CASE_ID: about.get("caseId", ""), **own})
        key = {"networkCanvasEgoUUID": ego}
        alters += [
            {**values(node), **key, "networkCanvasUUID": node.get("id", "")} for node in graph.findall(f"{space}node")
        ]
        ties += [
            {
                **key,
                "networkCanvasSourceUUID": edge.get("source", ""),
                "networkCanvasTargetUUID": edge.get("target", ""),
            }
            for edge in graph.findall(f"{space}edge")
        ]
    made = (
        (EGO, egos, (_CASE_ID,)),
        (ALTER, alters, ("networkCanvasUUID",)),
        (TIE, ties, ("networkCanvasSourceUUID", "networkCanvasTargetUUID")),
    )
    return [
        _Table(f"{name}, {kind}", _titles([dict.fromkeys(("networkCanvasEgoUUID", *first), ""), *rows]), rows)
        for kind, rows, first in made
    ]


def _titles(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(title for row in rows for title in row))


def _joined(egos: Sequence[_Table], alters: Sequence[_Table], ties: Sequence[_Table]) -> EgoTables:
    """One survey from tables of all egos together, or of each ego by itself."""
    people: dict[str, Row] = {}
    named: list[tuple[str, str, Row]] = []
    known: list[tuple[str, str, str]] = []
    order = defaultdict[str, list[str]](list)
    for table in alters:
        whose, key = table.column(_EGO_IDS) or "", table.column(_ALTER_IDS) or ""
        for row in table.rows:
            order[row[whose]].append(row[key])
            named.append((row[whose], row[key], row))
    for table in egos:
        whose = table.column(_EGO_IDS) or ""
        for row in table.rows:
            if row[whose] in people:
                raise BadGraph(f"{table.name} has two rows for the ego {row[whose]!r}. Keep one row for each.")
            people[row[whose]] = row
            slots = [] if alters else list(_slots(table, row))
            named += [(row[whose], slot, each) for slot, each in slots]
            order[row[whose]] += [slot for slot, _ in slots]
            known += [(row[whose], *ends) for ends in _pairs(row, order[row[whose]], bool(alters))]
    for table in ties:
        whose, source, target = (table.column(names) or "" for names in (_EGO_IDS, _SOURCES, _TARGETS))
        known += [(row[whose], row[source], row[target]) for row in table.rows]
    for ego, _, _ in named:
        people.setdefault(ego, {})
    return EgoTables(people, named, known)


def _slots(table: _Table, row: Row) -> Iterator[tuple[str, Row]]:
    """The alters in the row of their ego: columns such as name.1, name.2; slots without any value are empty."""
    found = defaultdict[str, dict[str, str]](dict)
    for title in table.header:
        if (slot := _SLOT.fullmatch(title)) and not _PAIR.fullmatch(title):
            found[slot[2]][re.sub(r"^alter[._]", "", slot[1])] = row[title]
    size = table.column(_SIZES)
    most = int(row[size]) if size is not None and row[size].isdecimal() else len(found)
    for place, values in found.items():
        if int(place) <= most and any(value.lower() not in _MISSING for value in values.values()):
            yield place, values


def _pairs(row: Row, order: Sequence[str], by_place: bool) -> Iterator[tuple[str, str]]:
    """Which alters know each other by columns such as X1.to.2; of another file's alters by their place in it."""
    for title, value in row.items():
        if (pair := _PAIR.fullmatch(title)) and value.lower() not in (*_MISSING, "0"):
            if not by_place:
                yield pair[1], pair[2]
            elif max(int(pair[1]), int(pair[2])) <= len(order):
                yield order[int(pair[1]) - 1], order[int(pair[2]) - 1]
