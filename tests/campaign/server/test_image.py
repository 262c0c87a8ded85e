"""What the image is built from: locks that have a hash for everything, and a list of all that is installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

DEPLOY = Path(__file__).parents[3] / "deploy"
sys.path.insert(0, str(DEPLOY))
import bill_of_materials  # noqa: E402
import lock  # noqa: E402

sys.path.remove(str(DEPLOY))
_PINNED = re.compile(r"^([a-z0-9-]+)==([^ \n]+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    """The packages of a lock file and their versions; every line of it is one of a package with hashes."""
    text = (DEPLOY / name).read_text("utf-8").removeprefix(lock.HEAD)
    assert _PINNED.sub("", text) == "", "something in the lock has no hash, or is no package"
    return {found[1]: found[2] for found in _PINNED.finditer(text)}


@pytest.mark.parametrize("name", ["requirements.lock", "build-requirements.lock"])
def test_a_lock_has_what_is_asked_for_and_what_that_needs(name: str) -> None:
    found, needed = pins(name), [Requirement(text) for text in lock.requirements()[name]]
    for each in needed:
        assert each.specifier.contains(found[canonicalize_name(each.name)]), each
    needs = {
        canonicalize_name(each.metadata["Name"]): [Requirement(text) for text in each.requires or ()]
        for each in distributions()
    }
    for package in found:  # as far as it is installed here: what it needs without an extra is there, too
        for each in needs.get(package, []):
            if each.marker is None:
                assert canonicalize_name(each.name) in found, f"{package} needs {each}"


def test_a_lock_without_a_hash_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DEPLOY / "requirements.lock").read_text("utf-8")
    (tmp_path / "requirements.lock").write_text(re.sub(r" \\\n    --hash=\S+", "", text, count=1))
    monkeypatch.setattr(sys.modules[__name__], "DEPLOY", tmp_path)
    with pytest.raises(AssertionError, match="no hash"):
        pins("requirements.lock")


def test_a_lock_names_no_index() -> None:
    for name in ("requirements.lock", "build-requirements.lock"):
        assert not re.search(r"://|--index|--find-links", (DEPLOY / name).read_text("utf-8"))


def test_the_image_takes_nothing_beside_its_locks() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    installs = re.findall(r"pip (?:install|wheel) ([^\\&\n]*)", text)
    assert len(installs) == 4
    assert all("--require-hashes" in each or "--no-index --no-deps" in each for each in installs)
    (base,) = re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE)
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base)


@pytest.mark.long
def test_pip_takes_the_files_of_a_lock_and_no_others(tmp_path: Path) -> None:
    lines = (DEPLOY / "build-requirements.lock").read_text("utf-8")
    changed = re.sub(r"(sha256:)(?:[0-9a-f]{64})", rf"\g<1>{'0' * 64}", lines)
    codes = []
    for place, text in enumerate((lines, changed)):
        (tmp_path / f"{place}.lock").write_text(text)
        words = ["install", "--quiet", "--require-hashes", "--target", str(tmp_path / str(place)), "--requirement"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words, str(tmp_path / f"{place}.lock")], capture_output=True, text=True
        )
        if "No matching distribution" in done.stderr:
            pytest.skip("no index of packages is reached from here")
        codes.append((done.returncode, "DO NOT MATCH THE HASHES" in done.stderr))
    assert codes == [(0, False), (1, True)]
    assert (tmp_path / "0" / "hatchling").is_dir()


def test_the_bill_of_materials_is_complete() -> None:
    script = str(DEPLOY / "bill_of_materials.py")
    printed, again = (subprocess.run([sys.executable, script], check=True, capture_output=True).stdout for _ in "ab")
    assert printed == again, "the same environment gives the same bytes"
    content = json.loads(printed)
    assert (content["bomFormat"], content["specVersion"], content["version"]) == ("CycloneDX", "1.5", 1)
    listed = {each["name"]: each for each in content["components"]}
    assert set(listed) == {canonicalize_name(each.metadata["Name"]) for each in distributions()}
    for name in ("visibility-aware-edge-ldp", "numpy", "uvicorn", "apsw"):
        assert listed[name]["version"] == version(name)
        assert listed[name]["purl"] == f"pkg:pypi/{name}@{version(name)}"
        assert listed[name]["licenses"]
    known = {each["bom-ref"] for each in content["components"]}
    edges = {each["ref"]: each["dependsOn"] for each in content["dependencies"]}
    assert edges.keys() == known
    assert all(known.issuperset(needed) for needed in edges.values())
    assert f"pkg:pypi/numpy@{version('numpy')}" in edges[listed["visibility-aware-edge-ldp"]["bom-ref"]]


def test_a_bill_that_leaves_a_package_out_is_seen() -> None:
    found = list(distributions())
    less = bill_of_materials.bill(found[1:])
    assert len(less["components"]) < len(bill_of_materials.bill(found)["components"])
