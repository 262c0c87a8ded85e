"""What a server says of itself, if it is believed."""

from __future__ import annotations

from typing import Any

import pytest

from visibility_aware_edge_ldp.campaign.console.server_status import _checked, _health
from visibility_aware_edge_ldp.errors import ProtocolViolation

ROUND = {"round": 1, "state": "open", "received": 3, "asked": 5}
METRICS = """# a comment
va_edge_ldp_campaign_free_octets 2500000000
va_edge_ldp_campaign_waiting_uploads 7
va_edge_ldp_campaign_clock_jump_seconds {jump}
va_edge_ldp_campaign_received{{round="1"}} 3
va_edge_ldp_campaign_odd nonsense
another_metric 1
"""


def test_health_is_read_from_the_metrics() -> None:
    lines = dict(_health(METRICS.format(jump=0)))
    assert lines == {"Free on its disk": "2.5 GB", "Reports that wait for the disk": "7"}
    assert "somebody moved it by 86,400 seconds" in dict(_health(METRICS.format(jump=86_400)))["Clock"]
    assert _health("") == ()


@pytest.mark.parametrize("change", [{"state": "<b>"}, {"received": "3"}, {"round": None}, {"asked": True}])
def test_a_round_that_is_not_said_in_full_is_refused(change: dict[str, Any]) -> None:
    assert _checked(ROUND) == ROUND
    with pytest.raises(ProtocolViolation):
        _checked({**ROUND, **change})
