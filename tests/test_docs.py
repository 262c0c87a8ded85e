"""What the documentation shows, runs; what it links to, is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.truth.policy_file import KEYS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in FENCE.findall(page.read_text(encoding="utf-8")) if kind == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.mark.parametrize("page", pages_with("python"), ids=lambda page: page.name)
def test_python_examples_run(page: Path) -> None:
    names: dict[str, object] = {}
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)
    assert names


@pytest.mark.parametrize("page", pages_with("toml"), ids=lambda page: page.name)
def test_toml_examples_are_policies(page: Path) -> None:
    for text in blocks(page, "toml"):
        content = tomllib.loads(text)
        assert content.keys() - {"kind"} <= KEYS[content["kind"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_there_are_examples() -> None:
    assert len(pages_with("python")) >= 2
    assert pages_with("toml")
