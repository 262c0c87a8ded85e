"""From a study to what its server says of the campaign: rounds, deadlines, health, answers; or why it says nothing."""

from collections.abc import Mapping
from typing import Any

from visibility_aware_edge_ldp.campaign.amendments import Amended
from visibility_aware_edge_ldp.campaign.console.results import answers_of
from visibility_aware_edge_ldp.campaign.console.studies import STATUS_SECONDS, Study
from visibility_aware_edge_ldp.campaign.console.study_pages import ESTIMATED, ServerStatus
from visibility_aware_edge_ldp.campaign.console.vault import Key
from visibility_aware_edge_ldp.campaign.http_client import json_object
from visibility_aware_edge_ldp.campaign.server.operations import refuse_broken_log
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, VaEdgeLdpError

_PREFIX = "va_edge_ldp_campaign_"
_STATES = frozenset({"waiting", "open", "closing", "closed", "estimated"})


def ask_status(study: Study, key: Key) -> ServerStatus:
    """How the campaign of a study stands by its server; where the server cannot be reached, the reason."""
    operator, own = study.operator(key, STATUS_SECONDS), study.amended(key)
    try:
        rounds = [_checked(each) for each in operator.rounds(study.charter)]
        there = Amended.from_bytes(study.charter, operator.ask("GET", "/v1/amendments").body)
        health = _health(operator.ask("GET", "/metrics").body.decode(errors="replace"))
        health = (("Health", _said(operator)), *health)
        made = bool(rounds) and all(each["state"] == ESTIMATED for each in rounds)
        answers = answers_of(operator.ask("GET", "/v1/estimates").body, study.charter) if made else None
    except VaEdgeLdpError as error:
        return ServerStatus(closes=own.rounds, silent=str(error))
    pending = max(0, len(own.signed) - len(there.signed))
    return ServerStatus(rounds, there.rounds, there.withdrawals, health, answers, pending=pending)


def ask_log(study: Study, key: Key) -> list[dict[str, Any]]:
    """The server's log of what operators did; refuses one whose hashes do not fit."""
    said = json_object(study.operator(key, STATUS_SECONDS).ask("GET", "/v1/operations").body)
    return refuse_broken_log(said.get("operations"))


def _said(operator: Any) -> str:
    """One sentence on the server's health."""
    try:
        operator.ask("GET", "/healthz")
    except BadInput as error:
        return str(error)
    return "the server answers, and its store can be written"


def _health(text: str) -> tuple[tuple[str, str], ...]:
    """From a server's metrics to what an operator needs to know: pairs of a label and a text."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith(_PREFIX):
            try:
                found[name.removeprefix(_PREFIX)] = float(value)
            except ValueError:
                continue
    lines = [("Free on its disk", f"{found['free_octets'] / 1e9:,.1f} GB")] if "free_octets" in found else []
    if found.get("clock_jump_seconds"):
        lines.append(("Clock", f"somebody moved it by {found['clock_jump_seconds']:,.0f} seconds; set it right"))
    if "waiting_uploads" in found:
        lines.append(("Reports that wait for the disk", f"{found['waiting_uploads']:,.0f}"))
    return tuple(lines)


def _checked(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state of a round as the server sent it; refuses one that lacks a part."""
    counts = all(type(said.get(name)) is int for name in ("round", "received", "asked"))
    if not counts or said.get("state") not in _STATES:
        raise ProtocolViolation("The server does not say how the round stands.")
    return said
