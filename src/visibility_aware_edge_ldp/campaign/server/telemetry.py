"""Logs as one JSON object a line. They hold no body, no token, and nothing about one participant."""

import json
import logging
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

LOGGER = logging.getLogger("visibility_aware_edge_ldp.campaign")
PREFIX = "va_edge_ldp_campaign"
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
Line = tuple[str, float]


class JsonLines(logging.Formatter):
    """The event, its fields, and of a failure its kind and place; a failure's text may quote what was sent."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {"time": f"{moment}Z", "level": record.levelname.lower(), "event": record.msg}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= _failure(record.exc_info[1])
        return json.dumps(line)


def _failure(failure: BaseException) -> dict[str, object]:
    trace, places = failure.__traceback__, []
    while trace is not None:
        places.append(f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}")
        trace = trace.tb_next
    return {"failure": type(failure).__name__, "where": places[-5:]}


def event(name: str, /, level: int = logging.INFO, **fields: object) -> None:
    """Log something that happened."""
    LOGGER.log(level, name, extra={"fields": fields})


def failed(name: str, failure: BaseException) -> None:
    """Log something that went wrong."""
    LOGGER.error(name, exc_info=failure)


def log_to_stderr(level: int = logging.INFO) -> None:
    """For a server of its own; uvicorn's own lines are kept to its errors, in the same form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, least in ((LOGGER.name, level), ("uvicorn.error", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(least)


class Metrics:
    """What the server has done since it started; nothing in it is about one participant."""

    def __init__(self) -> None:
        self.replies: Counter[tuple[str, int]] = Counter()
        self.octets = 0
        self._buckets = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def replied(self, route: str, status: int) -> None:
        self.replies[route, status] += 1

    def stored(self, seconds: float, octets: int) -> None:
        """An upload is on disk, so long after it had arrived."""
        self._buckets[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds
        self.octets += octets

    def text(self, gauges: dict[str, Iterable[Line]]) -> bytes:
        """Everything, with gauges that others know: for each name, labels and values."""
        replies = [(f'{{route="{r}",status="{s}"}}', n) for (r, s), n in sorted(self.replies.items())]
        parts = [
            *_block("replies_total", "counter", "Answers by route and status.", replies),
            *_block("stored_octets_total", "counter", "Octets of reports on disk.", [("", self.octets)]),
            *_histogram(self._buckets, self._seconds),
        ]
        for name, lines in gauges.items():
            parts += _block(name, "counter" if name.endswith("_total") else "gauge", "", lines)
        return ("\n".join(parts) + "\n").encode()


def _block(name: str, kind: str, about: str, lines: Iterable[Line]) -> list[str]:
    head = [f"# HELP {PREFIX}_{name} {about}"] if about else []
    return [
        *head,
        f"# TYPE {PREFIX}_{name} {kind}",
        *(f"{PREFIX}_{name}{labels} {value:.15g}" for labels, value in lines),
    ]


def _histogram(buckets: list[int], seconds: float) -> list[str]:
    name, total, parts = f"{PREFIX}_store_seconds", 0, []
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
        total += count
        parts.append(f'{name}_bucket{{le="{bound}"}} {total}')
    about = f"# HELP {name} From a report's arrival until it is on disk."
    return [about, f"# TYPE {name} histogram", *parts, f"{name}_sum {seconds:.6f}", f"{name}_count {total}"]
