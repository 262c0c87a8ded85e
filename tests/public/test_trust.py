"""Trust models as values."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.statistic import check_statistics
from visibility_aware_edge_ldp.public.trust import TRUSTS, trust_model


def test_every_model_has_words_defaults_and_options() -> None:
    assert list(TRUSTS) == ["position", "user", "neighbourhood", "curator"]
    for name, trust in TRUSTS.items():
        assert trust_model(name) is trust
        assert trust.title == name.upper()
        assert check_statistics(trust.defaults, 10) == trust.defaults
        assert set(trust.compared) <= set(trust.options)
        assert trust.spending.startswith(trust.title)
    assert [name for name, trust in TRUSTS.items() if not trust.local] == ["curator"]


def test_an_unknown_name_is_refused_with_the_likely_one() -> None:
    with pytest.raises(BadInput, match=r"use one of position, user, neighbourhood, curator\. Did you mean"):
        trust_model("postion")
