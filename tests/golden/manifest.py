"""The manifest: one SHA-256 for each thing that a user, a client or a server may see, and how things are hashed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent / "manifest.json"
KERNELS = ("plain", "compiled")
DIGITS = 9

# What is of this run, this machine, this version or this place, and not of what is computed; by the key's name.
_OF_THIS_RUN = {"cores", "seconds", "elapsed", "started", "finished", "date", "time", "memory"}
_OF_THIS_MACHINE = {"machine", "numpy", "python", "version", "path", "directory", "source", "address"}
_WORDS_OF_CODE = {"relation", "command"}
LEFT_OUT = _OF_THIS_RUN | _OF_THIS_MACHINE | _WORDS_OF_CODE
_CLASS_IN_KEY = re.compile(r"loss_[A-Z]\w*")


def plain(content: Any, digits: int | None = None) -> Any:
    """The same as dictionaries, lists, texts and numbers; with ``digits``, numbers that are not whole are rounded."""
    if hasattr(content, "tolist"):  # NumPy's numbers and arrays
        content = content.tolist()
    if isinstance(content, Mapping):
        content = _untimed(content)
        kept = ((str(key), value) for key, value in content.items() if str(key) not in LEFT_OUT)
        return {_nameless(key): plain(value, digits) for key, value in kept}
    if isinstance(content, bytes):
        return content.hex()
    if isinstance(content, float) and digits is not None:
        return f"{content:.{digits}g}"
    if content is None or isinstance(content, str | int | float):
        return content
    return [plain(each, digits) for each in content]


def _untimed(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A table that was printed, without its column of seconds."""
    if not {"head", "rows"} <= content.keys() or "s" not in content["head"]:
        return content
    place = list(content["head"]).index("s")
    head, *rows = ([*row[:place], *row[place + 1 :]] for row in (content["head"], *content["rows"]))
    return {**content, "head": head, "rows": rows}


def _nameless(key: str) -> str:
    """A class of the code that stands in a key is left out of it."""
    return "loss_of_a_relation" if _CLASS_IN_KEY.fullmatch(key) else key


def text_of(content: Any) -> str:
    """What is hashed: sorted keys, and every float as ``repr`` writes it."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, indent=1)


def sha256(content: Any) -> str:
    return hashlib.sha256(text_of(content).encode()).hexdigest()


def stored() -> dict[str, str]:
    if not PATH.exists():
        return {}
    found: dict[str, str] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def store(entries: Mapping[str, str]) -> None:
    PATH.write_text(json.dumps(entries, sort_keys=True, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def is_under(name: str, prefixes: Iterable[str]) -> bool:
    return any(name.startswith(f"{prefix}/") for prefix in prefixes)


def of_kernel(entries: Mapping[str, str], kernel: str, prefixes: Iterable[str]) -> dict[str, str]:
    """What is recorded for a kernel; what differs between kernels is recorded with the kernel's name at its end."""
    wanted, found = list(prefixes), {}
    for name, digest in entries.items():
        base, _, last = name.rpartition("/")
        if is_under(name, wanted) and (last not in KERNELS or last == kernel):
            found[base if last == kernel else name] = digest
    return found


def merged(by_kernel: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """One entry for all kernels where they agree, and one for each where they do not."""
    entries = {}
    for name in {name for found in by_kernel.values() for name in found}:
        digests = {kernel: found[name] for kernel, found in by_kernel.items() if name in found}
        if len(set(digests.values())) == 1:
            entries[name] = next(iter(digests.values()))
        else:
            entries |= {f"{name}/{kernel}": digest for kernel, digest in digests.items()}
    return entries


def differing(prefixes: Iterable[str], kernel: str, found: Mapping[str, Any]) -> dict[str, str]:
    """The entries that are not as recorded, and how."""
    wanted = of_kernel(stored(), kernel, prefixes)
    words = dict.fromkeys(wanted.keys() - found.keys(), "not made any more")
    words |= dict.fromkeys(found.keys() - wanted.keys(), "not recorded")
    both = wanted.keys() & found.keys()
    return words | {name: "different" for name in both if sha256(found[name]) != wanted[name]}


def dump(folder: Path, contents: Mapping[str, Any]) -> None:
    """Write what is hashed, a file for each entry, so that two versions can be compared with ``diff -r``."""
    for name, content in contents.items():
        path = folder / (re.sub(r"[^\w/ ,.-]", "_", name) + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(content) + "\n", encoding="utf-8")
