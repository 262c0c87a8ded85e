"""What a run will need of the machine's memory, array by array, said before it starts.

Every statement is a bound: tests run the thing in a process of its own and compare. The largest arrays of a run do not
all live at once, so what is said is at most about twice what is taken.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir

from visibility_aware_edge_ldp.compute.plain.tiles import OCTETS, SIDE
from visibility_aware_edge_ldp.compute.tile_file import file_octets
from visibility_aware_edge_ldp.compute.tile_layout import HELD, plane_octets
from visibility_aware_edge_ldp.counts.group_pairs import BLOCK as PAIRS_AT_ONCE
from visibility_aware_edge_ldp.errors import TooLarge

# Python, NumPy and the kernels; where these have to be compiled first, the compiler too.
BASE = 300_000_000
# Rows at a time: sums over pairs of planes, and users' rows. Above so many nodes fewer rows of products are taken.
PAIR_ROWS, USER_ROWS, MANY_NODES = 48, 64, 16_384
GRAPH = "the graph"
# Above so many positions nobody counts those of each class for a certificate.
MOST_COUNTED = 200_000_000


@dataclass(frozen=True)
class Need:
    """The arrays of a run and how many octets each has."""

    arrays: Mapping[str, int]

    @property
    def octets(self) -> int:
        """All of them, and what a process has anyway."""
        return BASE + sum(self.arrays.values())

    @property
    def still_to_come(self) -> int:
        """Without what a process has when it has opened the graph."""
        return sum(octets for name, octets in self.arrays.items() if name != GRAPH)

    def plus(self, name: str, octets: float) -> Need:
        """With one array more."""
        return Need({**self.arrays, name: ceil(octets)})

    def __str__(self) -> str:
        return size(self.octets)


# Rows and copies of rows that are held at a time where users read parts of the first answers.
PART_ROWS = 4 * 512 * 7


def graph_need(n: int, m: int) -> Need:
    """The graph itself, with names and lists of friends."""
    return Need({GRAPH: 30 * m + 150 * n})


def by_kinds(n: int, m: int, kinds: int, public: bool, cycles: bool, triangles: bool, all_rows: bool) -> Need:
    """POSITION where classes go by kinds of nodes and everybody answers once.

    ``all_rows``: whether sums over pairs take every row, or a sample.
    """
    packed, cores = n * n / 16, _cores()
    need = graph_need(n, m).plus("answers, two bits a position", 2 * packed)
    if kinds == 1:
        need = need.plus("one plane of answers", 2 * packed + 256 * n)
    else:
        need = need.plus("classes, one bit a position and class", 3 * packed)
        need = need.plus("one plane of answers, before and after it is ordered", 4 * packed + 1024 * kinds * n / 4)
    if public:
        need = need.plus("public edges, one bit a position", 2 * packed)
    if triangles:
        need = need.plus("tiles for triangles", packed).plus("rows of counts", cores * 64 * n * (4 * kinds + 8))
        need = need.plus("terms of rows", 80 * kinds * n)
    if all_rows:
        need = need.plus("squared paths of all rows", 2 * packed)
    return need.plus("rows of products", 36 * 128 * min(n, MANY_NODES) + 1000 * n) if cycles else need


def by_file(n: int, m: int, kinds: int, cycles: bool, triangles: bool, moved: bool, all_rows: bool) -> Need:
    """The same with the plane in a file; ``moved`` where nodes are put into another order on the way.

    Pages of the file that the system keeps for a while are not counted: it gives them up when memory is wanted.
    """
    cores, sides = _cores(), ceil(n / SIDE) + kinds
    need = graph_need(n, m).plus("rows that wait for the file, and strips of it", (16 * cores + 24) * 64 * n)
    need = need.plus("terms of rows", (120 * kinds + 200) * n)
    if moved:
        need = need.plus("rows that change places", min(HELD, plane_octets(sides)))
    if triangles:
        need = need.plus("rows of counts", cores * PAIRS_AT_ONCE * 4 * kinds * n)
        need = need.plus("ones of each node with each side", 4 * n * sides)
        need = need.plus("lists of tiles", cores * sides * (SIDE * SIDE + 2 * OCTETS))
    if all_rows:
        need = need.plus("sums of all rows", 100 * n)
    return need.plus("rows of products", 36 * 128 * min(n, MANY_NODES) + 1000 * n) if cycles else need


def on_disk(sizes: Sequence[int], in_order: bool, shuffled: bool, tiles_kept: bool) -> int:
    """The most that files hold at a time: the tiles, the plane, and the plane in another order."""
    tiles, plane = file_octets(sizes), plane_octets(sum(-(-size // SIDE) for size in sizes))
    if in_order and not shuffled:
        return tiles + plane
    # Workers read tiles of the new order too.
    return 2 * plane + 2 * tiles * tiles_kept


def disk_folder() -> Path:
    """Where files go: the folder for temporary ones, which TMPDIR names."""
    return Path(gettempdir())


def free_disk() -> int:
    """Octets that are free there."""
    return disk_usage(disk_folder()).free


def by_planes(n: int, m: int, planes: int, rounds: int, pairs: bool) -> Need:
    """POSITION with a plane for each outcome of a position: hashed or listed classes, two rounds, nonresponse."""
    packed, cores = n * n / 16, _cores()
    need = graph_need(n, m).plus("answers, two bits a position and round", 2 * rounds * packed)
    need = need.plus("classes, one bit a position and class", 3 * packed)
    need = need.plus("outcomes, one bit a position each", planes * packed)
    need = need.plus("planes, twice while they are put together", 4 * planes * packed)
    if pairs:
        need = need.plus("rows of counts", cores * PAIR_ROWS * 4 * planes * planes * n)
        need = need.plus("rows of products", 10_000 * n)
    return need


def in_chunks(n: int, m: int, kinds: int, rounds: int, stars: int, cores: int | None = None) -> Need:
    """POSITION chunk by chunk, on this machine's cores; of a worker elsewhere, with one core."""
    cores = cores or _cores()
    counts, vectors = (kinds * (rounds + 2) * 4 + 8) * n, 8 * kinds**2 * (rounds + 2) * (rounds + 1) * stars * n
    need = graph_need(n, m).plus("numbers of edges", 24 * m).plus("names of nodes, sorted and hashed", 150 * n)
    need = need.plus("counts of chunks, and their sums", (2 * cores + 3) * counts)
    return need.plus("numbers of a second look", (cores + 2) * vectors)


