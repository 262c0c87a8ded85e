"""The browser's program under test: its files, node, the golden vectors as it reads them, and hosts that serve it."""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import visibility_aware_edge_ldp.campaign
from support.campaign_attacks import whole
from support.campaign_vectors import stored

PAGE = Path(visibility_aware_edge_ldp.campaign.__path__[0]) / "browser_page"
NODE = shutil.which("node")
NAMES = ("charters", "uploads", "malicious", "noise", "answers", "lies")
HARNESS = Path(__file__).with_name("browser_core.mjs")


def all_vectors() -> dict[str, Any]:
    """All golden vectors; what a malicious one does not say is filled in."""
    found = {name: copy.deepcopy(stored(f"campaign_{name}.json")) for name in NAMES}
    return found | {"malicious": [{"case": "", **whole(each)} for each in found["malicious"]]}


def under_node(folder: Path, vectors: dict[str, Any]) -> dict[str, Any]:
    """What the core says of vectors: ``counts`` of each sort, and the ``wrong`` ones."""
    if NODE is None:
        pytest.skip("node is not installed")
    shutil.copytree(PAGE, folder / "page")
    (folder / "page" / "package.json").write_text('{"type": "module"}')
    (folder / "vectors.json").write_text(json.dumps(vectors))
    command = [NODE, str(HARNESS), str(folder / "page"), str(folder / "vectors.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _hash(data: bytes, name: str) -> str:
    return f"{name}-{base64.b64encode(hashlib.new(name, data).digest()).decode()}"


def sealed(folder: Path = PAGE) -> str:
    """``index.html`` as it must be: with the digests of all other files in it."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    files = {path.name: _hash(path.read_bytes(), "sha384") for path in sorted(folder.glob("*.[jc]s*"))}
    scripts = {f"./{name}": digest for name, digest in files.items() if name.endswith(".js")}
    listed = json.dumps({"integrity": scripts}, indent=1)
    text = re.sub(
        r'(<script type="importmap">).*?(</script>)', lambda found: found[1] + listed + found[2], text, flags=re.S
    )
    for name in ("page.css", "page.js"):
        text = re.sub(rf'("{re.escape(name)}" integrity=")[^"]*', lambda found, name=name: found[1] + files[name], text)
    return re.sub(r"(script-src 'self' ')[^']*", lambda found: found[1] + _hash(listed.encode(), "sha256"), text)


def copied(folder: Path, changes: dict[str, tuple[str, str]] | None = None) -> Path:
    """A copy of the page in this folder's ``take-part``, with one text put in place of another, and sealed."""
    place = folder / "take-part"
    shutil.copytree(PAGE, place, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name, (old, new) in (changes or {}).items():
        text = (place / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old} stands {text.count(old)} times in {name}"
        (place / name).write_text(text.replace(old, new), encoding="utf-8")
    (place / "index.html").write_text(sealed(place), encoding="utf-8")
    return place


@contextlib.contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """The address of a plain host of these files, which is no campaign's server."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        extensions_map = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".css": "text/css"}  # noqa: RUF012

        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(folder))

        def log_message(self, *words: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":  # after a change of the page's files
    (PAGE / "index.html").write_text(sealed(), encoding="utf-8")
