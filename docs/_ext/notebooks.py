"""Notebooks as pages: each .ipynb under docs/notebooks becomes one, with the outputs that it holds.

The pages are made anew by each build and are not kept; that the notebooks run is a test's to see.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "notebooks"
PAGES = FOLDER / "pages"


def page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and the pictures that it shows by their file names."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                file = f"{name}-{len(pictures)}.png"
                pictures[file] = base64.b64decode(data["image/png"])
                parts.append(f"![{name}, a plot]({file})")
            elif said := "".join(data.get("text/plain", output.get("text", ""))):
                parts.append(f"```text\n{said.rstrip()}\n```")
    parts.append(f"*This page is a notebook: {{download}}`{name}.ipynb <../{name}.ipynb>`.*")
    return "\n\n".join(parts) + "\n", pictures


def write_pages(*_: object) -> None:
    """Write the page and the pictures of every notebook."""
    PAGES.mkdir(exist_ok=True)
    for file in sorted(FOLDER.glob("*.ipynb")):
        text, pictures = page(json.loads(file.read_text(encoding="utf-8")), file.stem)
        for name, content in {f"{file.stem}.md": text.encode(), **pictures}.items():
            (PAGES / name).write_bytes(content)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
