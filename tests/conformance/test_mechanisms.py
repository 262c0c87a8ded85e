"""Every registered mechanism: its exact loss is at most its promise, its estimate unbiased with the variance that is
said, and its sampler follows its law; and a broken one is rejected for each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import visibility_aware_edge_ldp
from visibility_aware_edge_ldp.audit.catalogue import STAGES
from visibility_aware_edge_ldp.mechanisms.mechanism import (
    DISCRETE_LAPLACE,
    MECHANISMS,
    RANDOMIZED_RESPONSE,
    Mechanism,
    exact_loss,
    problems,
)

FOLDER = Path(visibility_aware_edge_ldp.__file__).parent / "mechanisms"
# Modules that are no mechanism: random bytes, exact draws from any law, and the registry.
PARTS = {"__init__", "mechanism", "randomness"}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_does_what_it_says(name: str) -> None:
    assert problems(MECHANISMS[name]) == []


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_promise_is_not_given_away(name: str) -> None:
    """The neighbours on which it is checked are the worst ones, or nearly: else the check would show little."""
    known = MECHANISMS[name]
    for made in known.examples:
        epsilon, delta = known.promise(made)
        lost, spent = exact_loss(known, made)
        assert (spent > 0.1 * delta) if delta else (lost > 0.9 * float(epsilon))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_audited(name: str) -> None:
    audited = {audit.name for stage in ("mechanisms", "chain") for audit in STAGES[stage].audits}
    assert name in audited or any(each.startswith(name) for each in audited), f"{name} has no audit"


def test_every_file_of_a_mechanism_is_registered_and_has_its_proof() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - PARTS
    made_in = {type(made).__module__ for known in MECHANISMS.values() for made in known.examples}
    registered = {module.rpartition(".")[2] for module in made_in} - {"builtins"} | {"chain"}
    assert files == registered
    assert all((FOLDER / f"{stem}.md").is_file() for stem in files)


def too_sure(known: Mechanism) -> Mechanism:
    return replace(known, promise=lambda made: (made.epsilon * Fraction(99, 100), Fraction(0)))


def without_an_answer(known: Mechanism) -> Mechanism:
    """One answer never comes from the first input: whoever sees it knows that the input was another."""
    return replace(known, law=lambda made, given: {k: p for k, p in known.law(made, given).items() if given or k})


def biased(known: Mechanism) -> Mechanism:
    return replace(known, estimate=lambda made, answer: known.estimate(made, answer) + 0.01)


def too_narrow(known: Mechanism) -> Mechanism:
    return replace(known, variance=lambda made, given: 0.99 * known.variance(made, given))


def another_sampler(known: Mechanism) -> Mechanism:
    """Every second draw is made for another input."""
    turns = iter(range(10**6))

    def sample(made: Any, given: Any, random_bytes: Any) -> Any:
        other = known.inputs(made)[-1] if next(turns) % 2 else given
        return known.sample(made, other, random_bytes)

    return replace(known, sample=sample)


@pytest.mark.parametrize("known", [RANDOMIZED_RESPONSE, DISCRETE_LAPLACE], ids=lambda known: known.name)
@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (too_sure, "more than the promised"),
        (without_an_answer, "neighbours lose inf"),
        (biased, "the estimate's mean is"),
        (too_narrow, "the standard deviation is"),
        (another_sampler, "draws differ from the law"),
    ],
)
def test_a_broken_mechanism_is_rejected(
    known: Mechanism, broken: Callable[[Mechanism], Mechanism], sentence: str
) -> None:
    found = problems(broken(known))
    assert any(sentence in text and text.startswith(known.name) for text in found), found


@pytest.mark.parametrize("wider", [1.2, 5])
def test_a_delta_that_is_exceeded_is_rejected(wider: float) -> None:
    """Noise on a bound that moves further between neighbours than it was made for."""
    known = MECHANISMS["smooth Laplace noise"]

    def inputs(made: Any) -> Any:
        (number, bound), (other, _) = known.inputs(made)
        return (number, bound), (other, bound * (made.beta * type(made.beta)(wider)).exp())

    assert any("is spent, which is more" in text for text in problems(replace(known, inputs=inputs)))
