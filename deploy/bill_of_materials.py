"""Print what is installed in this environment, as CycloneDX JSON: ``python deploy/bill_of_materials.py > bom.json``.

Everything is read from the packages' own metadata. The same environment gives the same bytes: nothing here is random,
and no time is in it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from importlib.metadata import Distribution, distributions
from typing import Any


def canonical(name: str) -> str:
    """A package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def reference(each: Distribution) -> str:
    """The package's URL, by which it is named in the whole document."""
    return f"pkg:pypi/{canonical(each.metadata['Name'])}@{each.version}"


def licences(each: Distribution) -> list[dict[str, Any]]:
    """An SPDX expression where the package states one, and otherwise its own words or its classifiers."""
    said = each.metadata.get("License-Expression")
    if said:
        return [{"expression": said}]
    classified = [text.rpartition(" :: ")[2] for text in each.metadata.get_all("Classifier") or () if "License" in text]
    words = classified or [(each.metadata.get("License") or "not stated").strip().splitlines()[0][:80]]
    return [{"license": {"name": word}} for word in words]


def component(each: Distribution) -> dict[str, Any]:
    """One package; the hash is that of its RECORD, which has the hash of every file that was installed."""
    record = (each.read_text("RECORD") or "").encode()
    return {
        "type": "library",
        "bom-ref": reference(each),
        "purl": reference(each),
        "name": canonical(each.metadata["Name"]),
        "version": each.version,
        "licenses": licences(each),
        "properties": [{"name": "record-sha256", "value": hashlib.sha256(record).hexdigest()}],
    }


def needs(each: Distribution, known: dict[str, Distribution]) -> list[str]:
    """What of the installed packages this one names among its requirements."""
    names = {canonical(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]) for text in each.requires or ()}
    return sorted(reference(known[name]) for name in names & known.keys())


def bill(found: list[Distribution]) -> dict[str, Any]:
    """The whole document, packages in order of their names."""
    known = {canonical(each.metadata["Name"]): each for each in found}
    listed = [known[name] for name in sorted(known)]
    python = {"type": "platform", "name": "python", "version": ".".join(map(str, sys.version_info[:3]))}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": python},
        "components": [component(each) for each in listed],
        "dependencies": [{"ref": reference(each), "dependsOn": needs(each, known)} for each in listed],
    }


if __name__ == "__main__":
    json.dump(bill(list(distributions())), sys.stdout, indent=1, sort_keys=True)
    print()
