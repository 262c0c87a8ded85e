"""Runs the audits that a mutant is tried with, one after the other, until one fails; one line of JSON for each.

``python audits.py MODULE WHOLE NAME…``: the module that holds the mutant, "whole" or "near", and parts of the names of
the audits that come first. Clocks are left out: a mutant of what is sent is not told by the time.
"""

import importlib
import json
import sys
from collections.abc import Iterator

# A module that cannot even be imported, or that uses names which do not exist, is no subtle bug.
CLUMSY = ("NameError", "UnboundLocalError", "AttributeError", "ImportError", "SyntaxError")


def main(module: str, extent: str, *names: str) -> None:
    """Print what each audit found; stop at the first that does not pass."""
    try:
        importlib.import_module(module)
        from visibility_aware_edge_ldp.audit import catalogue, runner
    except Exception as error:  # whatever it raises, it is the mutant's
        print(json.dumps({"invalid": f"{type(error).__name__}: {error}"}), flush=True)
        return
    audits = [audit for audit in catalogue.catalogue() if not audit.broken and audit.way != "time"]
    for audit in _in_order(audits, names, extent == "whole", runner.usual_seconds):
        outcome = runner.measured(audit)
        words = {"audit": f"{audit.name} ({audit.way})", "passed": outcome.passed, "seconds": outcome.seconds}
        if outcome.trouble.startswith(CLUMSY):
            words["invalid"] = outcome.trouble
        print(json.dumps({**words, "found": _found(outcome)}), flush=True)
        if not outcome.passed:
            return


def _in_order(audits: list, names: tuple[str, ...], whole: bool, seconds: object) -> Iterator[object]:  # type: ignore[type-arg]
    """Those that are named first, in the order of the names, each the quickest first; then perhaps all others."""
    left = sorted(audits, key=lambda audit: seconds(audit, 10**6))  # type: ignore[operator]
    for name in names:
        found = [audit for audit in left if name in audit.name]
        left = [audit for audit in left if name not in audit.name]
        yield from found
    if whole:
        yield from left


def _found(outcome: object) -> str:
    """The loss that is above its claim, or what stopped the audit."""
    if outcome.trouble:  # type: ignore[attr-defined]
        return outcome.trouble[:160]  # type: ignore[attr-defined,no-any-return]
    over = [loss for loss in outcome.finding.losses if not loss.holds]  # type: ignore[attr-defined]
    said = [f"{loss.kind} {loss.found:.4g} of {loss.claimed:.4g}" for loss in over]
    return "; ".join(said)


if __name__ == "__main__":
    main(*sys.argv[1:])
