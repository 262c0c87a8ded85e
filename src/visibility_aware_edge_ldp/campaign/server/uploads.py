"""Uploads that are in order, taken as they come: without a task, and answered a group at a time.

A task for each request costs about as much as all that is done with an upload. So the connection asks here first. What
is not surely in order is left to the application, which looks at it from the beginning and says what is wrong with it:
nothing is refused here for its head or its octets, and nothing is taken that the application would not take.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.campaign.server.messages import HEAD, OCTETS, Header, Message, Reply, refused
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, StoreUnavailable, Upload, tell_all
from visibility_aware_edge_ldp.campaign.server.stores.turns import OutdatedProcess
from visibility_aware_edge_ldp.campaign.statements import sign_receipts
from visibility_aware_edge_ldp.errors import ProtocolViolation

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.server.app import App

_PATH = re.compile(r"/v1/rounds/([12])/reports/(0|[1-9][0-9]{0,9})")
_UNUSUAL = frozenset({b"transfer-encoding", b"content-encoding", b"expect", b"upgrade"})
# Uvicorn reads no more of a body than this before somebody takes it.
_MOST = 1 << 16
Tell = Callable[[Reply | None], None]


class Expected:
    """An upload whose head is in order: from whom, for which round, and what its reply says ``more``."""

    __slots__ = ("_app", "_number", "_participant", "more")

    def __init__(self, app: App, number: int, participant: int) -> None:
        self._app, self._number, self._participant = app, number, participant
        self.more: tuple[Header, ...] = ()

    def put(self, body: bytes, tell: Tell) -> bool:
        """Whether the octets are in order, too, and handed to the store.

        ``tell`` hears the reply once it is known, or None where the application has to look at the request.
        """
        app, number = self._app, self._number
        if not app.rounds.takes(number):
            return False
        upload = Upload.of(number, self._participant, body, app.rounds.arrivals.now(number))
        begun = time.perf_counter()

        def replied(reply: Reply) -> None:
            app.metrics.replied("report", reply.status)
            tell(reply)

        def told(outcome: Outcome | Exception) -> None:
            if isinstance(outcome, Outcome):
                try:
                    app.uploaded(upload, outcome, begun, replied)
                except Exception as failure:
                    replied(refused(failure))
            elif isinstance(outcome, OutdatedProcess):
                tell(None)
            else:
                replied(refused(outcome))

        try:
            app.rounds.hand(upload, told)
        except (ProtocolViolation, StoreUnavailable):
            return False
        return True


def expected(app: App, scope: Message) -> Expected | None:
    """The upload that this head announces, if the application would surely read it; its body is short, too."""
    found = _PATH.fullmatch(scope["path"]) if scope["method"] == "PUT" else None
    listed = scope["headers"]
    headers = dict(listed)
    if found is None or len(headers) != len(listed) or not _UNUSUAL.isdisjoint(headers):
        return None
    number, participant = int(found[1]), int(found[2])
    if number not in app.rounds.stages or participant >= app.served.charter.nodes or not app.rounds.takes(number):
        return None
    size = app.rounds.upload_size(number, participant)
    if size is None or size > _MOST or headers.get(b"content-length") != b"%d" % size:
        return None
    octets = sum(map(len, headers)) + sum(map(len, headers.values()))
    if octets > HEAD or headers.get(b"content-type") != OCTETS or not app.operations.admits(headers, participant):
        return None
    return Expected(app, number, participant)


class Receipts:
    """Replies with receipts. Those of one moment, such as of one commit, have one signature.  [WITNESS.5]"""

    def __init__(self, key: bytes) -> None:
        self._key, self._waiting = key, list[tuple[bytes, int, Callable[[Reply], None]]]()

    def tell(self, receipt: bytes, status: int, told: Callable[[Reply], None]) -> None:
        """Tell the reply in the next turn of the event loop, signed where the campaign's server has a key."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._sign)
        self._waiting.append((receipt, status, told))

    def _sign(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            replies = self._replies([(receipt, status) for receipt, status, _ in waiting])
        except Exception as failure:
            replies = [refused(failure)] * len(waiting)
        tell_all((told, reply) for (_, _, told), reply in zip(waiting, replies, strict=True))

    def _replies(self, receipts: list[tuple[bytes, int]]) -> list[Reply]:
        if not self._key:
            return [Reply(status, receipt) for receipt, status in receipts]
        signed = sign_receipts(self._key, [receipt for receipt, _ in receipts])
        headers = [((b"receipt-signature", each.encode()),) for each in signed]
        return [Reply(status, data, headers=each) for (data, status), each in zip(receipts, headers, strict=True)]
