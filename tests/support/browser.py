"""A real browser, where one is installed: what pages said in its console, and every address that they asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = Path(__file__).parents[2] / "out" / "screenshots"


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; without it, or what drives it, tests are skipped."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@dataclass
class Opened:
    """A page of its own context; ``said`` and ``asked`` grow with what it does."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.context.on("request", lambda request: self.asked.append(request.url))


def new_page(browser: Any, size: tuple[int, int], **options: Any) -> Any:
    """A page of this width and height, before it goes anywhere."""
    return browser.new_context(viewport={"width": size[0], "height": size[1]}, **options).new_page()
