"""What real clients are asked, pay for and draw while something else runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from visibility_aware_edge_ldp.client.reporter import Client
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes

# So many first bytes of an answer's coins are compared.
BLOCK = 16


@contextmanager
def overheard() -> Iterator[dict[tuple[str, int], tuple[Any, int]]]:
    """Which rounds of which surveys are paid for and answered meanwhile, each once, whoever answers them."""
    heard: dict[tuple[str, int], tuple[Any, int]] = {}
    real = Client.answer

    def answer(client: Any, survey: Any, number: int, *given: Any) -> Any:
        told = real(client, survey, number, *given)
        if client.prices(survey, number):
            heard[survey.identity, number] = survey, number + 1 - client.first_round
        return told

    Client.answer = answer  # type: ignore[method-assign,assignment]
    try:
        yield heard
    finally:
        Client.answer = real  # type: ignore[method-assign]


class _Noted:
    """Coins that keep the first bytes that are drawn from them."""

    def __init__(self, coins: RandomBytes) -> None:
        self._coins, self.first = coins, b""

    def __call__(self, count: int) -> bytes:
        drawn = self._coins(count)
        self.first = (self.first + drawn)[:BLOCK]
        return drawn


@contextmanager
def first_coins() -> Iterator[list[bytes]]:
    """The first bytes that each answer draws meanwhile, of those that draw sixteen or more.

    A client that lets another one answer for it is one answer.
    """
    drawn, real = list[bytes](), Client.answer

    def answer(client: Any, survey: Any, number: int, coins: RandomBytes, *given: Any) -> Any:
        if isinstance(coins, _Noted):
            return real(client, survey, number, coins, *given)
        noted = _Noted(coins)
        told = real(client, survey, number, noted, *given)
        drawn.extend([noted.first] if len(noted.first) == BLOCK else [])
        return told

    Client.answer = answer  # type: ignore[method-assign,assignment]
    try:
        yield drawn
    finally:
        Client.answer = real  # type: ignore[method-assign]
