"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from support.comparison_reports import COMMAND, NUMBERS, SMALL
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.presentation.files import json_text
from visibility_aware_edge_ldp.presentation.result_files import write_results


@pytest.mark.long
def test_names_that_are_no_valid_text_can_be_written(tmp_path: Path) -> None:
    odd = replace(SMALL, graph="caf\udce9 图 $x$ <i>.txt")
    write_results(odd, tmp_path, "command \udce9")
    assert json.loads((tmp_path / "results.json").read_bytes())["graph"] == odd.graph
    assert "图 $x$ &lt;i&gt;.txt" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("stops", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise stops

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((BadInput, KeyboardInterrupt)):
        write_results(SMALL, tmp_path, COMMAND)
    assert os.listdir(tmp_path) == []


@pytest.mark.long
def test_a_stop_before_the_report_keeps_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.html").write_text("old")
    really = os.replace

    def fail_at_the_report(source: Path, target: Path) -> None:
        if target.name == "report.html":
            raise OSError(5, "Input/output error")
        really(source, target)

    monkeypatch.setattr(os, "replace", fail_at_the_report)
    with pytest.raises(BadInput, match="Input/output error"):
        write_results(SMALL, tmp_path, COMMAND)
    assert (tmp_path / "report.html").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == sorted([*NUMBERS, "report.html"])


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BadInput, match=r"cannot be written to .*Choose another folder"):
            write_results(SMALL, folder, COMMAND)
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_document_says_its_schema_first_and_nobody_else_can() -> None:
    text = json_text("campaign-estimate", {"é": float("nan"), "schema": "a server's word"})
    assert text == '{\n  "schema": "va-edge-ldp/campaign-estimate/1",\n  "é": null\n}'
    assert json_text("plan", {"é": 1}, plain=True, line=True) == '{"schema": "va-edge-ldp/plan/1", "\\u00e9": 1}'
    with pytest.raises(KeyError):
        json_text("unheard of", {})
