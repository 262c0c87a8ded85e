"""What the documentation shows, runs, and says what it really says; what it links to, is there.

Python blocks and ``console`` blocks of a page are run in order, in an empty folder. Lines below a ``$`` command, and a
``text`` block that follows a Python block, are compared with what was printed; a line that is only ``…`` stands for
any lines. A ``toml`` block that begins with ``# name.toml`` is put into that file. That the site builds is a step of
``make check`` of its own (``make docs``).
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import visibility_aware_edge_ldp as va
from conftest import DataFolder
from support.command import run_main
from visibility_aware_edge_ldp import cli
from visibility_aware_edge_ldp.truth.policy_file import KEYS

ROOT = Path(__file__).parent.parent
MADE_BY_THE_BUILD = {ROOT / "docs" / "proofs", ROOT / "docs" / "notebooks" / "pages"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not MADE_BY_THE_BUILD & set(page.parents)),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#]+)\)")
FACEBOOK = "facebook_combined.txt.gz"
ANY_LINES = "…"
WIDTH = "100"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its lines, and whether it stands right below the one before it."""

    language: str
    code: str
    follows: bool


def blocks_in(page: Path) -> list[Block]:
    text, end, found = page.read_text(encoding="utf-8"), -1, []
    for fence in FENCE.finditer(text):
        found.append(Block(fence[1], fence[2], end >= 0 and not text[end : fence.start()].strip()))
        end = fence.end()
    return found


def blocks(page: Path, language: str) -> list[str]:
    return [block.code for block in blocks_in(page) if block.language == language]


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if any(block.language in languages for block in blocks_in(page))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def commands(block: str) -> Iterator[tuple[str, str]]:
    """(command, what is shown below it) of a console block; a command may go on after a backslash."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        last = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :])


def says(real: str, shown: str) -> bool:
    """Whether the lines shown are the real ones; ``…`` alone on a line stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == ANY_LINES else re.escape(line.rstrip()) + r"\n"
        for line in shown.strip("\n").split("\n")
    )
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in real.strip("\n").split("\n"))) is not None


@dataclass
class Reader:
    """Somebody who types what a page shows, from top to bottom."""

    command: Callable[..., Any]
    names: dict[str, object]

    def python(self, code: str, page: Path) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), self.names)
        return printed.getvalue()

    def shell(self, command: str) -> str:
        words = shlex.split(command.replace("\\\n", ""))
        if words[0] == "va-edge-ldp" and not set("<>|") & set(words):
            said = self.command(*words[1:])
            assert said.code == 0, said.err
            return str(said.out)
        return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout

    def read(self, page: Path) -> None:
        printed = ""
        for block in blocks_in(page):
            if block.language == "python":
                printed = self.python(block.code, page)
            elif block.language == "toml" and (named := re.match(r"# (\w+\.toml)\n", block.code)):
                Path(named[1]).write_text(block.code, encoding="utf-8")
            elif block.language == "text" and block.follows and printed:
                assert says(printed, block.code), f"this is printed:\n{printed}"
            elif block.language == "console":
                for command, shown in commands(block.code):
                    real = self.shell(command)
                    assert not shown.strip() or says(real, shown), f"{command} prints:\n{real}"


