"""CONTRIBUTING's "Add a mechanism", followed to the letter by a program outside the package.

The toy: k-ary randomized response. One of k colours is told as it is with a chance that ε allows, and else another one,
all others alike. A statistic is made of a protocol's reports, so a mechanism alone goes through its checks and the
audit; ``test_own_protocol.py`` takes a mechanism on through estimate, compare and plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.mechanisms import mechanism
from visibility_aware_edge_ldp.mechanisms.mechanism import MECHANISMS, Law, Mechanism, exact_loss, problems, register
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, all_random_bytes, keyed_random_bytes

NAME = "coloured response"

# 1. The mechanism: its fields are its promise; it draws from random bytes, exactly.


@dataclass(frozen=True)
class ColouredResponse:
    """One of ``colours``, told with odds of at most 2^bits against any other: ε = bits · ln 2."""

    colours: int
    bits: int = 1

    @property
    def epsilon(self) -> Fraction:
        """Above bits · ln 2 by less than 10^-9."""
        return self.bits * Fraction(693_147_181, 10**9)

    @property
    def other(self) -> Fraction:
        """The chance of each colour that is not the true one."""
        return Fraction(1, 2**self.bits + self.colours - 1)

    def likelihood(self, answer: int, colour: int) -> Fraction:
        return self.other * (2**self.bits if answer == colour else 1)

    def randomize(self, colour: int, random_bytes: RandomBytes) -> int:
        """Numbers below 2^bits − 1 + colours are drawn until one is; what is above the colours means the true one."""
        size = 2**self.bits + self.colours - 1
        while (drawn := all_random_bytes(random_bytes, 1)[0]) >= 256 // size * size:
            pass
        return drawn % size if drawn % size < self.colours else colour


# 2. Its value in the registry. What is estimated is whether the colour is the first one.


def law(made: ColouredResponse, colour: int) -> Law:
    return {answer: made.likelihood(answer, colour) for answer in range(made.colours)}


def estimate(made: ColouredResponse, answer: int) -> float:
    keep = made.likelihood(0, 0)
    return float(((answer == 0) - made.other) / (keep - made.other))


def variance(made: ColouredResponse, colour: int) -> float:
    keep, first = made.likelihood(0, 0), made.likelihood(0, colour)
    return float(first * (1 - first) / (keep - made.other) ** 2)


COLOURED = Mechanism(
    NAME,
    (ColouredResponse(3), ColouredResponse(5, 2)),
    lambda made: (made.epsilon, Fraction(0)),
    lambda made: range(made.colours),
    law,
    lambda made, colour, random_bytes: made.randomize(colour, random_bytes),
    estimate,
    variance,
    value=lambda colour: float(colour == 0),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The mechanism is known within a test, and unknown after it."""
    register(COLOURED)
    yield
    del MECHANISMS[NAME]


def audited() -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(app, ["audit", "--mechanism", NAME, "--json"])
    (finding,) = json.loads(done.output)["findings"]
    return done.exit_code, finding


# 3. From here on the package's own machinery does the rest.


def test_it_does_what_it_says() -> None:
    assert problems(COLOURED) == []
    for made in COLOURED.examples:
        lost, spent = exact_loss(COLOURED, made)
        assert float(made.epsilon) - 1e-8 < lost <= made.epsilon
        assert spent < 1e-12


def test_the_audit_command_holds_it_to_its_promise() -> None:
    code, finding = audited()
    assert code == 0
    assert finding["holds"]
    assert finding["cases"] == 3 * 2 + 5 * 4


def test_a_broken_one_is_rejected_by_the_checks_and_by_the_audit() -> None:
    """It promises half of what its law loses."""
    MECHANISMS[NAME] = broken = replace(COLOURED, promise=lambda made: (made.epsilon / 2, Fraction(0)))
    assert any("more than the promised" in text for text in problems(broken))
    code, finding = audited()
    assert code != 0
    assert not finding["holds"]


def test_a_sampler_that_keeps_the_truth_too_often_is_rejected() -> None:
    def sample(made: ColouredResponse, colour: int, random_bytes: RandomBytes) -> int:
        answers = [made.randomize(colour, random_bytes) for _ in range(2)]
        return colour if colour in answers else answers[0]

    assert any("draws differ from the law" in text for text in problems(replace(COLOURED, sample=sample)))


def test_random_bytes_decide_the_answer() -> None:
    made, key = COLOURED.examples[0], bytes(32)
    assert made.randomize(1, keyed_random_bytes(key)) == made.randomize(1, keyed_random_bytes(key))


def test_the_package_keeps_its_own() -> None:
    assert NAME not in mechanism.BUILT_IN
    assert MECHANISMS.keys() == {*mechanism.BUILT_IN, NAME}
