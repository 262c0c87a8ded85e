"""The browser's core, written from the protocol's page: all golden vectors, and a thousand reports drawn at random.

It declines the question ``hubs``; its 2 cases of answers and what is uploaded there are left out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support import browser as browsers
from support.browser_program import HARNESS, PAGE, all_vectors, hosted, under_node
from support.random_reports import all_compared

MODULES = ("canonical", "exact", "noise", "rules", "campaign", "answers", "tree", "statements")
FEWEST = {"charter": 5, "root": 8, "upload": 80, "attack": 150, "noise": 100, "asked": 29, "answer": 300, "lie": 80}
FEWEST |= {"log": 10, "statement": 30, "amendment": 6}


def refuse_differences(said: dict[str, Any]) -> None:
    assert said["wrong"] == []
    assert set(said["counts"]) == set(FEWEST)
    assert all(said["counts"][sort] >= fewest for sort, fewest in FEWEST.items())


def test_the_golden_vectors_under_node(tmp_path: Path) -> None:
    refuse_differences(under_node(tmp_path, all_vectors()))


def test_a_changed_vector_is_seen(tmp_path: Path) -> None:
    vectors = {name: all_vectors()[name] for name in ("answers", "lies", "charters", "statements")}
    vectors["answers"] = [each for each in vectors["answers"] if each["case"] == "position, nothing"]
    vectors["lies"] = vectors["lies"][:1]
    first = vectors["answers"][0]["answers"][0]
    first["result"] = first["result"][:-2] + ("00" if first["result"][-2:] != "00" else "01")
    vectors["lies"][0]["believed"] = not vectors["lies"][0]["believed"]
    code = vectors["statements"][1]["rounds"][0]
    code["code"] = code["code"][::-1]
    assert [each.split()[0] for each in under_node(tmp_path, vectors)["wrong"]] == ["answer", "lie", "statement"]


@pytest.mark.long
def test_the_golden_vectors_in_a_browser(tmp_path: Path) -> None:
    shutil.copytree(PAGE, tmp_path / "page")
    shutil.copy(HARNESS, tmp_path / "page")
    (tmp_path / "page" / "vectors.json").write_text(json.dumps(all_vectors()))
    (tmp_path / "page" / "blank.html").write_text("<!doctype html><title>Vectors</title>")
    imports = f"""async () => {{
        const core = {{}};
        for (const name of {json.dumps(MODULES)}) Object.assign(core, await import(`./${{name}}.js`));
        const {{ run }} = await import("./{HARNESS.name}");
        return run(core, await (await fetch("./vectors.json")).json());
    }}"""
    with browsers.chromium() as browser, hosted(tmp_path / "page") as address:
        page = browsers.new_page(browser, (800, 600))
        page.goto(f"{address}/blank.html")
        refuse_differences(page.evaluate(imports))


@pytest.mark.long
def test_a_thousand_random_reports_are_pythons(tmp_path: Path) -> None:
    vectors: list[dict[str, Any]] = []
    all_compared(range(20_000, 29_000), 1000, vectors)
    said = under_node(tmp_path, {"answers": vectors})
    assert said["wrong"] == []
    assert said["counts"]["answer"] >= 1000
    kinds = {json.loads(each["charter"])["question"] for each in vectors}
    assert kinds == {"position", "degrees", "groups", "triangles"}
