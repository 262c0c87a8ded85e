"""The golden manifest: whatever is moved or renamed, the bytes stay.

Where a change is meant, ``python tests/golden/record.py --only PREFIX`` records it, in a commit that says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import visibility_aware_edge_ldp as va
from golden import manifest
from golden.groups import GROUPS, Group
from support.golden_subjects import another_version, forced, kernel_in_use

SHOWN = 5
QUICK, LONG = ([group for group in GROUPS if group.long is long and not group.at_hand] for long in (False, True))


@pytest.fixture(params=manifest.KERNELS)
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each kernel that is installed, in its turn."""
    with forced(request.param):
        if kernel_in_use() != request.param:
            pytest.skip("numba is not installed")
        yield request.param


def check(group: Group, kernel: str, folder: Path) -> None:
    found = group.make()
    wrong = manifest.differing(group.prefixes, kernel, found)
    if not wrong:
        return
    manifest.dump(folder, {name: found[name] for name in wrong.keys() & found.keys()})
    first = [f"  {name}: {wrong[name]}" for name in sorted(wrong)[:SHOWN]]
    more = [f"  and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    advice = (
        f"What is made now, with the {kernel} kernels, is in {folder}. For what was made before, in an older checkout: "
        f"python tests/golden/record.py --dump FOLDER --kernel {kernel} --only {group.prefixes[0]}; then diff -r. "
        f"If the change is meant: python tests/golden/record.py --only {group.prefixes[0]}"
    )
    pytest.fail("\n".join([f"{len(wrong)} entries of the golden manifest differ:", *first, *more, advice]), False)


@pytest.mark.parametrize("group", QUICK, ids=lambda group: group.name)
def test_nothing_changed(group: Group, kernel: str, tmp_path: Path) -> None:
    check(group, kernel, tmp_path / "golden")


@pytest.mark.long
@pytest.mark.parametrize("group", LONG, ids=lambda group: group.name)
def test_nothing_changed_in_what_takes_minutes(group: Group, kernel: str, tmp_path: Path) -> None:
    check(group, kernel, tmp_path / "golden")


def test_every_entry_belongs_to_one_group() -> None:
    for name in manifest.stored():
        owners = [group.name for group in GROUPS if manifest.is_under(name, group.prefixes)]
        assert len(owners) == 1, (name, owners)


def test_the_manifest_is_written_as_it_is_recorded() -> None:
    lines = manifest.PATH.read_text(encoding="utf-8").splitlines()[1:-1]
    assert len(lines) == len(manifest.stored())
    assert lines == sorted(lines)


def test_one_changed_constant_is_seen(kernel: str) -> None:
    (group,) = (group for group in GROUPS if group.name == "degrees")
    with another_version():
        wrong = manifest.differing(group.prefixes, kernel, group.make())
    assert {name.partition("/")[0] for name in wrong} == {"reports"}
    assert set(wrong.values()) == {"different"}
    assert len(wrong) == 9


def test_one_changed_word_is_seen(kernel: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (group,) = (group for group in GROUPS if group.name == "degrees")
    monkeypatch.setattr(va.VisibilityPolicy, "words", property(lambda policy: "another word"))
    with pytest.raises(pytest.fail.Exception, match=r"12 entries .* differ") as said:
        check(group, kernel, tmp_path)
    assert "answers/degrees/fractions/seed 2026: different" in str(said.value)
    assert str(tmp_path) in str(said.value)
    assert (tmp_path / "answers/degrees/fractions/seed 2026.json").read_text().count("another word") == 1


def test_what_was_left_out_and_what_was_added_is_seen() -> None:
    group = Group("g", ("answers/degrees",), dict)
    assert set(manifest.differing(group.prefixes, "plain", {}).values()) == {"not made any more"}
    found = {"answers/degrees/new": 1}
    assert manifest.differing(group.prefixes, "plain", found)["answers/degrees/new"] == "not recorded"


def test_kernels_that_agree_share_an_entry() -> None:
    merged = manifest.merged({"plain": {"a/b": "1", "a/c": "2"}, "compiled": {"a/b": "1", "a/c": "3"}})
    assert merged == {"a/b": "1", "a/c/plain": "2", "a/c/compiled": "3"}
    assert manifest.of_kernel(merged, "compiled", ["a"]) == {"a/b": "1", "a/c": "3"}


def test_what_is_of_a_machine_is_not_hashed() -> None:
    told = {"seconds": 3.2, "version": "0.1.0", "kept": [{"path": "/here", "value": 1 / 3}], "loss_OneEdge": 1}
    assert manifest.plain(told) == {"kept": [{"value": 1 / 3}], "loss_of_a_relation": 1}
    table = {"head": ["what", "s"], "rows": [["hub", "4.4"]]}
    assert manifest.plain(table) == {"head": ["what"], "rows": [["hub"]]}
    assert manifest.plain(told, 9)["kept"] == [{"value": "0.333333333"}]
