"""What the commands share: their options, and how they read and print.

A terminal is given characters that its code page has, never a traceback, and an orderly end when it asks for one.
"""

from __future__ import annotations

import codecs
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module  # noqa: TID251 - which module a plugin is, only its user knows
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from visibility_aware_edge_ldp.simulation.worlds import Progress
    from visibility_aware_edge_ldp.truth.graph import Graph

GraphArgument = Annotated[
    str | None,
    typer.Argument(
        help="A file of edges, a dataset's name, or facebook-like, powerlaw:N,M, random:N,M. Default: Facebook.",
        show_default=False,
    ),
]
PolicyOption = Annotated[
    str,
    typer.Option(
        help="nothing, document-001, document-003, fractions:A,B,C, profiles:F (0.474: as in New York in 2011), "
        "hubs:K,epsilon=E (by noisy degrees), hubs:F (the true ones), or a policy.toml."
    ),
]
ScopeOption = Annotated[
    str | None,
    typer.Option(help="Ask and count only inside: lists, public, group:ATTRIBUTE, file:PATH, joined by | and &."),
]
RestOption = Annotated[
    str, typer.Option(help="Position, in a scope: leave what is not wholly inside, or sample:S of what lies outside.")
]
ShareOption = Annotated[
    str,
    typer.Option(help="User triangles or 4-cycles: the share of the first answers that each downloads, such as 0.01."),
]
DownloadOption = Annotated[
    str | None, typer.Option(help="User triangles or 4-cycles: about how much each user downloads, such as 10MB.")
]
AttributesOption = Annotated[
    str | None,
    typer.Option("--attributes", help="A CSV table of the nodes (column id), for group:ATTRIBUTE and --groups."),
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="User and position: a column of --attributes, such as year or year,least=100,missing=0, for statistics "
        "mixing, contacts, group_degrees, assortativity, ei_index, coleman, ergm_targets; position alone: "
        "triangles_by_group.",
    ),
]
StatisticsOption = Annotated[
    str | None,
    typer.Option(
        help="Comma-separated: edges, degrees, simultaneous_degrees, largest_degrees:K, max_degree, degree_histogram, "
        "triangles, transitivity, four_cycles, stars:K; all; summary. In summary: mean_degree, density, "
        "degree_variance, degree_centralization; user alone: isolates, concurrency, degree_quantile:Q, tail:T. "
        "User alone, too: clustering_by_degree, local_clustering. Position alone: three_paths, tailed_triangles, "
        "diamonds, four_cliques, spectral_radius, eigenvector_centrality. With --bipartite: people_degrees, "
        "place_degrees, butterflies."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
SeedOption = Annotated[int | None, typer.Option(help="Repeat a run exactly; such a run is not private.")]
TopOption = Annotated[int | None, typer.Option("--top", help="Use only the N nodes of highest degree.")]
ColumnsOption = Annotated[
    str | None, typer.Option("--columns", help="The two columns of a table that hold an edge: FROM,TO or 1,3.")
]
HeaderOption = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether a file's first line is a header. Default: compare and see."),
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="What separates columns: a character, or tab. Default: see.")
]
BipartiteOption = Annotated[
    bool,
    typer.Option("--bipartite", help="Of a file: the left column are people, the right one places they visit."),
]
RosterOption = Annotated[
    str | None,
    typer.Option(
        "--roster",
        help="Of an ego survey (folder, ZIP or file of egor or Network Canvas): the file of people, by id, name, code.",
    ),
]
TiesOption = Annotated[
    str | None,
    typer.Option("--ties", help="Of an ego survey: either (one end named the other), both, or perceived. [either]"),
]
# For the foot of ``--help``; the mark says that lines stay as they are.
START = """Where to start:

\b
va-edge-ldp estimate random:300,3000                      # one collection
va-edge-ldp compare --epsilons 1 --trials 2 --output out  # a report
va-edge-ldp plan --nodes 10000 --edges 200000             # which ε is needed"""
PLAIN = {
    "ε": "epsilon", "δ": "delta", "σ": "sigma", "Σ": "sum", "√": "sqrt", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=",
    "–": "-", "—": "-", "−": "-", "…": "...", "“": '"', "”": '"', "’": "'", "✓": "ok", "✗": "no", "∞": "infinite",
    "°": "o", "†": "+", "→": "->", "²": "2", "³": "3", "⁻": "-", "⁶": "6", "·": "*", "─": "-", "│": "|", "━": "-",
}  # fmt: skip
_HANDLER = "visibility_aware_edge_ldp.plain"


