"""Write the lock files of the server's image: ``python deploy/lock.py``, with pip and an index of packages at hand.

``requirements.lock`` has what the server runs with, ``build-requirements.lock`` what its wheel is built with: each
package in one version, with the SHA-256 of every wheel that an image may take. Which index they came from is not said.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")
EXTRAS = ("serve", "postgres", "fast")
HEAD = "# Written by deploy/lock.py; pip install --require-hashes -r FILE takes these files and no others.\n"
Found = dict[tuple[str, str], set[str]]


def requirements() -> dict[str, list[str]]:
    """What is asked for in each lock file."""
    content = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))
    extras = content["project"]["optional-dependencies"]
    runs = [*content["project"]["dependencies"], *(each for name in EXTRAS for each in extras[name])]
    return {"requirements.lock": runs, "build-requirements.lock": content["build-system"]["requires"]}


def resolved(wanted: list[str], python: str, machine: str, constraints: Path) -> Found:
    """What pip would install there: name, version and the hash of its wheel."""
    where = ["--python-version", python, "--implementation", "cp", "--only-binary", ":all:", "--target", "nowhere"]
    for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014"):
        where += ["--platform", f"{tag}_{machine}"]
    options = ["--dry-run", "--quiet", "--ignore-installed", "--report", "-", "--constraint", str(constraints)]
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options, *where, *wanted]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {
        (canonical(each["metadata"]["name"]), each["metadata"]["version"]): {
            each["download_info"]["archive_info"]["hashes"]["sha256"]
        }
        for each in report["install"]
    }


def canonical(name: str) -> str:
    """A package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(wanted: list[str], constraints: Path) -> str:
    """The text of a lock file."""
    found: Found = defaultdict(set)
    constraints.write_text("")
    for python in PYTHONS:  # the oldest chooses: newer ones have wheels of what it can still take
        for machine in MACHINES:
            for package, hashes in resolved(wanted, python, machine, constraints).items():
                found[package] |= hashes
            constraints.write_text("".join(f"{name}=={version}\n" for name, version in sorted(found)))
    lines = [
        f"{name}=={version} \\\n" + " \\\n".join(f"    --hash=sha256:{each}" for each in sorted(hashes)) + "\n"
        for (name, version), hashes in sorted(found.items())
    ]
    return HEAD + "".join(lines)


def main() -> None:
    constraints = HERE / ".constraints.txt"
    try:
        for name, wanted in requirements().items():
            (HERE / name).write_text(locked(wanted, constraints))
    finally:
        constraints.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
