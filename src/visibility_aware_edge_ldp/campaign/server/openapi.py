"""The interface in OpenAPI's words, for programs that generate clients or tests."""

from __future__ import annotations

import json
from typing import Any

from visibility_aware_edge_ldp.campaign.problems import MEDIA_TYPE, PROBLEMS

_JSON, _OCTETS = "application/json", "application/octet-stream"


def described(rounds: int, participants: int, page: bool = True) -> bytes:
    """The description of a campaign's server, with its page or without."""
    report = "/v1/rounds/{round}/reports/{participant}"
    place = [_number("round", 1, rounds), _number("participant", 0, participants - 1)]
    number = place[:1]
    paths: dict[str, Any] = {
        "/v1/charter": {"get": _operation("The signed charter.", {200: _JSON, 304: None})},
        "/v1/roster": {"get": _operation("The names, in order.", {200: _JSON, 304: None})},
        "/v1/policy": {"get": _operation("Which positions are public.", {200: _JSON, 304: None})},
        "/v1/edges": {"get": _operation("The public edges.", {200: _JSON, 304: None})},
        "/v1/rounds/{round}": {
            "get": _operation("The state of a round, and how many came when.", {200: _JSON}, number)
        },
        "/v1/rounds/{round}/transcript": {
            "get": _operation("The first answers, until reports are erased.", {200: _OCTETS, 304: None}, number)
            | {"description": _ERASED}
        },
        "/v1/rounds/{round}/close": {"post": _operation("Take no more reports.", {200: _JSON}, number, True)},
        report: {
            "put": _operation("Store a report.", {200: _JSON, 201: _JSON}, place, True) | {"requestBody": _BODY},
            "get": _operation("The receipt of a stored report.", {200: _JSON}, place, True),
        },
        "/v1/rounds/{round}/proof/{participant}": {
            "get": _operation("That a report is included.", {200: _JSON}, place, True)
        },
        "/v1/estimate": {"post": _operation("Make the answers.", {200: _JSON}, secured=True)},
        "/v1/estimates": {"get": _operation("The answers.", {200: _JSON})},
        "/healthz": {"get": _operation("Whether the server and its store answer.", {200: _JSON})},
        "/metrics": {"get": _operation("Counters for Prometheus.", {200: "text/plain"})},
    }
    if page:
        paths["/"] = {"get": _operation("The page for people.", {200: "text/html"})}
    bearer = {"bearer": {"type": "http", "scheme": "bearer"}}
    about = {"title": "VA-Edge-LDP campaign", "version": "1", "description": "Collects randomized reports."}
    parts = {"securitySchemes": bearer, "schemas": {"Problem": _PROBLEM}}
    return json.dumps({"openapi": "3.1.0", "info": about, "paths": paths, "components": parts}).encode()


def _operation(
    summary: str, replies: dict[int, str | None], parameters: list[Any] | None = None, secured: bool = False
) -> dict[str, Any]:
    said: dict[str, Any] = {
        str(status): {"description": "Done."} | ({"content": {kind: {"schema": {}}}} if kind else {})
        for status, kind in replies.items()
    }
    said["4XX"] = said["503"] = {
        "description": "Refused.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    found: dict[str, Any] = {"summary": summary, "responses": said, "parameters": parameters or []}
    return found | ({"security": [{"bearer": []}]} if secured else {})


def _number(name: str, least: int, most: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return {"name": name, "in": "path", "required": True, "schema": schema}


_ERASED = (
    "The first reports can be made again from the transcript, so it is erased with them, and answered 410 "
    "(urn:va-edge-ldp:problem:erased) from then on. Its digest goes from the state of the round, too: it has no salt."
)
_BODY = {"required": True, "content": {_OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "enum": sorted(problem.type for problem in PROBLEMS.values())},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
