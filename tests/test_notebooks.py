"""The notebooks of the documentation run from top to bottom, and hold their outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["choose-epsilon", "my-graph-and-policy", "read-campaign-results"]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(file, as_version=4)
    kept = [cell["outputs"] for cell in notebook.cells if cell.cell_type == "code"]
    assert any(kept), "a notebook is kept with its outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    ran = [cell["outputs"] for cell in notebook.cells if cell.cell_type == "code"]
    assert len(ran) == len(kept)
    # Seeded estimates are the same bytes everywhere; predictions may differ in a last digit, a campaign in all.
    if file.stem == "my-graph-and-policy":
        assert [_texts(each) for each in ran] == [_texts(each) for each in kept]


def _texts(outputs: list[dict[str, object]]) -> list[object]:
    """What the outputs say, without pictures and without notes on stderr."""
    return [
        output.get("text") or output["data"]["text/plain"]  # type: ignore[index]
        for output in outputs
        if output.get("name") != "stderr" and "image/png" not in output.get("data", {})  # type: ignore[operator]
    ]


def test_pages_show_code_and_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER.parent / "_ext"))
    import notebooks

    shown = {
        "cells": [
            {"cell_type": "markdown", "source": ["# A title"]},
            {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"text/plain": ["2"]}}]},
            {"cell_type": "code", "source": ["draw()"], "outputs": [{"data": {"image/png": "AAAA"}}]},
        ]
    }
    text, pictures = notebooks.page(shown, "name")
    assert "# A title" in text
    assert "```text\n2\n```" in text
    assert pictures == {"name-0.png": b"\0\0\0"}
    sys.modules.pop("notebooks")