def load_plugin(named: str) -> None:
    """Import a module by its name, or a Python file by its path, for the sake of what it registers."""
    path = Path(named)
    if path.suffix == ".py" and not path.is_file():
        raise BadInput(f"There is no file {named} to load as a plugin. Give a module's name or a .py file.")
    try:
        if path.suffix != ".py":
            import_module(named)
            return
        # Last, so that nothing else in its folder stands in for a module of Python or of this package. Processes that
        # a comparison starts are given the same list of folders, and find it too.
        sys.path.append(str(path.resolve().parent))
        found = import_module(path.stem).__file__
    except VaEdgeLdpError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadInput(
            f"The plugin {named!r} cannot be loaded: {reason}. Give a module's name or a .py file."
        ) from error
    if found is None or not path.exists() or not path.samefile(found):
        raise BadInput(f"The plugin {named!r} has the name of another module, {found}; rename the file.")


def open_named(text: str | None, top: int | None, quiet: bool, **table: Any) -> Graph:
    """The graph that is called so, with notes on stderr; ``table``: columns, header, delimiter of a file."""
    from visibility_aware_edge_ldp.dataset import default_graph, open_graph

    if text is None and table.get("bipartite"):
        raise BadInput("--bipartite needs a file with a person and a place on each line; name one.")
    graph, stand_in = default_graph() if text is None else (open_graph(text, **table), False)
    notes = list(graph.notes)
    if stand_in:
        notes.append(
            "The real Facebook graph is not here; this is a synthetic one like it. "
            "Get the real one with: va-edge-ldp datasets fetch facebook"
        )
    if top is not None:
        if not 2 <= top <= graph.n:
            raise BadInput(f"--top must be between 2 and the graph's {graph.n:,} nodes; got {top}.")
        graph = graph.highest_degree(top)
    if not quiet:
        for note in notes:
            typer.echo(f"Note: {note}", err=True)
    return graph


def say_what_was_read(text: str | None, graph: Graph, quiet: bool) -> None:
    """On stderr, whether a file was read as it was meant: "3 people, 2 ties; first: ann – bob", or with places.

    Said once all arguments are known to be right, so that a refusal stays one sentence.
    """
    if text is None or quiet or not Path(text).is_file():
        return
    tie = "tie" if graph.people is None else "visit"
    people = f"{graph.n:,} people" if graph.people is None else graph.size
    counts = f"{people}, {graph.m:,} {tie}{'' if graph.m == 1 else 's'}"
    first = "" if not graph.m else f"; first: {' – '.join(str(graph.names[end]) for end in graph.edges[0])}"
    typer.echo(f"{graph.source}: {counts}{first}", err=True)


def say_need(octets: float, seconds: float = 0.0, hint: str = "", processes: int = 1, disk: float = 0) -> None:
    """Before a large run, one line: what it will need, what there is, and, where that is known, for how long."""
    from visibility_aware_edge_ldp.simulation.memory import available_bytes, disk_folder, free_disk, size
    from visibility_aware_edge_ldp.simulation.runtime_forecast import LARGE, LONG

    if octets > processes * LARGE or seconds > LONG or disk:
        needed = [f"up to {size(octets)} of memory ({size(available_bytes())} are free)"]
        if disk:
            needed.append(f"{size(disk)} of files in {disk_folder()} ({size(free_disk())} are free)")
        lasting = f" and about {duration(seconds)}" if seconds else ""
        typer.echo(f"This needs {', '.join(needed)}{lasting}.{f' {hint}' if hint else ''}", err=True)


