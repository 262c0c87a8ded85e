"""Plants one bug after the other, runs the audit and then the tests, and tells who noticed.

    python tests/mutants/run.py                    the audits that are about a mutant's file; then its tests
    python tests/mutants/run.py --whole            where these miss it, all other audits too
    python tests/mutants/run.py --only ledger      mutants with this in their name or file
    python tests/mutants/run.py --json out/mutants.json
    python tests/mutants/run.py --resume FILE      each result is added to the file; what is in it is not tried again

The source is replaced at import, in processes of their own: no file of the work tree is touched. A mutant that cannot
be imported or that changes nothing is invalid and not counted. An anchor that does not stand in its file exactly once
is an error that names the mutant.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutants.table import HERE, PACKAGE, TESTS, MisplacedError, Mutant, read

LIMIT = 420.0
# How the audit says that noise is not of the law that it is said to have; no loss is stated then.
ANOTHER_LAW = ("ProtocolViolation: A client adds another noise", "differences ")
# Quick ones, of every part of the table: what continuous integration runs.
SHORT = (
    "response-epsilon-doubled",
    "hadamard-sign-never-flipped",
    "power-shift-doubled",
    "chain-answers-again",
    "position-second-round-at-first-price",
    "degrees-one-list",
    "campaign-round-2-by-the-list",
    "ledger-one-end-alone",
    "ledger-largest-charge",
)


@dataclass
class Result:
    """What came of one mutant: by which audit and which test it was noticed, or why it does not count."""

    name: str
    file: str
    loss: str
    harmless: bool
    audit: str = ""
    found: str = ""
    test: str = ""
    invalid: str = ""
    late: str = ""
    seconds: float = 0.0
    differs: bool = False

    @property
    def rang(self) -> bool:
        """Of a control: whether the audit said something that it must not."""
        return bool(self.audit) and not (self.differs and self.found.startswith(ANOTHER_LAW))

    @property
    def verdict(self) -> str:
        if self.invalid:
            return "invalid"
        if self.audit:
            return "audit"
        return "test" if self.test else "nothing"

    def line(self) -> str:
        told = {
            "invalid": self.invalid[:90],
            "audit": f"{self.audit}: {self.found[:80]}",
            "test": self.test,
            "nothing": self.late or "caught by nothing",
        }[self.verdict]
        return f"{self.name:42} {self.verdict:8} {told}  [{self.seconds:.0f} s]"


def tried(mutant: Mutant, extent: str, with_tests: bool, limit: float) -> Result:
    """Plant one mutant and see who notices."""
    result, start = Result(mutant.name, mutant.file, mutant.loss, mutant.harmless), time.monotonic()
    result.differs = mutant.differs
    if mutant.changes_nothing():
        result.invalid = "it changes nothing"
        return result
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "mutant.py"
        source.write_text(mutant.source(), "utf-8")
        environment = _environment(mutant, source)
        _audited(mutant, result, extent, environment, limit)
        # What the audit has caught needs no test; of a control nobody asks what tests say.
        if with_tests and result.verdict == "nothing" and not mutant.harmless:
            _tested(mutant, result, environment, limit)
    result.seconds = time.monotonic() - start
    return result


def _environment(mutant: Mutant, source: Path) -> dict[str, str]:
    told = {
        "PYTHONPATH": os.pathsep.join([str(HERE / "hook"), str(PACKAGE.parent)]),
        "VA_EDGE_LDP_MUTANT_MODULE": mutant.module,
        "VA_EDGE_LDP_MUTANT_SOURCE": str(source),
        "NUMBA_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if mutant.file.startswith("compute/plain/"):  # as on a machine without numba
        told |= {"VA_EDGE_LDP_KERNEL": "plain"}
    if mutant.file.startswith("compute/compiled/"):  # as in a participant's program; what is kept is of the real source
        told |= {"NUMBA_CACHE_DIR": str(source.parent), "VA_EDGE_LDP_KERNEL": "compiled"}
    return {**os.environ, **told}


def _run(command: Sequence[str], environment: dict[str, str], limit: float) -> tuple[str, bool]:
    """What a program printed, and whether it had ended by then."""
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=TESTS.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=limit)[0], True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return process.communicate()[0], False


def _audited(mutant: Mutant, result: Result, extent: str, environment: dict[str, str], limit: float) -> None:
    command = [sys.executable, str(HERE / "audits.py"), mutant.module, extent, *mutant.audits]
    printed, ended = _run(command, environment, limit if extent == "near" else 3 * limit)
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    if not lines and ended:
        result.invalid = printed[-160:].replace("\n", " ") or "no audit ran"
    for line in lines:
        if line.get("invalid"):
            result.invalid = line["invalid"]
        elif not line["passed"]:
            result.audit, result.found = line["audit"], line["found"]
    if not ended:
        result.late = f"the audits took longer than {limit:.0f} s"


def _tested(mutant: Mutant, result: Result, environment: dict[str, str], limit: float) -> None:
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not long", "--no-header"]
    printed, ended = _run([sys.executable, "-m", "pytest", *options, *mutant.tests], environment, limit)
    failed = [line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if failed:
        result.test = failed[0].split(" - ")[0].removeprefix("FAILED ").removeprefix("ERROR ")
    elif not ended:
        result.late = f"{result.late} the tests took longer than {limit:.0f} s".strip()


def chosen(mutants: list[Mutant], only: str | None, short: bool) -> list[Mutant]:
    """Those that are asked for; all mutants must be where the table says, whichever are asked for."""
    problems = []
    for mutant in mutants:
        try:
            mutant.source()
        except MisplacedError as error:
            problems.append(str(error))
    if problems:
        raise MisplacedError("\n".join(problems))
    if short:
        return [mutant for mutant in mutants if mutant.name in SHORT]
    parts = only.split(",") if only else [""]
    return [mutant for mutant in mutants if any(part in mutant.name or part in mutant.file for part in parts)]


def kept(path: Path | None, mutants: Sequence[Mutant]) -> list[Result]:
    """What an earlier run wrote into the file about these mutants; nothing without a file."""
    if path is None or not path.exists():
        return []
    names = {mutant.name for mutant in mutants}
    found = [Result(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    return [each for each in found if each.name in names]


def keep(path: Path, result: Result) -> None:
    """Add one result to the file, so that a run that is stopped can go on from there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """How many of the real mutants were caught by whom; and whether a control rang."""
    real = [each for each in results if not each.harmless and not each.invalid]
    counts = {verdict: sum(each.verdict == verdict for each in real) for verdict in ("audit", "test", "nothing")}
    rang = [each.name for each in results if each.harmless and each.rang]
    invalid = [each.name for each in results if each.invalid]
    missed = [each.name for each in real if each.verdict == "nothing"]
    return {"mutants": len(real), **counts, "missed": missed, "controls_that_rang": rang, "invalid": invalid}


