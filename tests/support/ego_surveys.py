"""One small ego survey in every shape that is read, written here after the public documentation of each.

egor's tables: the names of the columns are those of ``threefiles_to_egor``, ``twofiles_to_egor``, ``onefile_to_egor``,
``read_egoweb`` and ``read_openeddi`` (https://rdrr.io/cran/egor/man/) and of an egor object itself
(https://github.com/tilltnet/egor/wiki). Network Canvas: "Data Export", "Data Dictionary" and "GraphML Format" of
https://documentation.networkcanvas.com.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

PEOPLE = """code,name,ward
p1,Ana Díaz,a
p2,Li Wei,a
p3,"O’Neill, Sam",b
p4,Zoë Król,b
p5,Jo Ann,b
p6,Jo-Ann,b
"""
# Ana names Li and Zoë, Li names Ana, Sam names somebody like Zoë, himself, Li, and a Jo Ann who may be two people.
NAMED = {
    "1": ("Ana Díaz", ("li wei", "Zoe Krol", "Nobody Known")),
    "2": ("Li Wei", ("Ana Diaz",)),
    "3": ("Sam O'Neill", ("Zoe Krohl", "sam o'neill", "p2", "Jo  Ann?", "Wei, Li")),
}
WEIGHTS = {"1": "1.5", "2": "2", "3": "4"}
NAMES = ("p1", "p2", "p3", "p4", "p5", "p6")
EITHER = [[0, 1], [0, 3], [1, 2]]
"""Ties that either end named: Ana–Li, Ana–Zoë, Li–Sam."""


def _lines(*rows: tuple[str, ...], mark: str = ",") -> str:
    quoted = ((f'"{cell}"' if mark in cell else cell for cell in row) for row in rows)
    return "".join(f"{mark.join(row)}\n" for row in quoted)


def _alters() -> list[tuple[str, str, str]]:
    return [(ego, str(n), name) for ego, (_, named) in NAMED.items() for n, name in enumerate(named, 1)]


def people(folder: Path) -> Path:
    path = folder / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return path


def _written(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def egor(folder: Path, ids: tuple[str, str, str, str] = (".egoID", ".altID", ".srcID", ".tgtID")) -> Path:
    """Three files; by ``ids`` as EgoWeb, openeddi, or ``threefiles_to_egor`` name their columns."""
    ego, alter, source, target = ids
    egos = _lines((ego, "name", "weight"), *((each, NAMED[each][0], WEIGHTS[each]) for each in NAMED))
    alters = _lines((ego, alter, "name"), *_alters())
    return _written(
        folder, egos=egos, alters=alters, aaties=_lines((ego, source, target, "weight"), ("1", "1", "2", "1"))
    )


def two_files(folder: Path) -> Path:
    """Egos with their alters' ties in columns X1.to.2; semicolons, as R's write.csv2."""
    egos = _lines(
        ("egoID", "name", "weight", "X1.to.2", "X1.to.3"),
        *((each, NAMED[each][0], WEIGHTS[each].replace(".", ","), "1" if each == "1" else "", "0") for each in NAMED),
        mark=";",
    )
    return _written(folder, egos=egos, alters=_lines(("egoID", "alterID", "name"), *_alters(), mark=";"))


def one_file(folder: Path) -> Path:
    """A row for each ego, with name.1 to name.5 for its alters."""
    most = max(len(named) for _, named in NAMED.values())
    title = ("egoID", "name", "weight", "netsize", *(f"alter.name.{n + 1}" for n in range(most)), "X1.to.2")
    rows = [
        (ego, own, WEIGHTS[ego], str(len(named)), *named, *[""] * (most - len(named)), "3" if ego == "1" else "NA")
        for ego, (own, named) in NAMED.items()
    ]
    return _written(folder, one_file=_lines(title, *rows))


def network_canvas(folder: Path, *, merged: bool = False) -> Path:
    """CSV files of each session, or of all sessions together; alters' numbers begin anew in each session."""
    head = (
        "networkCanvasEgoUUID",
        "networkCanvasCaseID",
        "networkCanvasSessionID",
        "networkCanvasProtocolName",
        "weight",
    )
    egos, alters, ties = {}, {}, {}
    for ego, (own, named) in NAMED.items():
        egos[ego] = [(f"uuid-{ego}", own, f"session-{ego}", "friends", WEIGHTS[ego])]
        alters[ego] = [(str(n), f"uuid-{ego}", f"alter-{ego}-{n}", name) for n, name in enumerate(named, 1)]
        ties[ego] = []
    ties["1"] = [("1", "1", "2", "uuid-1", "edge-1", "alter-1-1", "alter-1-2")]
    tables = {
        "ego": (head, egos),
        "attributeList_Person": (("nodeID", "networkCanvasEgoUUID", "networkCanvasUUID", "name"), alters),
        "edgeList_Knows": (
            ("edgeID", "from", "to", "networkCanvasEgoUUID", "networkCanvasUUID", "networkCanvasSourceUUID",
             "networkCanvasTargetUUID"),
            ties,
        ),
    }  # fmt: skip
    files = {}
    for kind, (title, rows) in tables.items():
        if merged:
            files[kind] = _lines(title, *(row for each in rows.values() for row in each))
        else:
            files |= {f"case{ego}_session{ego}_{kind}": _lines(title, *each) for ego, each in rows.items()}
    files["case1_session1_adjacencyMatrix_Knows"] = _lines(("", "alter-1-1", "alter-1-2"), ("alter-1-1", "0", "1"))
    return _written(folder, **files)


