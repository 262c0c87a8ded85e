"""What is sent for what a request came to: problems, bytes that never change, large bodies in parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from visibility_aware_edge_ldp.campaign.server.logs import failed
from visibility_aware_edge_ldp.campaign.server.replies import INTERNAL, Refusal, Reply, problem_reply
from visibility_aware_edge_ldp.campaign.server.requests import Request, Send
from visibility_aware_edge_ldp.campaign.server.retention import Erased, NotReady
from visibility_aware_edge_ldp.campaign.server.store import StoreUnavailable
from visibility_aware_edge_ldp.campaign.server.writer import TooManyWaiting
from visibility_aware_edge_ldp.errors import ProtocolViolation

# Larger bodies are handed over in views of this size, so that a reply never holds a copy of the whole.
PART = 1 << 18
Handler = Callable[..., Awaitable[Reply]]


def handler_of(handlers: dict[str, Handler], request: Request) -> Handler:
    """What answers a request's method; a HEAD is a GET whose body stays here."""
    method = "GET" if request.method == "HEAD" else request.method
    if method not in handlers:
        allowed = ", ".join([*handlers, "HEAD"] if "GET" in handlers else handlers).encode()
        raise Refusal("method-not-allowed", headers=((b"allow", allowed), *request.closing))
    return handlers[method]


def refused(failure: Exception) -> Reply:
    """The answer to a request that was not granted; what was not foreseen is ours, and is logged."""
    if isinstance(failure, Refusal):
        return failure.reply
    if isinstance(failure, ProtocolViolation):
        return Refusal("bad-report", str(failure)).reply
    if isinstance(failure, NotReady):
        return Refusal("not-ready", str(failure)).reply
    if isinstance(failure, Erased):
        return Refusal("erased", str(failure)).reply
    if isinstance(failure, TooManyWaiting):
        return Refusal("too-many", str(failure)).reply
    failed("request", failure)
    if isinstance(failure, (StoreUnavailable, TimeoutError)):
        return Refusal("store-unavailable").reply
    return problem_reply(INTERNAL)


def cached(
    request: Request, data: bytes, digest: str, kind: bytes, extra: tuple[tuple[bytes, bytes], ...], seconds: int
) -> Reply:
    """Bytes that never change: whoever has them need not fetch them again for so many seconds."""
    tag = b'"%s"' % digest.encode()
    headers = ((b"etag", tag), (b"cache-control", b"public, max-age=%d, immutable" % seconds), *extra)
    held = [each.strip() for each in request.headers.get(b"if-none-match", b"").split(b",")]
    return Reply(304, b"", kind, headers) if tag in held else Reply(200, data, kind, headers)


async def sent(reply: Reply, send: Send, head_only: bool) -> None:
    """Send a reply, a large one in parts."""
    await send({"type": "http.response.start", "status": reply.status, "headers": reply.head})
    body = reply.body
    if len(body) <= PART or head_only:
        return await send({"type": "http.response.body", "body": b"" if head_only else body})
    view = memoryview(body)
    for start in range(0, len(body), PART):
        more = start + PART < len(body)
        await send({"type": "http.response.body", "body": view[start : start + PART], "more_body": more})
    return None
