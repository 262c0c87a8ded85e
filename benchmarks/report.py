"""What a run found, as lines, as JSON, and as a page: targets met and missed side by side."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.growth import Growth
from benchmarks.registry import OURS, Measured, Verdict
from benchmarks.timing import Times

PACKAGES = ("numpy", "scipy", "numba", "networkx", "igraph", "networkit", "opendp")
BEGIN, END = "<!-- from here on: written by python -m benchmarks --markdown -->", "<!-- until here -->"
MET, MISSED, NOTHING = "met", "**missed**", "not measured"


@dataclass(frozen=True)
class Machine:
    """Where and when a run was made."""

    date: str
    processor: str
    cores: int
    load_before: float
    load_after: float
    versions: dict[str, str]
    revision: str = ""


@dataclass(frozen=True)
class Run:
    """Everything that a run found."""

    machine: Machine
    measured: tuple[Measured, ...]
    growth: Growth = field(default_factory=lambda: Growth(()))

    @property
    def missed(self) -> int:
        """How many targets were missed."""
        return sum(verdict.met is False for each in self.measured for verdict in each.verdicts)


def machine(load_before: float) -> Machine:
    """This one, now."""
    return Machine(
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        processor(),
        os.cpu_count() or 1,
        load_before,
        load(),
        {"python": platform.python_version(), **{name: version_of(name) for name in PACKAGES}},
        revision(),
    )


def revision() -> str:
    """The commit that was measured, and whether files differed from it."""
    command = ["git", "describe", "--always", "--dirty=, with changes"]
    try:
        return subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def load() -> float:
    """How many processes wanted a core during the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def processor() -> str:
    """The processor's name and its widest vectors."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    known = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = known.get("flags", "").split()
    widest = "AVX-512" if "avx512f" in flags else "AVX2, no AVX-512" if "avx2" in flags else "no AVX2"
    return f"{known.get('model name', platform.machine())} ({widest})"


def version_of(package: str) -> str:
    """Its version, or that it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def word(verdict: Verdict) -> str:
    """Met, missed or not measured."""
    return NOTHING if verdict.met is None else MET if verdict.met else MISSED


def number(value: float) -> str:
    """Three figures."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def duration(value: float) -> str:
    """Seconds, or milliseconds where they are few."""
    return f"{number(value)} s" if value >= 1 else f"{number(1000 * value)} ms"


def reached(verdict: Verdict) -> str:
    """What was found, in the target's own unit."""
    unit = verdict.target.split()[-1]
    if verdict.found is None:
        return "-"
    if unit == "s":
        return duration(verdict.found)
    if verdict.target.startswith("n^"):
        return f"n^{verdict.found:.2f}"
    return f"{number(verdict.found)} MB" if unit == "MB" else f"{number(verdict.found)}×"


def lines_of(measured: Measured) -> Iterator[str]:
    """A comparison for somebody who watches."""
    yield f"{measured.name}: {measured.what}" + (f" ({measured.on})" if measured.on else "")
    if measured.why_not:
        yield f"    not measured: {measured.why_not}"
    for name, times in measured.times.items():
        yield f"    {name:<32} {spoken(times)}" + bound_words(measured, name)
    for name in measured.missing:
        yield f"    {name:<32} not installed"
    for verdict in measured.verdicts if measured.times else ():
        against = f" against {verdict.against}" if verdict.against else ""
        yield f"    target {verdict.target}{against}: {reached(verdict)}, {word(verdict).strip('*')}"


def spoken(times: Times) -> str:
    """The median, and between what the middle half lay."""
    low, high = times.quartiles
    rounds = len(times.seconds)
    return duration(times.median) + (f" ({duration(low)} to {duration(high)}, {rounds} rounds)" if rounds > 1 else "")


def bound_words(measured: Measured, name: str) -> str:
    """What share of the machine's bound our work reached."""
    share = measured.share_of_bound
    return f"; {share:.1%} of the bound" if name == OURS and share is not None else ""


def as_json(run: Run) -> str:
    """All numbers, every round of them."""
    shares = {each.name: each.share_of_bound for each in run.measured}
    return json.dumps(asdict(run) | {"share_of_bound": shares, "exponent": run.growth.exponent}, indent=1)


def as_markdown(run: Run) -> str:
    """The tables."""
    parts = [machine_words(run.machine), *targets(run.measured), *all_times(run.measured)]
    if run.growth.points:
        parts += growth_table(run.growth)
    return "\n".join(parts) + "\n"


def machine_words(one: Machine) -> str:
    """One sentence on where and when."""
    versions = ", ".join(f"{name} {number}" for name, number in one.versions.items())
    return (
        f"Run of {one.date} on {one.cores} cores of an {one.processor}; load {one.load_before:.1f} before and "
        f"{one.load_after:.1f} after{', commit ' if one.revision else ''}{one.revision}. {versions}.\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table with a line of its own after it."""
    return [*(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)), ""]


def targets(measured: Sequence[Measured]) -> list[str]:
    """A row for each target."""
    rows = [
        (each.what, verdict.against or "-", verdict.target, reached(verdict), word(verdict))
        for each in measured
        for verdict in each.verdicts
    ]
    unmeasured = [f"- {each.what}: not measured, {each.why_not}." for each in measured if each.why_not]
    return ["### Targets\n", *table(("what", "against", "target", "reached", ""), rows), *unmeasured, ""]


def all_times(measured: Sequence[Measured]) -> list[str]:
    """A row for each work."""
    rows: list[Sequence[str]] = []
    for each in measured:
        for name, times in each.times.items():
            low, high = times.quartiles
            share = each.share_of_bound
            bound = f"{share:.1%}" if name == OURS and share is not None else ""
            middle = f"{duration(low)} to {duration(high)}" if len(times.seconds) > 1 else "-"
            rows.append((each.what, each.on, name, duration(times.median), middle, str(len(times.seconds)), bound))
        rows += [(each.what, each.on, name, "not installed", "", "", "") for name in each.missing]
    head = ("what", "on", "work", "median", "middle half", "rounds", "share of the bound")
    return ["### Times\n", *table(head, rows)]


def growth_table(growth: Growth) -> list[str]:
    """A row for each size, and the fitted exponent."""
    rows = [
        (
            f"{point.nodes:,}",
            "-" if point.predicted is None else duration(point.predicted),
            duration(point.seconds),
            f"{point.megabytes:,.0f} MB",
        )
        for point in growth.points
    ]
    fit = (
        ""
        if growth.exponent is None
        else (f"Fitted exponent: {growth.exponent:.2f}; between the two largest sizes {growth.last_exponent:.2f}.")
    )
    stopped = f" No more sizes were run: {growth.stopped}." if growth.stopped else ""
    head = ("nodes", "predicted from the size before", "median", "most memory")
    return ["### Growth of the one-round estimate\n", *table(head, rows), fit + stopped, ""]


def put_into(path: Path, text: str) -> None:
    """Write the tables between the marks of a page that has them, or as a file of their own."""
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    if BEGIN in page and END in page:
        head, _, rest = page.partition(BEGIN)
        text = f"{head}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}"
    path.write_text(text, encoding="utf-8")