def network_canvas_graphml(folder: Path) -> Path:
    """A graph for each session; the ego's values are data of the graph, and a variable's key is its UUID."""
    graphs = []
    for ego, (own, named) in NAMED.items():
        nodes = "".join(
            f'<node id="{n}"><data key="networkCanvasUUID">alter-{ego}-{n}</data><data key="label">{name}</data></node>'
            for n, name in enumerate(named, 1)
        )
        edge = (
            '<edge id="e1" source="1" target="2"><data key="networkCanvasUUID">edge-1</data></edge>'
            if ego == "1"
            else ""
        )
        graphs.append(
            f'<graph edgedefault="undirected" nc:caseId="{own}" nc:sessionUUID="session-{ego}">'
            f'<data key="networkCanvasUUID">uuid-{ego}</data><data key="9a41">{WEIGHTS[ego]}</data>'
            f"{nodes}{edge}</graph>"
        )
    folder.mkdir(exist_ok=True)
    (folder / "sessions.graphml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns" '
        'xmlns:nc="http://schema.networkcanvas.com/xmlns"><key id="label" for="all" attr.name="label"/>'
        '<key id="networkCanvasUUID" for="all" attr.name="networkCanvasUUID"/>'
        f'<key id="9a41" for="graph" attr.name="weight"/>{"".join(graphs)}</graphml>',
        encoding="utf-8",
    )
    return folder


def zipped(folder: Path) -> Path:
    """The same files in an archive."""
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for each in sorted(folder.iterdir()):
            archive.write(each, f"export/{each.name}")
    return path


SHAPES = {
    "egor": egor,
    "threefiles_to_egor": lambda folder: egor(folder, ("egoID", "alterID", "Source", "Target")),
    "EgoWeb": lambda folder: egor(folder, ("EgoID", "Alter Number", "Alter 1 Number", "Alter 2 Number")),
    "openeddi": lambda folder: egor(folder, ("puid", "nameid", "nameid", "targetid")),
    "two files": two_files,
    "one file": one_file,
    "Network Canvas": network_canvas,
    "Network Canvas, merged": lambda folder: network_canvas(folder, merged=True),
    "Network Canvas GraphML": network_canvas_graphml,
    "Network Canvas, zipped": lambda folder: zipped(network_canvas(folder)),
}
"""How the survey is written, by what wrote it."""
