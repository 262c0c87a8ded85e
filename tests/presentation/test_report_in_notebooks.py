"""What a notebook shows of an evaluation and of a comparison."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from visibility_aware_edge_ldp.evaluation.results import Comparison, Evaluation, TrialRow

ROW = TrialRow(0.5, "<edges>", 1234.0, 1200.0, 10.0, 0.025, 0.004, 0.95, 20, 0.1, "user")
ODD = "a <b>bold</b> & graph"


def cells(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", html)]


def test_an_evaluation_is_a_table() -> None:
    single = replace(ROW, truth=math.nan, error_uncertainty=math.nan, coverage=math.nan)
    shown = Evaluation([ROW, single])._repr_html_()
    assert cells(shown) == [
        ["trust", "ε", "statistic", "true value", "mean error", "± s.e.", "covered", "seconds"],
        ["user", "0.5", "&lt;edges&gt;", "1,234", "2.50%", "0.40%", "95%", "0.10"],
        ["user", "0.5", "&lt;edges&gt;", "array", "2.50%", "-", "-", "0.10"],
    ]


def test_a_comparison_is_a_table_with_what_it_is_about() -> None:
    better = replace(ROW, mean_relative_error=0.01, error_uncertainty=0.001)
    found = Comparison(ODD, 5, 3, "'x' > y", {}, (), 1, 20, Evaluation([better]), Evaluation([ROW]))
    shown = found._repr_html_()
    assert cells(shown)[1] == ["user", "0.5", "&lt;edges&gt;", "2.50%", "1.00%", "2.50×"]
    about = "a &lt;b&gt;bold&lt;/b&gt; &amp; graph: visibility-aware against uniform"
    assert f"<p>{about}, expected relative error of one collection; policy: &#x27;x&#x27; &gt; y</p>" in shown
    assert "Does visibility help? Yes, in 1 of 1 cells: 1 error is 2.50× smaller." in shown
    assert "&lt;edges&gt; within 5%: USER at every ε from 0.5 on." in shown
    assert "ε is the loss per PRIVATE edge" in shown
