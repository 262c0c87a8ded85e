"""The built pages load nothing from elsewhere: whoever reads about privacy is not to be watched while reading."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

# What a browser fetches by itself; links that a reader may click are another matter.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\ssrc=["'](?:https?:)?//"""
    r"""|<link\b[^>]*rel=["'](?:stylesheet|preload|icon|preconnect)["'][^>]*href=["'](?:https?:)?//"""
    r"""|url\(["']?(?:https?:)?//|@import\s+["'](?:https?:)?//"""
)


def from_elsewhere(folder: Path) -> list[str]:
    """The built files that would load something over the network."""
    files = [path for kind in ("*.html", "*.css") for path in sorted(folder.rglob(kind))]
    return [str(path.relative_to(folder)) for path in files if LOADED.search(path.read_text(encoding="utf-8"))]


def check(app: Any, failure: Exception | None) -> None:
    """Fail the build where a page is not whole in itself."""
    if failure is None and app.builder.format == "html" and (found := from_elsewhere(Path(app.outdir))):
        raise ExtensionError(f"These pages load something from elsewhere: {', '.join(found[:5])}")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
