"""Lines of the log, and metrics: whole, and without anything that somebody sent."""

from __future__ import annotations

import json
import logging

import pytest

from visibility_aware_edge_ldp.campaign.server.telemetry import LOGGER, JsonLines, Metrics, event, failed

SECRET = "what somebody sent"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.handler.setFormatter(JsonLines())
    caplog.set_level(logging.INFO, LOGGER.name)
    return caplog


def test_an_event_is_one_line_with_its_fields(lines: pytest.LogCaptureFixture) -> None:
    event("closed", round=1, enough=True)
    event("loud", logging.WARNING)
    first, second = map(json.loads, lines.text.splitlines())
    assert {name: first[name] for name in ("event", "level", "round", "enough")} == {
        "event": "closed", "level": "info", "round": 1, "enough": True,
    }  # fmt: skip
    assert first["time"].endswith("Z")
    assert (second["event"], second["level"]) == ("loud", "warning")


def test_of_a_failure_the_kind_and_the_place_are_logged_and_not_its_words(lines: pytest.LogCaptureFixture) -> None:
    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        raise ValueError(SECRET)

    try:
        deep(8)
    except ValueError as failure:
        failed("request", failure)
    said = json.loads(lines.text)
    assert (said["event"], said["level"], said["failure"]) == ("request", "error", "ValueError")
    assert len(said["where"]) == 5
    assert all(place.startswith(f"{__name__}:") for place in said["where"])
    assert SECRET not in lines.text


def test_metrics_are_what_prometheus_reads() -> None:
    metrics = Metrics()
    metrics.replied("report", 201)
    metrics.replied("report", 201)
    metrics.replied("round", 200)
    for seconds, octets in ((0.001, 10), (0.0011, 20), (60.0, 30)):
        metrics.stored(seconds, octets)
    text = metrics.text({"waiting_uploads": [("", 3.0)], "commits_total": [("", 2.0)]}).decode()
    name = "va_edge_ldp_campaign"
    assert f'{name}_replies_total{{route="report",status="201"}} 2' in text
    assert f"{name}_stored_octets_total 60\n" in text
    buckets = [line.rpartition(" ") for line in text.splitlines() if "_bucket" in line]
    counts = [int(count) for _, _, count in buckets]
    assert (counts[:2], counts[-2:]) == ([1, 2], [2, 3]), "each holds all that are not larger"
    assert f"{name}_store_seconds_count 3" in text
    assert f"# TYPE {name}_waiting_uploads gauge\n{name}_waiting_uploads 3\n" in text
    assert f"# TYPE {name}_commits_total counter" in text
    assert text.endswith("\n")
