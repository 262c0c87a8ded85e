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
from support.campaign_amending import Issuer
from support.campaign_attacks import whole
from support.campaign_vectors import KEY, stored
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.signed_documents import encode

PAGE = Path(visibility_aware_edge_ldp.campaign.__path__[0]) / "browser_page"
NODE = shutil.which("node")
NAMES = ("charters", "uploads", "malicious", "noise", "answers", "lies", "statements")
HARNESS = Path(__file__).with_name("browser_core.mjs")


def all_vectors() -> dict[str, Any]:
    """All golden vectors; what a malicious one does not say is filled in."""
    found = {name: copy.deepcopy(stored(f"campaign_{name}.json")) for name in NAMES}
    malicious = [{"case": "", **whole(each)} for each in found["malicious"]]
    return found | {"malicious": malicious, "amendments": amendments(found["charters"])}


def amendments(charters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Amendments of every kind, with the deadlines that then hold and whom they are about; and what is refused."""
    vector = next(each for each in charters if each["case"] == "position, two rounds")
    issuer = Issuer(Charter.from_bytes(vector["charter"].encode()), KEY)
    first, second = (each.closes for each in issuer.charter.rounds)
    signed = [issuer.replaces_token(1)[0], issuer.replaces_token(2, "device", ledger="ab" * 32)[0]]
    signed += [issuer.signs("withdrawal", 3), issuer.signs("deadline", round=2, closes=second + 90_000)]
    issuer.signs("deadline", round=1, closes=second)
    people = [each.person for each in signed if each.person]
    salts = [person.salt.hex() for person in people]
    about = [[place if place == other else -1 for other in range(5)] for place in range(3)]
    whole, common = json.loads(issuer.amended.data), {"charter": vector["charter"], "identity": vector["identity"]}
    wrong = {
        "the first is missing": whole[1:],
        "another order": [whole[1], whole[0], *whole[2:]],
        "not signed": [{**whole[0], "signature": "00" * 64}],
        "another deadline": [*whole[:3], {**whole[3], "amendment": {**whole[3]["amendment"], "closes": first}}],
        "a token twice": [whole[0], {**whole[0]}],
    }
    good = {"amendments": issuer.amended.data.decode(), "deadlines": [second, second + 90_000], "salts": salts}
    good |= {"people": [person.participant for person in people], "about": about, "name": "all kinds"}
    return [common | good] + [
        common | {"name": name, "amendments": encode(each).decode()} for name, each in wrong.items()
    ]


def under_node(
    folder: Path, given: dict[str, Any], harness: Path = HARNESS, changes: dict[str, tuple[str, str]] | None = None
) -> Any:
    """What a harness says of the page's modules; of vectors, the ``counts`` of each sort, and the ``wrong`` ones."""
    if NODE is None:
        pytest.skip("node is not installed")
    place = copied(folder, changes)
    (place / "package.json").write_text('{"type": "module"}')
    (folder / "given.json").write_text(json.dumps(given))
    command = [NODE, str(harness), str(place), str(folder / "given.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
