"""What is read off a policy about a position is what its definition says.  [LEAK.3]"""

from __future__ import annotations

import numpy as np

from visibility_aware_edge_ldp.audit.policy_features import policy_features
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

NAMES = range(96)
BANDS = np.random.default_rng(0).integers(0, 12, len(NAMES)) ** 2 // 30


def test_users_of_like_openness_are_of_one_kind() -> None:
    table = {user: {"band": int(BANDS[user])} for user in NAMES}
    features = policy_features(VisibilityPolicy.from_attributes(table, [{"same": "band", "class": "public"}]), NAMES)
    sizes = features.sizes[Visibility.PUBLIC]
    for size in np.unique(sizes):
        assert np.unique(features.kinds[sizes == size]).size == 1
    assert np.unique(features.kinds).size >= 3
    assert features.kinds.max() < 16


def test_features_are_those_of_the_definition() -> None:
    policy = VisibilityPolicy("0.3", "0.3", "0.4")
    features, n = policy_features(policy, NAMES), len(NAMES)
    kinds = np.array([[policy.bind(NAMES).of(u, v)[0] if u != v else 2 for v in range(n)] for u in range(20)])
    u, v = np.array([3, 11]), np.array([17, 5])
    scores = dict(zip(features.names, features.scores(u, v, features.classes(u, v)), strict=True))
    for kind in (Visibility.PUBLIC, Visibility.FRIEND_VISIBLE):
        own = kinds[u, v] == kind
        ends = (kinds[u] == kind).sum(axis=1) + (kinds[v] == kind).sum(axis=1) - 2 * own
        company = ((kinds[u] == kind) & (kinds[v] == kind)).sum(axis=1)
        assert scores[f"{kind} positions of the two ends"].tolist() == ends.tolist()
        assert scores[f"{kind} company in common"].tolist() == company.tolist()
    assert scores["the position's class"].tolist() == (-kinds[u, v].astype(int)).tolist()