def told(found: dict[str, Any]) -> str:
    """The summary in words."""
    count = max(found["mutants"], 1)
    lines = [
        f"{found['mutants']} mutants: {found['audit']} caught by the audit ({found['audit'] / count:.0%}), "
        f"{found['test']} by tests alone, {found['nothing']} by nothing.",
        *(f"{words}: {', '.join(found[key])}." for words, key in _LISTED.items() if found[key]),
    ]
    return "\n".join(lines)


_LISTED = {
    "Caught by nothing": "missed",
    "Controls that rang": "controls_that_rang",
    "Invalid, and not counted": "invalid",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 where everything was caught and no control rang; 1 where not; 2 where the table is not true."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", help="mutants with one of these in their name or file; commas between")
    parser.add_argument("--short", action="store_true", help="a few quick ones of every part")
    parser.add_argument("--whole", action="store_true", help="where the audits of its file miss it, all others too")
    parser.add_argument("--no-tests", action="store_true", help="audits alone")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a mutant's audits, and for its tests")
    parser.add_argument("--json", type=Path, help="a file for all results")
    parser.add_argument("--resume", type=Path, help="a file of results: added to, and not tried again what is in it")
    options = parser.parse_args(arguments)
    try:
        mutants = chosen(read(), options.only, options.short)
    except MisplacedError as error:
        print(error, file=sys.stderr)
        return 2
    extent, results = "whole" if options.whole else "near", kept(options.resume, mutants)
    left = [mutant for mutant in mutants if mutant.name not in {each.name for each in results}]
    with ThreadPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(tried, each, extent, not options.no_tests, options.limit) for each in left]
        for task in as_completed(tasks):
            results.append(task.result())
            print(results[-1].line(), flush=True)
            if options.resume:
                keep(options.resume, results[-1])
    order = {mutant.name: place for place, mutant in enumerate(mutants)}
    results.sort(key=lambda each: order[each.name])
    found = summary(results)
    print(told(found))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        rows = [{**asdict(each), "verdict": each.verdict} for each in results]
        options.json.write_text(json.dumps({**found, "results": rows}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if found["missed"] or found["controls_that_rang"] else 0


if __name__ == "__main__":
    sys.exit(main())
