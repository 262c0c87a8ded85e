"""Classes and scopes beside plain rules; what is looked up otherwise is counted."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit import public_rules
from visibility_aware_edge_ldp.public import scope
from visibility_aware_edge_ldp.public.bound_policy import BoundInside, BoundPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility


def test_real_policies_give_the_classes_of_plain_rules() -> None:
    (audit,) = public_rules.AUDITS
    found = audit.run()
    assert found.holds, found.losses
    assert found.cases > 10_000
    kinds = {rule(a, b) for _, rule in public_rules.policies() for a, b in public_rules.LISTED}
    assert kinds == set(Visibility)


def test_scopes_of_every_kind_are_compared() -> None:
    kinds = {type(policy.scope) for policy, *_ in public_rules.scoped()}
    assert kinds == {scope.SameValue, scope.NamedPositions, scope.Either, scope.Both, scope.Outside}
    assert "public friend lists" in " ".join(str(policy.scope) for policy, *_ in public_rules.scoped())


def test_one_way_that_looks_classes_up_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = BoundPolicy.rows
    monkeypatch.setattr(BoundPolicy, "rows", lambda policy, *given: np.minimum(real(policy, *given), 1))
    (audit,) = public_rules.AUDITS
    assert audit.run().caught


def test_a_scope_that_one_end_alone_decides_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = BoundInside.holds
    monkeypatch.setattr(BoundInside, "holds", lambda rule, u, v: real(rule, u, v) & (u < v))
    assert not public_rules.audit_classes("classes", public_rules.as_it_is, "-").holds


@pytest.mark.parametrize("twin", public_rules.MUTANTS, ids=lambda twin: twin.name)
def test_twins_are_caught(twin: public_rules.exact) -> None:  # type: ignore[valid-type]
    assert twin.run().caught
