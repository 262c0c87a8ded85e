"""``va-edge-ldp ego-survey``: what an ego survey says on a roster, what did not match, and what can be made from it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visibility_aware_edge_ldp.commands import common

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.truth.ego_survey import EgoSurvey

SHOWN = 12


def ego_survey(
    survey: Annotated[Path, typer.Argument(help="A folder, a ZIP archive or a file of egor or Network Canvas.")],
    roster: common.RosterOption = None,
    columns: common.ColumnsOption = None,
    ties: common.TiesOption = None,
    matching: Annotated[
        Path | None, typer.Option(help="Write here, as CSV, what became of every name: for your eyes alone.")
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="Write the ties here, as CSV, two names on a line.")] = None,
    friends: Annotated[
        Path | None, typer.Option(help="Write each respondent's friend list for campaign answer to this folder.")
    ] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Match the alters of an ego survey to a roster, and say what did not match."""
    from visibility_aware_edge_ldp.truth.ego_survey import EITHER, read_ego_survey

    found = read_ego_survey(survey, roster=roster, columns=columns, ties=ties or EITHER)
    if matching is not None:
        found.matching.to_csv(matching)
    if edges is not None:
        _write_edges(found, edges)
    written = [str(path) for path in (matching, edges) if path is not None]
    if friends is not None:
        found.write_friends(friends)
        written.append(f"{friends} (whose list is in which file: index.json)")
    if as_json:
        common.print_json("ego-survey", _counts(found))
        return
    typer.echo("\n".join([*_told(found), f"The graph has {found.graph.m:,} ties.", *_lost(found)]))
    if written:
        typer.echo(f"Wrote {', '.join(written)}. They name private ties: keep them to yourself.")
    told = common.to_type("estimate", str(survey), roster=roster, columns=columns, ties=ties)
    typer.echo("\n".join(common.try_next({told: "what a private collection among these people would give"}, 2)))


def _told(found: EgoSurvey) -> list[str]:
    return [f"{line[0].upper()}{line[1:]}." for line in found.lines()]


def _lost(found: EgoSurvey) -> list[str]:
    lost = found.matching.lines()
    more = len(lost) - SHOWN
    return [*lost[:SHOWN], *([f"And {more:,} more; all of them: --matching FILE."] if more > 0 else [])]


def _counts(found: EgoSurvey) -> dict[str, Any]:
    """How much matched, and the names that did not, for JSON."""
    both, either = found.agreement
    outcomes = Counter(row.outcome for row in found.matching.rows if row.ego)
    return {
        "source": found.source, "roster": len(found.names), "asked": len(found.named), "ties": found.graph.m,
        "alters": dict(sorted(outcomes.items())), "agreement": {"both": both, "either": either},
        "unmatched": [{**row._asdict(), "perhaps": list(row.perhaps)} for row in found.matching.lost],
    }  # fmt: skip


def _write_edges(found: EgoSurvey, path: Path) -> None:
    import csv

    names = found.graph.names
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["from", "to"])
        rows.writerows([names[u], names[v]] for u, v in found.graph.edges.tolist())
