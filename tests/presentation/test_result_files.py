"""The audit's files: numbers that parse, a page that needs nothing else, and its section in a report."""

from __future__ import annotations

import inspect
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.audit.catalogue import Choice
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss
from visibility_aware_edge_ldp.audit.runner import Audited, Outcome
from visibility_aware_edge_ldp.audit.statistical import audits, lower_bound
from visibility_aware_edge_ldp.audit.statistical.audits import FalseAlarms
from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.presentation.comparison_page import page
from visibility_aware_edge_ldp.presentation.result_files import SEEDS, audit_beside, audit_content, write_audit
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

pytest.importorskip("jinja2", reason="jinja2 is not installed")

COMMAND = "va-edge-ldp audit --mechanism '<b>bold</b>'"


def outcome(found: float, broken: str = "", trouble: str = "") -> Outcome:
    finding = None if trouble else Finding("position", "exact", (Loss("FRIEND_VISIBLE", 2, found),), 5, "all")
    return Outcome("position", "exact", broken, "position" if broken else "", finding, trouble, 0.5)


def audited(*outcomes: Outcome) -> Audited:
    return Audited(Choice(), outcomes, (FalseAlarms("Laplace", 0.001, 10, 0, 0.5),), 12.0, 2)


GOOD = audited(outcome(2.0), outcome(float("inf"), broken="Sent <i>bare</i> & loud"))
BAD = audited(outcome(2.2), outcome(0, trouble="ProtocolViolation: late"))


class Tags(HTMLParser):
    """Every tag is closed in its order, and nothing is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "wbr"}:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_escaped_and_alone(tmp_path: Path) -> None:
    paths = write_audit(GOOD, tmp_path, COMMAND)
    assert [path.name for path in paths] == ["audit.json", "audit.html"]
    html = paths[1].read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(html)
    assert (tags.open, tags.links) == ([], [])
    assert "<b>" not in html
    assert "<i>" not in html
    assert "Sent &lt;i&gt;bare" in html
    assert "passed" in html
    assert "<script" not in html


def test_a_failure_stands_out(tmp_path: Path) -> None:
    write_audit(BAD, tmp_path, COMMAND)
    html = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert '<strong class="bad">failed</strong>' in html
    assert '<td class="bad">✗</td>' in html
    assert "position: ProtocolViolation: late" in html


def test_the_numbers_say_how_they_were_found(tmp_path: Path) -> None:
    write_audit(GOOD, tmp_path, COMMAND)
    told = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (told["version"], told["command"], told["passed"]) == (__version__, COMMAND, True)
    assert {"python", "numpy", "runs", "seconds", "cores", "seeds", "limits"} <= told.keys()
    assert told["broken_twins"][0]["losses"][0]["infinite"] is True
    assert told == {"schema": "va-edge-ldp/audit/1"} | json.loads(json.dumps(audit_content(GOOD, COMMAND)))


def test_the_seeds_are_those_that_are_used() -> None:
    assert inspect.signature(lower_bound.audit).parameters["seed"].default == SEEDS["statistical"]
    assert inspect.signature(audits.audit_one_run).parameters["seed"].default == SEEDS["one run"]


def test_without_jinja_the_numbers_are_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPart, match=r"numbers are in .*audit\.json"):
        write_audit(GOOD, tmp_path, COMMAND)
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]


@pytest.mark.parametrize("text", [None, "{", "[]", '{"version": "0.0.0"}'])
def test_an_audit_that_is_not_there_or_of_another_version_is_not_shown(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "audit.json").write_text(text, encoding="utf-8")
    assert audit_beside(tmp_path) is None


def test_a_report_has_the_audit_of_its_folder(tmp_path: Path) -> None:
    found = compare(erdos_renyi(12, 20), VisibilityPolicy("0.5"), [1], 2, ["edges"], seed=1)
    without = page(found, "compare")
    assert "va-edge-ldp audit --output" in without
    write_audit(GOOD, tmp_path, COMMAND)
    html = page(found, "compare", audit_beside(tmp_path))
    section = re.search(r'<section aria-labelledby="audit">.*?audit\.html</a>', html, re.DOTALL)
    assert section
    assert "1 of 1 audits of the real code" in section[0]
    assert 'table class="results audit"' in html
    tags = Tags()
    tags.feed(html)
    assert [link for link in tags.links if not link.startswith("#")] == ["audit.html"]
