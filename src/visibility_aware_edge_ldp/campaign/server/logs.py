"""Logs as one JSON object a line. They hold no body, no token, and nothing about one participant."""

from __future__ import annotations

import json
import logging
import sys
import time

LOGGER = logging.getLogger("visibility_aware_edge_ldp.campaign")


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
