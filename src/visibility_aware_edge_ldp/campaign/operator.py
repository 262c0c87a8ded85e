"""The operator's side of a campaign: ask its server how it stands, close a round, have the answers made."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import Charter, SignedCharter
from visibility_aware_edge_ldp.campaign.participant.transport import NotReached, checked_url
from visibility_aware_edge_ldp.campaign.problems import MEDIA_TYPE
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

# Closing a round and making the answers take as long as they take; the connection is held open for that.
SECONDS = 3600.0
# Octets of an answer: noisy degrees of a million people, and much else.
LARGEST = 1 << 26
_GRANTED = (200, 201)


@dataclass(frozen=True)
class Operator:
    """Requests to one campaign's server; ``token`` is needed to close a round and to have the answers made."""

    url: str
    token: str = field(default="", repr=False)
    seconds: float = SECONDS

    def charter(self) -> Charter:
        """The charter, with its signature checked against the issuer that it names."""
        _, headers, data = self._ask("GET", "/v1/charter")
        signed = SignedCharter.from_hex(data, headers.get("charter-signature", ""))
        return signed.opened(Charter.from_bytes(data).issuer)

    def rounds(self, charter: Charter) -> list[dict[str, Any]]:
        """How each round stands."""
        return [self._object("GET", f"/v1/rounds/{number}") for number in range(1, len(charter.rounds) + 1)]

    def close(self, number: int) -> dict[str, Any]:
        """Take no more reports for a round; it may be asked for again."""
        return self._object("POST", f"/v1/rounds/{number}/close")

    def answers(self) -> bytes:
        """The answers as the server keeps them; with the operator's token they are made if need be."""
        return self._ask("POST", "/v1/estimate")[2] if self.token else self._ask("GET", "/v1/estimates")[2]

    def _object(self, method: str, path: str) -> dict[str, Any]:
        content: Any = _read(self._ask(method, path)[2])
        if not isinstance(content, dict):
            raise ProtocolViolation("The server's answer is not a JSON object.")
        return content

    def _ask(self, method: str, path: str) -> tuple[int, Mapping[str, str], bytes]:
        parts = checked_url(self.url)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        host, port = parts.hostname or "", parts.port
        connection = (
            http.client.HTTPSConnection(host, port, timeout=self.seconds, context=ssl.create_default_context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=self.seconds)
        )
        try:
            connection.request(method, parts.path.rstrip("/") + path, headers=headers)
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            status, body = reply.status, reply.read(LARGEST + 1)
            if reply.length and len(body) <= LARGEST:  # a read of so many octets does not say that some are missing
                raise http.client.IncompleteRead(body, reply.length)
        except (OSError, http.client.HTTPException) as error:
            raise NotReached(
                f"The server at {parts.netloc} does not answer ({type(error).__name__}). Is it running? Start it with: "
                "va-edge-ldp campaign serve DIRECTORY"
            ) from error
        finally:
            connection.close()
        if len(body) > LARGEST:
            raise ProtocolViolation(f"The server at {parts.netloc} answers with more than {LARGEST >> 20} MiB.")
        if status not in _GRANTED:
            raise BadInput(_said(status, found, body))
        return status, found, body


def _said(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """What the server says of its refusal, as a sentence."""
    if status in (401, 403):
        return "The server does not take this operator's token; name the file with --token-file."
    content = _read(body) if headers.get("content-type", "").startswith(MEDIA_TYPE) else {}
    words = content.get("detail") or content.get("title") if isinstance(content, dict) else None
    shown = words if isinstance(words, str) and words.isprintable() else "it gave no reason."
    return f"The server declined ({status}): {shown}"


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolViolation("The server's answer is not JSON.") from error
