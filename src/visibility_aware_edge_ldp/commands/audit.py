"""``va-edge-ldp audit``."""

from pathlib import Path
from typing import Annotated, Any

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
LONG_WALKS = "Walks of everything that four users can do take half an hour more on two cores."
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
    scope: Annotated[str | None, typer.Option(help="With --policy: a scope too, as for estimate.")] = None,
    attributes: Annotated[
        str | None,
        typer.Option(
            help="With --graph: columns of the policy's table that are public, comma-separated; with --scope, the "
            "table of the nodes (a CSV file) whose columns it goes by."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write audit.html and audit.json here.")] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Check every privacy claim on this machine, and that broken twins are caught; or what a policy tells."""
    if any(given is not None for given in (graph, policy, scope, attributes)):
        _check_policy(graph, policy, scope, attributes, as_json)
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


def _check_policy(
    graph: str | None, policy: str | None, scope: str | None, attributes: str | None, as_json: bool
) -> None:
    """The leak check: what do the policy, and its scope, alone tell about this graph's edges?"""
    from visibility_aware_edge_ldp.audit.leakage import leak
    from visibility_aware_edge_ldp.audit.tables import leak_table
    from visibility_aware_edge_ldp.errors import AuditFailed
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph
    from visibility_aware_edge_ldp.truth.policy_file import declared_attributes, open_policy, scope_attributes

    if graph is None or policy is None:
        raise BadInput("Checking a policy needs the edges and the policy. Give both --graph and --policy.")
    named = [] if attributes is None else [name.strip() for name in attributes.split(",")]
    table = next((name for name in named if scope and Path(name).is_file()), None)
    columns = [name for name in named if name != table]
    held, opened = common.open_named(graph, None, as_json), open_policy(policy)
    declared: dict[Any, dict[str, Any]] = declared_attributes(policy, columns) if columns else {}
    if scope is not None:
        opened = VisibilityAwareGraph(held, opened).inside(scope, table).policy
        for name, row in scope_attributes(scope, table).items():
            declared[name] = {**declared.get(name, {}), **row}
    found = leak(held, opened, declared or None)
    if as_json:
        said = {"graph": graph, "policy": policy, **({"scope": scope} if scope else {}), "declared": columns}
        common.print_json("policy-check", {**said, **found.as_dict()})
    else:
        common.print_findings(leak_table(found))
    if not found.passed:
        raise AuditFailed(found.advice)
    if not as_json:
        common.print_words(found.advice)
        again = common.to_type("estimate", graph, policy=policy, scope=scope, attributes=table)
        common.print_tour(TELLS, {again: "one collection under this policy"})
