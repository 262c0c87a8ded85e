"""What each stage of taking a report costs the server, in microseconds of processor time, without a network."""

from __future__ import annotations

import asyncio
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from support.campaign_lab import Lab, sqlite_url, stub_estimate
from visibility_aware_edge_ldp.campaign.browser_page import WithBrowserPage
from visibility_aware_edge_ldp.campaign.server.app import App, open_store
from visibility_aware_edge_ldp.campaign.server.campaigns import Campaigns
from visibility_aware_edge_ldp.campaign.server.messages import raw
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, Upload
from visibility_aware_edge_ldp.campaign.server.uploads import Receipts
from visibility_aware_edge_ldp.campaign.wire_format import Receipt

_DATE = [(b"date", b"Thu, 19 Nov 2026 05:00:00 GMT")]
_GROUP = 100


def stages(lab: Lab) -> dict[str, float]:
    """Each stage by itself, with warm caches: the least of some repeats."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        app = App(lab.served, lambda: _opened(lab, Path(folder), "served"), stub_estimate)
        runner.run(app.start())
        try:
            found = _stages_of(app, lab)
        finally:
            runner.run(app.stop())
        found["store, of a group of 100"] = _stored(lab, Path(folder))
    return {name: round(microseconds, 1) for name, microseconds in found.items()}


def _stages_of(app: App, lab: Lab) -> dict[str, float]:
    person = lab.asked[len(lab.asked) // 2]
    body, key = lab.report(person), lab.served.campaign.key
    headers = [
        (b"host", b"here"),
        (b"authorization", b"Bearer " + lab.tokens[person].encode()),
        (b"content-type", b"application/octet-stream"),
        (b"content-length", b"%d" % len(body)),
    ]
    head = {"type": "http", "method": "PUT", "path": lab.path(person), "headers": headers}
    hosted = Campaigns({lab.served.charter.identity: app}, WithBrowserPage)
    found, rounds = hosted.expects(head), app.rounds
    assert found is not None
    slot = rounds.arrivals.now(1)
    upload = Upload.of(1, person, body, slot)
    receipt = Receipt(lab.served.charter.identity, 1, person, upload.digest.hex()).to_bytes()
    replies = Receipts(key)._replies([(receipt, 201)] * _GROUP)
    group = _least(lambda: Receipts(key)._replies([(receipt, 201)] * _GROUP), 20) / _GROUP
    app._receipts.tell = lambda *told: None  # type: ignore[method-assign]
    reply = replies[0]
    return {
        "head: path, token, state of the round": _least(lambda: hosted.expects(head)),
        "slot and digest": _least(lambda: Upload.of(1, person, body, rounds.arrivals.now(1))),
        "check of the report": _least(lambda: rounds.check(1, person, body)),
        "receipt": _least(lambda: app.uploaded(upload, Outcome.SAME, 0.0, replies.append)),
        "signature, of a group of 100": group,
        "reply": _least(lambda: raw(reply, _DATE, found.more)),
    }


def _least(work: Callable[[], object], number: int = 300, repeat: int = 40) -> float:
    return 1e6 * min(timeit.repeat(work, number=number, repeat=repeat, timer=time.process_time)) / number


def _stored(lab: Lab, folder: Path) -> float:
    """The middle one of many groups, with its commit: an index grows while they come."""
    some: Sequence[int] = np.random.default_rng(0).permutation(lab.asked)[: 40 * _GROUP].tolist()
    store, seconds = _opened(lab, folder, "groups"), []
    uploads = [Upload.of(1, person, lab.report(person)) for person in some]
    for start in range(0, len(uploads) - _GROUP + 1, _GROUP):
        begun = time.thread_time()
        store.put(uploads[start : start + _GROUP])
        seconds.append(time.thread_time() - begun)
    store.close()
    return 1e6 * float(np.median(seconds)) / _GROUP


def _opened(lab: Lab, folder: Path, name: str) -> Store:
    place = folder / name
    place.mkdir()
    return open_store(sqlite_url(place), lab.served.charter.identity, len(lab.served.charter.rounds))
