"""Alert rules and the dashboard speak of metrics and labels that a server really exports, and the guide lists them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.campaign_lab import Running, new_lab, running, sqlite_url
from support.campaign_server_wire import ask
from visibility_aware_edge_ldp.campaign.server.telemetry import PREFIX

ROOT = Path(__file__).parents[3]
RULES, DASHBOARD = ROOT / "deploy" / "prometheus-rules.yml", ROOT / "deploy" / "grafana-dashboard.json"
GUIDE = ROOT / "docs" / "how-to" / "deploy-a-campaign.md"
# What Prometheus adds to whatever it scrapes.
ITS_OWN = {"instance", "job"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The labels of each metric of a server that has stored a report."""
    folder = tmp_path_factory.mktemp("exported")
    lab = new_lab(folder / "lab", 8)
    with running(lab, sqlite_url(folder)) as server:
        assert ask(server, lab.request(1, lab.report(1))).status == 201
        ask(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return dict(metrics(server))


def metrics(server: Running) -> Iterator[tuple[str, set[str]]]:
    for line in ask(server, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").body.decode().splitlines():
        if found := re.fullmatch(r"(\w+)(?:\{(.*)\})? \S+", line):
            yield found[1], set(re.findall(r'(\w+)="', found[2] or ""))


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def expressions() -> dict[str, str]:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    shown = {
        f"{each['title']} {target['refId']}": target["expr"] for each in board["panels"] for target in each["targets"]
    }
    asked = {each["name"]: each["query"] for each in board["templating"]["list"] if each["type"] == "query"}
    return {each["alert"]: each["expr"] for each in rules()} | shown | asked


def unknown(expression: str, exported: dict[str, set[str]]) -> list[str]:
    """Metrics and labels of an expression that no server exports."""
    used = set(re.findall(rf"\b{PREFIX}_\w+", expression))
    if not used and "up{" not in expression:
        return ["no metric at all"]
    labels = {label for name in used for label in exported.get(name, ())} | ITS_OWN
    named = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression))
    for group in re.findall(r"\bby \(([^)]*)\)", expression):
        named |= {label.strip() for label in group.split(",")}
    return sorted(used - exported.keys()) + sorted(named - labels)


def test_every_expression_is_of_what_is_exported(exported: dict[str, set[str]]) -> None:
    found = expressions()
    assert len(found) > 25
    assert {name: wrong for name, text in found.items() if (wrong := unknown(text, exported))} == {}


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("va_edge_ldp_campaign_recieved > 0", ["va_edge_ldp_campaign_recieved"]),
        ('va_edge_ldp_campaign_received{rounds="1"} > 0', ["rounds"]),
        ("sum by (path) (va_edge_ldp_campaign_replies_total)", ["path"]),
        ("1 > 0", ["no metric at all"]),
    ],
)
def test_a_wrong_one_is_noticed(exported: dict[str, set[str]], expression: str, wrong: list[str]) -> None:
    assert unknown(expression, exported) == wrong


def test_every_metric_is_watched_and_in_the_guide(exported: dict[str, set[str]]) -> None:
    guide, watched = GUIDE.read_text(encoding="utf-8"), " ".join(expressions().values())
    for name in exported:
        short = re.sub(r"_(bucket|sum|count)$", "", name.removeprefix(f"{PREFIX}_"))
        assert re.search(rf"`{short}[`{{]", guide), f"{short} is not in the guide"
        assert name in watched, f"{name} is on no panel and in no alert"


def test_every_alert_says_what_to_do() -> None:
    for each in rules():
        assert each["labels"]["severity"] in ("page", "ticket")
        assert set(each["annotations"]) == {"summary", "do"}
    assert len({each["alert"] for each in rules()}) == len(rules())


def test_large_numbers_keep_their_digits(exported: dict[str, set[str]], tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 8, closes=(3_999_999_999,))
    with running(lab, sqlite_url(tmp_path)) as server:
        text = ask(server, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").body.decode()
    assert f'{PREFIX}_closes_timestamp_seconds{{round="1"}} 3999999999\n' in text
    assert f'{PREFIX}_open{{round="1"}} 1\n' in text
