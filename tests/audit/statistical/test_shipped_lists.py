"""What the shipments send: the real clients' bytes, one transcript a world, and the claims as they are billed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.statistical import shipped_lists
from visibility_aware_edge_ldp.audit.statistical.lower_bound import audit
from visibility_aware_edge_ldp.audit.statistical.shipped_counts import Centres, Hubs, Owned
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import (
    TWO,
    Pairs,
    Positions,
    Rows,
    Shipment,
    bins,
    in_batches,
    one_bin,
    one_degree,
    one_round,
    two_degrees,
    two_rounds,
    two_surveys,
)
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee, OneListEntry
from visibility_aware_edge_ldp.public.surveys import hubs as hub_surveys
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN
from visibility_aware_edge_ldp.public.surveys.neighbourhood import BELIEVED, WEIGHTED
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE, FRIENDS = Visibility.PRIVATE, Visibility.FRIEND_VISIBLE

SHIPMENTS: dict[str, tuple[Shipment, int, str]] = {
    "one round": (Positions(PRIVATE, one_round), 1, "1"),
    "friend-visible": (Positions(FRIENDS, one_round), 1, "2"),
    "two rounds, asked twice": (Positions(PRIVATE, two_rounds, times=2), 4, "1"),
    "two surveys, two users, three bits": (Positions(PRIVATE, two_surveys, users=2, width=3, epsilon=TWO), 12, "5/4"),
    "degrees": (Pairs(PRIVATE, one_degree), 2, "1"),
    "two surveys of degrees, each twice": (Pairs(FRIENDS, two_degrees, times=2, epsilon=TWO), 8, "5/2"),
    "histogram": (Pairs(PRIVATE, one_bin, bins), 2, "1"),
    "triangles": (Rows(FRIENDS), 4, "2"),
    "clipped": (Owned(PRIVATE), 3, "1/2"),
    "weighted": (Owned(FRIENDS, WEIGHTED), 6, "2"),
    "believed": (Owned(PRIVATE, BELIEVED, delta=Fraction(1, 100)), 6, "1"),
    "hub": (Hubs(), 1, "4"),
    "plain hub": (Hubs(shares=PLAIN), 2, "4"),
    "centre": (Centres("edges", FRIENDS), 1, "2"),
}


@pytest.mark.parametrize(("shipment", "columns", "claimed"), SHIPMENTS.values(), ids=SHIPMENTS)
def test_one_row_a_world_and_the_price_that_is_billed(shipment: Shipment, columns: int, claimed: str) -> None:
    edges = np.arange(9) % 3 == 0
    sent = shipment.send(edges, "test")
    assert sent.shape == (9, columns)
    assert shipment.claimed.epsilon == Fraction(claimed)
    assert np.array_equal(sent, shipment.send(edges, "test"))
    many = np.concatenate([edges] * 3)
    assert len({shipment.send(many, f"test {seed}").tobytes() for seed in range(6)}) > 1


def loud(public: PublicView) -> list[PositionSurvey]:
    return [position_survey(public, 30)]


def test_the_bit_that_is_told_is_the_one_that_changes() -> None:
    """With a loss so large that no bit is ever flipped, what is sent is what is held."""
    edges = np.array([True, False, True])
    sent = Positions(PRIVATE, loud, users=2, width=4, changed=2).send(edges, "test")
    assert np.array_equal(np.flatnonzero(sent.any(axis=0)), [6])
    assert np.array_equal(sent[:, 6], edges)


def test_both_ends_of_a_pair_hold_the_edge() -> None:
    seen: list[list[int]] = []

    class Watched(DegreeClient):
        def answer(self, survey, round_number, coins, present=None):  # type: ignore[no-untyped-def]
            seen.append(np.diff(self._view.offsets).tolist())
            assert self._view.neighbours.tolist() == [1, 0, 5, 4]
            return super().answer(survey, round_number, coins, present)

    watched = Pairs(
        PRIVATE, one_degree, lambda lists, public, purse: shipped_lists.degrees(lists, public, purse, Watched)
    )
    watched.send(np.array([True, False, True]), "test")
    assert seen == [[1, 1, 0, 0, 1, 1]]


def test_users_of_a_world_draw_their_own_coins() -> None:
    sent = Positions(PRIVATE, one_round, users=2).send(np.zeros(4000, np.bool_), "test")
    assert abs(np.corrcoef(sent.T)[0, 1]) < 0.1


def test_asked_again_means_the_same_bytes() -> None:
    for shipment in (Positions(PRIVATE, two_rounds, times=3), Pairs(PRIVATE, one_degree, times=3)):
        sent = shipment.send(np.ones(500, np.bool_), "test").reshape(500, -1)
        rounds = [sent[:, [0, 1, 2]], sent[:, [3, 4, 5]]] if isinstance(shipment, Positions) else [sent[:, ::2]]
        assert all((answers == answers[:, :1]).all() for answers in rounds)


def test_the_purse_holds_the_claim_and_nothing_more() -> None:
    class Greedy(PositionClient):
        def answer(self, survey: PositionSurvey, round_number: int, coins: RandomBytes, present=None):  # type: ignore[no-untyped-def]
            super().answer(position_survey(self._public, Fraction(1, 1000)), 1, coins)
            return super().answer(survey, round_number, coins, present)

    with pytest.raises(Refused):
        Positions(PRIVATE, one_round, client=Greedy).send(np.ones(4, np.bool_), "test")


def test_batches_join_in_order() -> None:
    edges = np.arange(11) % 2 == 0
    seeds: list[str] = []

    def send(part: np.ndarray, seed: str) -> np.ndarray:
        seeds.append(seed)
        return part[:, None].astype(np.int64)

    assert np.array_equal(in_batches(send, edges, 4, "s")[:, 0], edges)
    assert len(set(seeds)) == len(seeds) == 3


def test_a_second_round_tells_of_the_edge() -> None:
    """Where {b, c} said 1, a's sum is larger with {a, b} than without: transcripts are read in the right order."""
    without, with_edge = (
        Rows(PRIVATE, Fraction(20)).send(np.full(300, edge), f"rows {edge}") for edge in (False, True)
    )
    assert not without[:, 0].any()
    assert with_edge[:, 0].all()
    # {b, c} is empty and answers 0 at so large a loss, so nothing is added to a's sum.
    assert not with_edge[:, 1].any()
    assert abs(np.median(with_edge[:, 3])) <= 64


def test_a_bill_above_what_was_asked_for_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DegreeSurvey.list_price
    doubled = lambda self, kind: Guarantee(OneListEntry, 2 * honest(self, kind).epsilon)  # noqa: E731
    monkeypatch.setattr(DegreeSurvey, "list_price", doubled)
    monkeypatch.setattr(hub_surveys, "least_loss", lambda epsilon, *rest: 2 * epsilon)
    for shipment in (Pairs(PRIVATE, one_degree), Owned(PRIVATE, WEIGHTED), Hubs()):
        with pytest.raises(ProtocolViolation, match="was asked for"):
            audit("a bill", [shipment], 400)
