"""What ``campaign check`` says: how each report stands, the codes to compare, and what another was shown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

ExportOption = Annotated[
    Path | None,
    typer.Option(
        "--export",
        help="Write what the server signed, and the issuer's log, to a file for others to compare with; it holds "
        "nothing about you.",
    ),
]
CompareOption = Annotated[
    Path | None,
    typer.Option("--compare", help="A file that another wrote with --export; exit code 3 at the first difference."),
]


def new_log_lines(campaign: Any, issuer_key: Path | None) -> list[str]:
    """That a key that was used before has no log beside it, so that participants would see two."""
    if issuer_key is None or len(campaign.log.entries) > 1:
        return []
    return [
        f"Note: no log.json was beside {issuer_key}, so a new log of your charters begins. If this key has issued "
        "charters with a log before, bring that log and make the campaign anew: two logs accuse you of lying."
    ]


def check_lines(found: Sequence[Any], home: Path, campaign: str | None) -> list[str]:
    """A line for each report, the code of each closed round, and what the issuer's log names."""
    from visibility_aware_edge_ldp.campaign.participant import comparison
    from visibility_aware_edge_ldp.campaign.participant.enrolment import load

    lines = [_standing_line(each) for each in found]
    own = comparison.shown(home, campaign) if any(each.code for each in found) else None
    if own is not None:
        lines += [f"Code of round {number}: {code}" for number, code in own.codes.items()]
        lines.append(
            "A code stands for the charter, the reports and the transcript: read it to others who took part, and "
            "compare it with the server's page."
        )
        lines.append(comparison.charters_line(own, load(home, campaign).charter))
    elif any(each.root for each in found):
        lines.append(comparison.UNSIGNED)
    return lines


def _standing_line(found: Any) -> str:
    from visibility_aware_edge_ldp.campaign.participant import server_checks as checks

    report = f"Your report of round {found.round} ({found.digest[:16]})"
    frozen = f"that {'the answers name' if found.answers else 'the server froze'}, with the root {found.root}"
    said = {
        checks.INCLUDED: f"is, unchanged, one of {found.count:,} in the set {frozen}.",
        checks.NOT_CLOSED: "was acknowledged, and the server holds it; the round is not closed yet. Check again then.",
        checks.UNACKNOWLEDGED: "was sent, but never acknowledged: send it again with `va-edge-ldp campaign answer`.",
        checks.LEFT_OUT: "was never acknowledged, and is not in the set that the server froze: it was not counted.",
        checks.WITHDRAWN: "was removed, because you withdrew: the issuer's amendment shows it. It was not counted.",
    }
    return f"{report} {said[found.standing]}"


def exchange(home: Path, campaign: str | None, export: Path | None, compare: Path | None) -> str:
    """Write the file for others, read another's; the sentence that nothing differs, or nothing."""
    from visibility_aware_edge_ldp.campaign.participant import comparison

    if export is None and compare is None:
        return ""
    own = comparison.shown(home, campaign)
    if export is not None:
        comparison.export(own, export)
    return "" if compare is None else comparison.compare(own, compare)


def observe(place: str, export: Path) -> None:
    """Write what a server shows to anybody to a file, for participants to compare with."""
    from visibility_aware_edge_ldp.campaign.http_client import Patience, Transport
    from visibility_aware_edge_ldp.campaign.participant import comparison
    from visibility_aware_edge_ldp.commands.campaign_labels import operator_at

    operator = operator_at(place, None)
    transport = Transport(operator.url, patience=Patience(total=30.0))
    comparison.export(comparison.observed(transport, operator.charter()), export)
