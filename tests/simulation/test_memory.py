"""What a run needs is stated before it starts: never less than it takes, and at most about twice as much."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.simulation import memory

PEAK = Path(__file__).parents[1] / "support/peak.py"
LARGE = "10000", "30000"
RUNS = {
    "streamed": ("position", "profiles:0.5", "edges,max_degree", "{}", "3000", "12000"),
    "chunks": (
        "position",
        "nothing",
        "edges,stars:2,stars:3",
        '{"checkpoint": "FOLDER", "engine": "threads:2"}',
        *LARGE,
    ),
    "kinds": ("position", "profiles:0.5", "all", "{}", "3000", "8000"),
    "kinds of one class": ("position", "nothing", "all", "{}", "3000", "20000"),
    "planes": ("position", "document-001", "edges,stars:2", "{}", "3000", "8000"),
    "planes of pairs": ("position", "nothing", "triangles", '{"rounds": 2}', "1000", "3000"),
    "rows": ("user", "nothing", "triangles", "{}", "3000", "8000"),
    "rows of classes": ("user", "profiles:0.5", "triangles", "{}", "3000", "6000"),
    "degrees of classes": ("user", "document-001", "edges,stars:2", "{}", "10000", "20000"),
    "degrees": ("user", "nothing", "edges,stars:2", "{}", "20000", "60000"),
    "lists": ("neighbourhood", "nothing", "triangles", "{}", "10000", "30000"),
}


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the most that was held")
@pytest.mark.parametrize("name", RUNS)
def test_what_is_stated_is_enough_and_not_twice_too_much(name: str, tmp_path: Path) -> None:
    words = [each.replace("FOLDER", str(tmp_path)) for each in RUNS[name]]
    done = subprocess.run([sys.executable, str(PEAK), *words], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [each["way"] for each in found] == [name.split()[0]] * 2
    for each in found:
        assert each["taken"] <= each["stated"] <= 2.2 * each["taken"], each


def test_fifty_thousand_nodes_fit_into_two_gigabytes() -> None:
    need = memory.by_kinds(50_000, 1_100_000, 1, public=False, cycles=True, triangles=True, all_rows=False)
    assert need.octets < 2e9
    assert sum(need.arrays.values()) + memory.BASE == need.octets
    assert need.still_to_come == need.octets - memory.BASE - need.arrays[memory.GRAPH]


def test_streaming_grows_with_the_nodes_alone() -> None:
    one, ten = (memory.streamed(n, 0, 2, 1).still_to_come for n in (20_000, 200_000))
    assert ten == 10 * one < 2e8
    assert memory.needed_bytes(200_000) > 90 * ten


@pytest.mark.parametrize(("octets", "words"), [(4e5, "0 MB"), (2.6e8, "260 MB"), (1e9, "1.0 GB"), (2.34e10, "23.4 GB")])
def test_sizes_in_words(octets: float, words: str) -> None:
    assert memory.size(octets) == words


def group(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def test_a_container_of_version_2_may_allow_less(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/outer/inner\n")
    held = {"memory.current": "300\n", "memory.stat": "anon 200\ninactive_file 100\n"}
    group(tmp_path / "outer" / "inner", {"memory.max": "max\n", **held})
    group(tmp_path / "outer", {"memory.max": "1000\n", **held})
    assert memory._container_bytes(tmp_path, own) == [800]


def test_a_container_of_version_1_may_allow_less(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("5:cpu:/elsewhere\n4:memory:/box\nnonsense\n")
    files = {"memory.limit_in_bytes": "500", "memory.usage_in_bytes": "450", "memory.stat": "total_inactive_file 25"}
    group(tmp_path / "memory" / "box", files)
    assert memory._container_bytes(tmp_path, own) == [75]
    assert memory._container_bytes(tmp_path, tmp_path / "none") == []


def test_a_limit_counts_where_it_is_below_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_machine_bytes", lambda: 1000)
    for limits, free in (([], 1000), ([10], 10), ([2000, 3000], 1000)):
        monkeypatch.setattr(memory, "_container_bytes", lambda limits=limits: limits)
        assert memory.available_bytes() == free