def streamed(n: int, m: int, kinds: int, rounds: int) -> Need:
    """POSITION where counts for each node suffice: answers are never kept."""
    return graph_need(n, m).plus("counts for each node", (kinds * (rounds + 2) * 4 + 400) * n)


def by_degrees(n: int, m: int, one_class: bool) -> Need:
    """USER degrees, and every other model that works on lists of friends."""
    need = graph_need(n, m).plus("lists of friends", 25 * m + 120 * n)
    return need if one_class else need.plus("classes", _classes(n))


def by_rows(n: int, m: int, planes: int, cycles: bool, one_class: bool) -> Need:
    """USER triangles in two rounds: a transcript, its planes, and the users' rows; 4-cycles hold a matrix of paths."""
    packed, cores = n * n / 16, _cores()
    need = by_degrees(n, m, one_class).plus("the transcript, two bits a position, and its copies", 5 * packed)
    need = need.plus("outcomes, one bit a position each", planes * packed)
    need = need.plus("planes, twice while they are put together, and in panels", 6 * planes * packed)
    need = need.plus("rows of counts", (cores * USER_ROWS * 8 * planes * planes + 6_000) * n)
    return need.plus("the matrix of 2-paths, and as much again while it is read", 9 * n * n) if cycles else need


def by_parts(n: int, m: int, pairs: float) -> Need:
    """USER triangles by parts: lists, some users' rows at a time, and the first answers that somebody looks up."""
    need = by_degrees(n, m, one_class=True).plus("rows of some users and their reports", PART_ROWS * n / 8)
    return need.plus("first answers that are looked up", 40 * pairs)


def planned(n: int, m: int) -> Need:
    """A plan: a made-up graph, its counts, and sampled rows of it."""
    return Need({"a graph of this size, and sums over its edges": 170 * m + 250 * n})


def _classes(n: int) -> float:
    """What counting the positions of each class takes, where that is done."""
    return n * n / 4 if n * (n - 1) // 2 <= MOST_COUNTED else 0


def needed_bytes(n: int, rounds: int = 1) -> int:
    """Memory of one POSITION estimate of all statistics where everything is private."""
    if rounds > 1:
        return by_planes(n, 0, 1 + rounds, rounds, pairs=True).octets
    return by_kinds(n, 0, 1, public=False, cycles=True, triangles=True, all_rows=n < 14_000).octets


def refuse(n: int, need: Need, way_out: str) -> None:
    """Say before the work starts that it does not fit, and what would."""
    octets, free = need.still_to_come, available_bytes()
    if octets > free:
        raise TooLarge(
            f"{n:,} nodes have {n * (n - 1) // 2:,} positions; this would need about {size(octets)} of memory, "
            f"and {size(free)} are free. {way_out}"
        )


def size(octets: float) -> str:
    """In words."""
    return f"{octets / 1e9:,.1f} GB" if octets >= 0.95e9 else f"{octets / 1e6:,.0f} MB"


def available_bytes() -> int:
    """Memory that is free for this process: what the machine has, within what its container allows."""
    return min([_machine_bytes(), *_container_bytes()])


def _machine_bytes() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = dict(line.split(":", 1) for line in lines)
        return int(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 1 << 62


def _container_bytes(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """What control groups leave, of either version: the limit of each group above this process less what it holds.

    What a group holds includes pages of files, which are given up when memory is wanted.
    """
    left: list[int] = []
    try:
        groups = _groups(root, own.read_text(encoding="utf-8"))
    except OSError:
        return left
    for folder, limit, used, cache in groups:
        try:
            most, held = int((folder / limit).read_text()), int((folder / used).read_text())
            kept = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue  # no such group here, or no limit ("max")
        left.append(max(most - held + int(kept.get(cache, 0)), 0))
    return left


@lru_cache(maxsize=1)
def _groups(root: Path, own: str) -> list[tuple[Path, str, str, str]]:
    """Folders of the groups that this process says it is in, from the innermost out, and the names of their files."""
    lines = [line.split(":", 2) for line in own.splitlines()]
    found = []
    for number, controllers, path in (line for line in lines if len(line) == 3):
        if number == "0":
            top, names = root, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = root / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        inner = top / path.strip("/")
        found += [(folder, *names) for folder in (inner, *inner.parents) if folder == top or top in folder.parents]
    return found


def _cores() -> int:
    return os.cpu_count() or 1
