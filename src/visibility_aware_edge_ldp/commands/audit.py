"""``va-edge-ldp audit``."""

from pathlib import Path
from typing import Annotated

import typer

import visibility_aware_edge_ldp.commands.common as common
from visibility_aware_edge_ldp.errors import BadInput

MEANING = "a claim holds where “exact” and “shown” stay at or below “claimed” (✓)."
CAUGHT = "That broken twins were caught says that this audit would have seen such a fault."
NO_TWINS = "No broken twin was audited, so nothing says which faults this audit would have seen."
STEPS = {
    "va-edge-ldp audit --output out": "as a page, and in reports",
    "va-edge-ldp audit --graph random:300,3000 --policy profiles:0.5": "what a policy tells",
}
LONG_WALKS = "Walks of everything that four users can do take minutes more, which nobody has counted."
# An audit's memory is that of its processes: it is said beside the time, and not where it is all that there is to say.
SOME_PROCESSES = 64
TELLS = "nothing was seen in who is public that gives away who knows whom. That is a test, and no proof."


def audit(
    mechanism: Annotated[str, typer.Option(help="A part of its name, such as position or curator; or all.")] = "all",
    way: Annotated[str, typer.Option(help="exact, statistical, time, or all.")] = "all",
    runs: Annotated[int, typer.Option(min=400, help="Statistical: runs a side. Below 10^6 a twin may escape.")] = 10**6,
    long: Annotated[bool, typer.Option("--long", help="10^7 runs a side, and every walk of four users.")] = False,
    twins: Annotated[bool, typer.Option(help="Audit broken twins too, which must be caught.")] = True,
    false_alarms: Annotated[
        bool, typer.Option("--false-alarms", help="Count false alarms over 1,000 audits in place of 100.")
    ] = False,
    graph: Annotated[str | None, typer.Option(help="Check a policy instead: with this graph's edges.")] = None,
    policy: Annotated[str | None, typer.Option(help="With --graph: the policy, as for estimate.")] = None,
    attributes: Annotated[
        str | None, typer.Option(help="With --graph: columns of the policy's table that are public, comma-separated.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write audit.html and audit.json here.")] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Check every privacy claim on this machine, and that broken twins are caught; or what a policy tells."""
    if graph is not None or policy is not None or attributes is not None:
        _check_policy(graph, policy, attributes, as_json)
        return

    from visibility_aware_edge_ldp.audit.catalogue import MANY_RUNS, Choice, chosen
    from visibility_aware_edge_ldp.audit.runner import run, runtime_forecast, wanted_repeats
    from visibility_aware_edge_ldp.audit.tables import LIMITS, failures, tables, verdict
    from visibility_aware_edge_ldp.errors import AuditFailed
    from visibility_aware_edge_ldp.presentation.result_files import audit_content, write_audit
    from visibility_aware_edge_ldp.simulation.worlds import Steps

    choice = Choice(mechanism, way, MANY_RUNS if long else runs, twins)
    repeats = wanted_repeats(choice, false_alarms)
    if not as_json:
        octets, seconds = runtime_forecast(choice, repeats)
        common.say_need(octets, seconds, LONG_WALKS if long else "", processes=SOME_PROCESSES)
    with common.progress_bar("audits") as progress:
        audited = run(choice, repeats, Steps(progress, len(chosen(choice))))
    if as_json:
        common.print_json("audit", audit_content(audited, common.typed()))
    else:
        for table in tables(audited):
            common.print_findings(table)
        common.print_words(f"{verdict(audited)} It took {audited.seconds:.0f} s on {audited.cores} cores.", LIMITS)
    for path in write_audit(audited, output, common.typed()) if output else []:
        typer.echo(f"Wrote {path}", err=as_json)
    if not audited.passed:
        raise AuditFailed(f"The audit failed: {'; '.join(failures(audited))}. Do not use or merge what was audited.")
    if not as_json:
        common.print_tour(f"{MEANING} {CAUGHT if audited.twins else NO_TWINS}", STEPS)


def _check_policy(graph: str | None, policy: str | None, attributes: str | None, as_json: bool) -> None:
    """The leak check: what does the policy alone tell about this graph's edges?"""
    from visibility_aware_edge_ldp.audit.leakage import declared_attributes, leak
    from visibility_aware_edge_ldp.audit.tables import leak_table
    from visibility_aware_edge_ldp.errors import AuditFailed
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    if graph is None or policy is None:
        raise BadInput("Checking a policy needs the edges and the policy. Give both --graph and --policy.")
    columns = [] if attributes is None else [name.strip() for name in attributes.split(",")]
    opened = open_policy(policy)
    found = leak(
        common.open_named(graph, None, as_json), opened, declared_attributes(policy, columns) if columns else None
    )
    if as_json:
        common.print_json("policy-check", {"graph": graph, "policy": policy, "declared": columns, **found.as_dict()})
    else:
        common.print_findings(leak_table(found))
    if not found.passed:
        raise AuditFailed(found.advice)
    if not as_json:
        common.print_words(found.advice)
        common.print_tour(TELLS, {common.to_type("estimate", graph, policy=policy): "one collection under this policy"})
