"""The clients that are timed: two sides of one secret each, in reports of one length.  [PACE.2]"""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.timing import clients
from visibility_aware_edge_ldp.mechanisms.randomness import secure_random_bytes

ALL_CLIENTS = {
    "position": clients.positions(),
    "degrees, nothing public": clients.degrees("nothing"),
    "degrees, mixed": clients.degrees("mixed"),
    "histogram": clients.bins,
    "row answers": clients.row_answers,
    "row sums": clients.row_sums,
    "owned": clients.owned,
    "hub": clients.hub,
}


@pytest.mark.parametrize("name", ALL_CLIENTS)
def test_length_does_not_depend_on_the_secret(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = set()
    for friends in (0, 1, 7, 100, clients.USERS - 1):
        monkeypatch.setattr(clients, "FRIENDS", (friends, friends))
        lengths |= {len(ALL_CLIENTS[name](side, secure_random_bytes())()) for side in (0, 1)}
    assert len(lengths) == 1


def test_sides_are_what_they_say() -> None:
    assert [clients.friend_list(side).neighbours.size for side in (0, 1)] == list(clients.FRIENDS)
    assert clients.friend_list(1).neighbours.max() == clients.USERS - 1
    noises = [np.frombuffer(clients.degree_with_noise(side, secure_random_bytes())()[-8:], ">i8")[0] for side in (0, 1)]
    assert abs(noises[0] - clients.FRIENDS[0]) <= 1
    assert noises[1] - clients.FRIENDS[0] > 20