@pytest.mark.parametrize("page", pages_with("python", "console"), ids=name_of)
def test_examples_run_and_print_what_is_shown(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    if any(FACEBOOK in block.code for block in blocks_in(page) if block.language in ("console", "text")):
        folder: DataFolder = request.getfixturevalue("data_folder")
        assert folder / FACEBOOK
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{Path('/usr/bin')}:{Path('/bin')}")
    Reader(lambda *words: run_main(monkeypatch, capsys, *words), {}).read(page)


def test_a_wrong_output_is_noticed() -> None:
    assert says("a\nb \nc\n", "a\n…\nc\n")
    assert says("a\n", "a\n…\n")
    assert not says("a\nb\n", "a\n")
    assert not says("a\nb\n", "a\n…\nc\n")
    assert not says("edges 12\n", "edges 13\n")
    assert list(commands("$ one \\\n  two\nshown\n$ three\n")) == [("one \\\n  two", "shown\n"), ("three", "")]


@pytest.mark.parametrize("page", pages_with("toml"), ids=name_of)
def test_toml_examples_are_policies(page: Path) -> None:
    for text in blocks(page, "toml"):
        content = tomllib.loads(text)
        assert content.keys() - {"kind"} <= KEYS[content["kind"]]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_is_one_that_exists(page: Path) -> None:
    """Also where an example is too long to run: its words and options are the program's own."""
    typed = [command for block in blocks(page, "console") for command, _ in commands(block)]
    for line in [*typed, *"".join(blocks(page, "sh")).replace("\\\n", "").split("\n")]:
        if line.startswith("va-edge-ldp"):
            assert unknown_words(shlex.split(line.replace("\\\n", ""), comments=True)[1:]) == []


def unknown_words(words: list[str]) -> list[str]:
    """The options among the words of a command that the program does not have."""
    from typer.main import get_command

    command: Any = get_command(cli.app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands") and words and not words[0].startswith("-"):
        return words[:1]
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help", "-h"}
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]


def test_an_unknown_command_or_option_is_noticed() -> None:
    assert unknown_words(["estimate", "--epsilon", "1"]) == []
    assert unknown_words(["datasets", "list"]) == []
    assert unknown_words(["estimte"]) == ["estimte"]
    assert unknown_words(["estimate", "--epsilonn", "1"]) == ["--epsilonn"]


def test_the_reference_names_everything() -> None:
    """Every public name and every command has its place on the pages that the build fills in."""
    python = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\.\. auto(?:function|class|exception):: (?:[\w.]+\.)?(\w+)", python, re.MULTILINE))
    assert listed == set(va.__all__) - {"__version__"}

    from typer.main import get_command

    top: Any = get_command(cli.app)
    paths = [
        " ".join([name, *([] if inner is None else [inner])])
        for name, command in top.commands.items()
        for inner in getattr(command, "commands", [None])
    ]
    page = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^```\{command\} (.+)$", page, re.MULTILINE)) == sorted(paths)


def test_there_are_examples() -> None:
    assert len(pages_with("python")) >= 5
    assert len(pages_with("console")) >= 5
    assert pages_with("toml")


@pytest.fixture
def theorems(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The part of the build that makes pages of theorems."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import theorems

    return theorems


def test_citations_become_links_to_statements(theorems: Any) -> None:
    known = theorems.stated_theorems()
    assert {"POSITION.1", "RR.1", "MAX.1"} <= known
    linked = theorems.with_links("**[RR.1] One.** by [RR.2-3], [DL.1, X.9]", known, {})
    assert linked == "\n(rr-1)=\n**\\[RR.1\\] One.** by \\[[RR.2-3](#rr-2)\\], \\[[DL.1](#dl-1), X.9\\]"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_theorem_that_a_page_cites_is_stated(page: Path, theorems: Any) -> None:
    cited = [one for found in theorems.CITED.findall(page.read_text(encoding="utf-8")) for one in found.split(", ")]
    ends = {f"{one.partition('.')[0]}.{number}" for one in cited for number in re.split(r"[-–]", one.partition(".")[2])}
    assert ends - theorems.stated_theorems() == set()


def test_code_and_links_stay_as_they_are(theorems: Any) -> None:
    text = "`[RR.1]` and [RR.1](other.md)\n\n```python\n[RR.1]\n```\n"
    assert theorems.with_links(text, {"RR.1"}, {}) == text
    named = theorems.with_links("see `client/hubs.md`", set(), {"client/hubs.md": "proofs/client-hub"})
    assert named == "see [`client/hubs.md`](/proofs/client-hub.md)"


def test_a_page_that_loads_from_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import offline

    (tmp_path / "link.html").write_text('<a href="https://example.org">a link</a><img src="own.svg">')
    assert offline.from_elsewhere(tmp_path) == []
    (tmp_path / "script.html").write_text('<script async src="https://example.org/x.js"></script>')
    (tmp_path / "style.css").write_text('@import "//example.org/x.css";')
    assert offline.from_elsewhere(tmp_path) == ["script.html", "style.css"]
