"""Theorems as pages: every .md beside the code becomes one, and every [FAMILY.n] a link to where it is stated.

Nothing is written twice: the pages under docs/proofs are made anew by each build and are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[2] / "src" / "visibility_aware_edge_ldp"
FOLDER = "proofs"
STATED = re.compile(r"^(\*\*|#+ )\[([A-Z]+\.\d+)\]", re.MULTILINE)
ONE = r"[A-Z]+\.\d+(?:[-–]\d+)?"
CITED = re.compile(rf"\[({ONE}(?:, {ONE})*)\](?!\()")
# Code is left as it is: fenced blocks, and spans but for those that name a theorem's file.
FENCE = re.compile(r"(^ *(`{3,}|:{3,}).*?^ *\2 *$)", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(`[^`\n]+`)")
# What leads to a theorem's file in the repository leads to its page on the site.
TO_SOURCE = re.compile(r"\]\((?:\.\./)+src/visibility_aware_edge_ldp/([\w/]+\.md)\)")


def theorem_files() -> dict[str, Path]:
    """The path of each theorem's file below the package, and the file."""
    return {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.md"))}


def page_name(file: str) -> str:
    """client/position.md → proofs/client-position."""
    return f"{FOLDER}/{file.removesuffix('.md').replace('/', '-')}"


def stated_theorems() -> set[str]:
    """Every theorem that some file states."""
    texts = (path.read_text(encoding="utf-8") for path in theorem_files().values())
    return {name for text in texts for _, name in STATED.findall(text)}


def label(theorem: str) -> str:
    """POSITION.1 → position-1, which a link can name."""
    return theorem.lower().replace(".", "-")


def with_links(text: str, known: set[str], files: dict[str, str]) -> str:
    """The page with a place to link to before each statement, and a link at each citation.

    ``files`` gives for what may stand between backticks the page that it means.
    """
    return _outside(FENCE, text, lambda prose: _outside(SPAN, _anchored(prose), _linked(known), _file_links(files)))


def _outside(code: re.Pattern[str], text: str, change: Callable[[str], str], inside: Callable[[str], str] = str) -> str:
    """The text with ``change`` done outside the code, and ``inside`` to the code."""
    parts, end = [], 0
    for found in code.finditer(text):
        parts += [change(text[end : found.start()]), inside(found.group(0))]
        end = found.end()
    return "".join([*parts, change(text[end:])])


def _anchored(prose: str) -> str:
    """The statement's own name becomes bold text with a target before it; the brackets stay."""
    return STATED.sub(lambda found: f"\n({label(found[2])})=\n{found[1]}\\[{found[2]}\\]", prose)


def _linked(known: set[str]) -> Callable[[str], str]:
    def one(name: str) -> str:
        first = re.split(r"[-–]", name)[0]
        return f"[{name}](#{label(first)})" if first in known else name

    def links(found: re.Match[str]) -> str:
        return "\\[" + ", ".join(one(name) for name in found[1].split(", ")) + "\\]"

    return lambda prose: CITED.sub(links, prose)


def _file_links(files: dict[str, str]) -> Callable[[str], str]:
    return lambda span: f"[{span}](/{files[span[1:-1]]}.md)" if span[1:-1] in files else span


def readable(file: str, text: str) -> str:
    """A theorem's file as a page: proofs begin on a line of their own, and the end says where it stands."""
    apart = re.sub(r"\n(?=\*(?:Proof|Proofs)\b)", "\n\n", text)
    return f"{apart.rstrip()}\n\n---\n\nThis page is `src/{SOURCE.name}/{file}`, which stands beside the code.\n"


def write_pages(app: Any, config: Any) -> None:
    """Copy the theorems to where Sphinx looks for pages, and remove those that are gone."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    wanted = {
        Path(app.srcdir) / f"{page_name(file)}.md": readable(file, path.read_text(encoding="utf-8"))
        for file, path in theorem_files().items()
    }
    for old in set(folder.glob("*.md")) - set(wanted):
        old.unlink()
    for page, text in wanted.items():
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def link_page(app: Any, name: str, content: list[str]) -> None:
    """Put the links in, as a page is read."""
    pages = {file: page_name(file) for file in theorem_files()}
    own = next((file for file, page in pages.items() if page == name), "")
    beside = {file.rpartition("/")[2]: page for file, page in pages.items() if own and _folder(file) == _folder(own)}
    text = TO_SOURCE.sub(lambda found: f"](/{page_name(found[1])}.md)", content[0])
    content[0] = with_links(text, stated_theorems(), {**beside, **pages})


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def link_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """The same in docstrings, which are reStructuredText."""
    known = stated_theorems()

    def links(found: re.Match[str]) -> str:
        names = found[1].split(", ")
        firsts = [re.split(r"[-–]", each)[0] for each in names]
        return ", ".join(
            f":ref:`[{each}] <{label(first)}>`" if first in known else f"[{each}]"
            for each, first in zip(names, firsts, strict=True)
        )

    lines[:] = [CITED.sub(links, line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("config-inited", write_pages)
    app.connect("source-read", link_page)
    app.connect("autodoc-process-docstring", link_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
