"""The names of the statistics."""

from __future__ import annotations

from collections.abc import Iterable

from visibility_aware_edge_ldp.errors import BadStatistic, meant

PLAIN = ("edges", "degrees", "max_degree", "degree_histogram", "triangles", "transitivity", "four_cycles")
DEFAULT = ("edges", "max_degree", "triangles", "stars:2", "stars:3", "transitivity", "four_cycles")
EVERYTHING = (*PLAIN, "stars:2", "stars:3")


def star_size(statistic: str) -> int | None:
    """k of "stars:k"; None for other statistics."""
    head, _, tail = statistic.partition(":")
    return int(tail) if head == "stars" and tail.isdecimal() else None


def tail_start(statistic: str) -> int | None:
    """T of "tail:T", the number of nodes with a degree of at least T; None for other statistics."""
    head, _, tail = statistic.partition(":")
    return int(tail) if head == "tail" and tail.isdecimal() else None


def check_statistics(statistics: str | Iterable[str], n: int) -> tuple[str, ...]:
    """The statistics asked for, each known and possible on n nodes; "all" means every one."""
    listed = statistics.split(",") if isinstance(statistics, str) else list(statistics)
    wanted = tuple(dict.fromkeys(name.strip() for name in listed))
    if wanted == ("all",):
        wanted = possible(EVERYTHING, n)
    if not wanted:
        raise BadStatistic(f"No statistic was asked for; choose from {', '.join(PLAIN)}, stars:K.")
    for name in wanted:
        _check(name, n)
    return wanted


def possible(statistics: Iterable[str], n: int) -> tuple[str, ...]:
    """Those of a list of defaults that n nodes can have: a small graph has no large stars."""
    return tuple(name for name in statistics if (star_size(name) or 0) <= n - 1)


def _check(name: str, n: int) -> None:
    k, start = star_size(name), tail_start(name)
    if start is not None and not 1 <= start <= n - 1:
        raise BadStatistic(f"{name!r} tells nothing on {n:,} nodes: degrees from 1 to {n - 1:,} are counted.")
    if k is None and start is None and name not in PLAIN:
        choice = f"choose from {', '.join(PLAIN)}, stars:K with K ≥ 2, tail:T with T ≥ 1"
        raise BadStatistic(f"{name!r} is not a statistic; {choice}.{meant(name, EVERYTHING)}")
    if k is not None and not 2 <= k <= n - 1:
        raise BadStatistic(
            f"{name!r} is impossible on {n:,} nodes: a star has at least 2 leaves and at most {n - 1:,}. "
            + ("A 1-star is an edge: ask for edges." if k == 1 else "Choose a smaller K.")
        )
