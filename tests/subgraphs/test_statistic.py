"""Names of statistics."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.subgraphs.statistic import EVERYTHING, check_statistics, star_size


def test_names_are_accepted_once_each_in_order() -> None:
    assert check_statistics("triangles, edges,triangles", 10) == ("triangles", "edges")
    assert check_statistics(["stars:9"], 10) == ("stars:9",)
    assert check_statistics("all", 10) == EVERYTHING
    assert (star_size("stars:12"), star_size("edges"), star_size("stars:-1")) == (12, None, None)


@pytest.mark.parametrize("name", ["stars:1", "stars:10", "stars:", "stars:x", "stars:2.5", "wedges", "", "Edges"])
def test_unknown_and_impossible_names_are_refused(name: str) -> None:
    with pytest.raises(BadStatistic):
        check_statistics([name], 10)


def test_nothing_asked_is_refused() -> None:
    with pytest.raises(BadStatistic, match="No statistic"):
        check_statistics([], 10)
