"""What a run will need of the machine, said before it starts."""

from __future__ import annotations

import os

from visibility_aware_edge_ldp.errors import TooLarge


def needed_bytes(n: int, rounds: int = 1) -> int:
    """Memory of one POSITION estimate, at most: planes of bits, packed answers, and blocks of rows."""
    planes = 1 + 2 * (rounds + 1)
    return 2 * planes * n * n // 8 + 6 * 1024 * n * 8 + 200_000_000


def refuse_too_large(n: int, rounds: int) -> None:
    """Say before the work starts that it does not fit."""
    needed, available = needed_bytes(n, rounds), available_bytes()
    if needed > available:
        raise TooLarge(
            f"{n:,} nodes have {n * (n - 1) // 2:,} positions, which need about {needed / 1e9:,.0f} GB of memory; "
            f"{available / 1e9:,.0f} GB are free. Use an induced subgraph, or the curator model if there is a "
            "trusted centre."
        )


def available_bytes() -> int:
    """Free memory of this machine."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = dict(line.split(":", 1) for line in lines)
        return int(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 1 << 62
