"""The flags of a whole life of one bit, without campaign and ledger: every coin of what is said.  [CHANGES.1]"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.mechanisms.changes import Bits, Changes
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes

Told = Callable[[Changes, Bits, RandomBytes], Bits]
CASES = ((Fraction(1), 1), (Fraction(1, 10), 1), (Fraction(4), 1), (Fraction(1), 2), (Fraction(3), 2))


def audit_changes(name: str, told: Told, about: str) -> findings.Finding:
    """The loss between any two lives of so many flags that each life may have raised other ones."""
    losses, cases = [], 0
    for epsilon, most in CASES:
        made = Changes(epsilon, most)
        lives = [flags for flags in product((0, 1), repeat=2 * most) if sum(flags) <= most]
        spoken = [findings.Spoken(_law(made, np.array(flags, np.bool_), told)) for flags in lives]
        gaps = [findings.gap_between(one, other) for one, other in product(spoken, repeat=2)]
        losses.append(findings.Loss("PRIVATE", float(epsilon), max(gap.epsilon for gap in gaps)))
        cases += len(gaps)
    return findings.exact_finding(name, losses, cases, about)


def _law(made: Changes, raised: Bits, told: Told) -> dict[bytes, Fraction]:
    """What is said of these flags, with its probability."""
    quiet = [randomness.flip_coin(made.quiet)] * raised.size
    fair = tuple(randomness.Outcome(bytes([bits]), b"", 1, raised.size) for bits in range(1 << raised.size))

    def play(coins: randomness.ScriptedCoins) -> bytes:
        coins.offer([quiet, [fair]])
        return np.packbits(told(made, raised, coins)).tobytes()

    return randomness.walk(play)


def surely_raised(made: Changes, raised: Bits, random_bytes: RandomBytes) -> Bits:
    """A mutant: a raised flag says 1 whatever its coin."""
    return Changes.told(made, raised, random_bytes) | raised


def told_as_they_are(made: Changes, raised: Bits, random_bytes: RandomBytes) -> Bits:
    """A mutant: what is not raised says 0, without its own chance of a 1."""
    return Changes.told(made, raised, random_bytes) & raised


AUDITS = (
    findings.exact(
        "told changes",
        audit_changes,
        Changes.told,
        "every coin of up to four flags, any two lives of a bit with at most one or two told changes, three epsilons",
    ),
)
MUTANTS = findings.exact_mutants(
    audit_changes,
    [
        ("told changes, surely raised", "A raised flag says 1, not what a fair coin says.", surely_raised),
        ("told changes, quiet flags never raised", "A flag that is not raised never says 1.", told_as_they_are),
    ],
)
