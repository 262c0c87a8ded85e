"""The audit of groups holds for the real client, uses its claim up, and holds for no twin.  [GROUPS.1-2]"""

from __future__ import annotations

from functools import partial

import pytest

from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.engine.small_worlds import audit_lists
from visibility_aware_edge_ldp.audit.protocols.degrees import report_law
from visibility_aware_edge_ldp.audit.protocols.groups import AUDITS, MUTANTS, OneExact, Stage
from visibility_aware_edge_ldp.audit.statistical import audits, lower_bound
from visibility_aware_edge_ldp.audit.statistical import shipped_lists as lists
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
audit_groups = partial(audit_lists, speak=report_law)


def test_the_real_client_holds_and_uses_its_claim_up() -> None:
    patterns = ((PRIVATE,) * 3, (PRIVATE, FRIEND_VISIBLE, PUBLIC))
    finding = audit_groups("real", [Stage(pattern, 3, "4", 1) for pattern in patterns], "three users in two groups")
    assert finding.holds
    for loss in finding.losses:
        assert loss.found >= 0.999 * loss.claimed
        assert loss.found_delta == 0


@pytest.mark.parametrize("audit", MUTANTS, ids=lambda audit: audit.name)
def test_every_twin_is_caught(audit: Audit) -> None:
    assert audit.broken
    assert not audit.run().holds


def test_the_audits_are_named() -> None:
    assert [(audit.name, audit.way, audit.broken) for audit in AUDITS] == [("user groups", "exact", "")]
    assert len(MUTANTS) == 3


@pytest.mark.parametrize("client", [None, OneExact])
def test_samples_of_the_bytes_catch_a_count_without_noise(client: type | None) -> None:
    holders = audits.by_group if client is None else partial(lists.degrees, client=client)
    shipments: list[lists.Shipment] = [lists.Pairs(PRIVATE, lists.one_grouped, holders, groups=True)]
    found: findings.Audit = lower_bound.paced("user groups", shipments, 20_000, lower_bound.ALL)
    assert found.run().holds == (client is None)
