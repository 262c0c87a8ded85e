"""Rows at size: claims are nearly used up, and numbers or noise that are not the theorem's are noticed."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.at_size import rows
from visibility_aware_edge_ldp.audit.at_size import rows_worlds as worlds
from visibility_aware_edge_ldp.client.rows import FirstRound
from visibility_aware_edge_ldp.errors import ProtocolViolation


def test_one_user_and_all_users_tell_the_same_of_an_edge() -> None:
    world = worlds.full_row(worlds.Setting(30, "triangles", worlds.MIXED), True, 4)
    assert rows.loss_of(world, whole=False) == rows.loss_of(world)


class Less(FirstRound):
    """A ninth less than what one friend moves a pull by."""

    @property
    def largest(self) -> float:
        return 8 / 9 * float(np.abs(self.scores.values).max())


def test_less_noise_than_the_theorem_asks_for_is_noticed() -> None:
    setting = worlds.Setting(30, "triangles", worlds.NOTHING, reading=Less)  # type: ignore[arg-type]
    with pytest.raises(ProtocolViolation):
        rows.refuse_other_sums(worlds.full_row(setting, True, 2))


def test_paths_are_those_of_the_definition() -> None:
    scores = np.triu(np.arange(36.0).reshape(6, 6) % 5 - 2, 1)
    scores += scores.T
    found = rows.paths_without(scores, 2)
    slow = sum(
        scores[1, middle] * scores[middle, 4] * (0.5 if middle < 1 else 1.0) for middle in range(6) if middle != 2
    )
    assert found[1, 4] == pytest.approx(slow)