def duration(seconds: float) -> str:
    """In words, as exactly as it is known."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def about(graph: Graph) -> dict[str, Any]:
    """What is told of a graph in JSON: where it is from, how many nodes, notes, and its public groups if it has any."""
    told = {"source": graph.source, "nodes": graph.n, "notes": list(graph.notes)}
    told |= {} if graph.people is None else {"people": graph.people, "places": graph.n - graph.people}
    if (known := graph.groups) is None:
        return told
    return {**told, "groups": known.about}


def print_json(name: str, content: Mapping[str, Any], line: bool = False) -> None:
    """Print a command's JSON document, which begins with the schema of this name."""
    from visibility_aware_edge_ldp.presentation.files import json_text

    # Plain characters would be other names; JSON has a way to write them all.
    typer.echo(json_text(name, content, plain=not speaks_unicode(sys.stdout), line=line))


def estimate_table(answers: Any, truths: Mapping[str, str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows of estimates; with the true values where they are shown."""
    head = ("statistic", "estimate", "± s.e.", "95 % interval")
    if not truths:
        return head, answers.rows()
    return (*head, "true value"), [(*row, truths[name]) for name, row in zip(answers, answers.rows(), strict=True)]


def print_table(title: str, head: tuple[str, ...], rows: Any) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    words = {"statistic", "name", "where", "what", "trust", "note"}
    table, rows = Table(), list(rows)
    # On a narrow terminal other columns are folded first: a name that is typed stays whole.
    typed_names = not any(" " in row[0] for row in rows)
    for place, name in enumerate(head):
        justify: Literal["left", "right"] = "left" if name in words else "right"
        table.add_column(name, justify=justify, no_wrap=typed_names and place == 0)
    for row in rows:
        table.add_row(*map(Text, row))  # as it stands: what is in brackets is no style
    typer.echo(title)
    Console().print(table)


@contextmanager
def progress_bar(what: str, counted: bool = True) -> Iterator[Progress]:
    """How much is done and how long the rest will take, on a terminal; things are ``counted``, or shares are shown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    done_of_all = MofNCompleteColumn() if counted else TaskProgressColumn()
    columns = (TextColumn(what), BarColumn(), done_of_all, TimeRemainingColumn(), TextColumn("left"))
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def typed() -> str:
    return shlex.join(["va-edge-ldp", *sys.argv[1:]])


def to_type(command: str, *words: str | None, **options: object) -> str:
    """A command as it is typed; what is None or empty is left out."""
    named = (text for name, value in options.items() if value for text in (f"--{name}", str(value)))
    return shlex.join(["va-edge-ldp", command, *filter(None, words), *named])


def try_next(steps: Mapping[str, str], lines: int, head: str = "Try next:") -> list[str]:
    """For somebody who is new here: what to type next and why, in at most so many lines; each can be copied."""
    shown = dict(list(steps.items())[: max(lines - 1, 0)])
    width = max(map(len, shown), default=0)
    return [head, *(f"  {command.ljust(width)}  # {why}" for command, why in shown.items())] if shown else []


def print_tour(meaning: str, steps: Mapping[str, str]) -> None:
    """What the numbers mean, and what to type next and why."""
    from rich.console import Console

    Console(markup=False, highlight=False).print(f"\nWhat it means: {meaning}")
    typer.echo("\n".join(try_next(steps, len(steps) + 1, "What to try next:")))


def print_findings(table: Any) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    printed = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    # Sentences come first; names beside them need less room, and room for their longest word.
    longest = max((len(word) for row in table.rows for word in row[1].split()), default=0)
    names: dict[int, dict[str, Any]] = {1: {"max_width": 20, "min_width": min(longest, 20)}}
    for place, name in enumerate(table.head):
        printed.add_column(name, justify="left" if place < table.words else "right", **names.get(place, {}))
    for row in table.rows:
        printed.add_row(*row)
    typer.echo(table.title)
    Console(markup=False, highlight=False).print(printed)
    print_words(*filter(None, [table.note]))


def print_words(*paragraphs: str) -> None:
    from rich.console import Console

    for text in paragraphs:
        Console(markup=False, highlight=False).print(text + "\n")


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
