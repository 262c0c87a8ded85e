"""Coins, and the numbers that are drawn with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

Coins = Callable[[int], bytes]
WORD = 1 << 64
Law = Callable[[int, int], Fraction]  # F(k), right to so many decimals


def word(coins: Coins) -> int:
    return int.from_bytes(coins(8), "big")


def threshold(loss: Fraction) -> int:
    """T(e)."""
    if loss > 100:
        return 1
    with localcontext() as context:
        context.prec = 80
        odds = 1 + (Decimal(loss.numerator) / Decimal(loss.denominator)).exp()
        return int(Decimal(WORD) / odds + Decimal("1e-30")) + 1


def response_loss(flip: int, decimals: int) -> Fraction:
    """ln((2^64 - T)/T), rounded up at so many decimals."""
    with localcontext() as context:
        context.prec = 120
        exact = Fraction((Decimal(WORD - flip) / Decimal(flip)).ln())
    unit = 10**decimals
    return Fraction(-int(-(exact + Fraction(1, 10**90)) * unit // 1), unit)


def chance_bits(chances: Sequence[Fraction], coins: Coins) -> list[bool]:
    """One event for each chance; ties are settled after all first words."""
    words = [word(coins) for _ in chances]
    found = []
    for chance, drawn in zip(chances, words, strict=True):
        scaled, value = chance * WORD, drawn
        while value == scaled // 1 and scaled % 1:
            scaled = scaled % 1 * WORD
            value = word(coins)
        found.append(value < scaled // 1)
    return found


def flips(count: int, flip: int, coins: Coins) -> list[bool]:
    head, tail = divmod(flip, 1 << 56)
    first = coins(count) if count else b""
    return [each < head or (each == head and int.from_bytes(coins(7), "big") < tail) for each in first]


def step(better: Fraction, worse: Fraction) -> Fraction:
    return (worse - better) / (1 - 2 * better)


def chained(flip: int, bits: Sequence[bool], levels: Sequence[dict[int, bool]], coins: Coins) -> list[bool]:
    """A chained answer for each bit; ``levels`` has for each position what it answered before, by threshold."""
    bases, chances, here = [], [], Fraction(flip, WORD)
    for bit, before in zip(bits, levels, strict=True):
        better = max((each for each in before if each < flip), default=0)
        worse = min((each for each in before if each > flip), default=0)
        base = before.get(better, bit) if better else bit
        down = step(Fraction(better, WORD), here)
        if worse:
            further = step(here, Fraction(worse, WORD))
            agree = base == before[worse]
            differs = down * (further if agree else 1 - further)
            same = (1 - down) * (1 - further if agree else further)
            down = differs / (differs + same)
        bases.append(base)
        chances.append(down)
    fresh = [base != event for base, event in zip(bases, chance_bits(chances, coins), strict=True)]
    return [before.get(flip, answer) for before, answer in zip(levels, fresh, strict=True)]


def draw(law: Law, coins: Coins, stride: int = 1) -> int:
    """The smallest k with U < F(k)."""
    value, bits = word(coins), 64

    def below(k: int) -> bool:
        nonlocal value, bits
        while True:
            digits = bits * 3 // 8
            f, margin = law(k, digits + 6) * (1 << bits), Fraction(1 << bits, 10**digits)
            if value + 1 <= f - margin:
                return True
            if value >= f + margin:
                return False
            value, bits = value << 64 | word(coins), bits + 64

    low, high = -stride, stride
    while below(low):
        low *= 2
    while not below(high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(middle) else (middle, high)
    return high


def discrete_laplace(rate: Fraction) -> Law:
    def law(k: int, digits: int) -> Fraction:
        with localcontext() as context:
            context.prec = digits + 10
            exponent = -(k + 1) if k >= 0 else k
            whole = 1 + _exp(-rate)
            tail = Fraction(_exp(rate * exponent) / whole)
        return 1 - tail if k >= 0 else tail

    return law


def _exp(power: Fraction) -> Decimal:
    return (Decimal(power.numerator) / Decimal(power.denominator)).exp()


def power_noise(loss: Fraction, share: Fraction, scale: Fraction) -> Law:
    unit = loss * (1 - Fraction(1, 1 << 60)) / scale

    def law(k: int, digits: int) -> Fraction:
        with localcontext() as context:
            context.prec = digits + 30
            z, a = (Fraction(2 * k + 1, 2) * unit), 1 / share
            size, power = (Decimal(each.numerator) / Decimal(each.denominator) for each in (abs(z), a))
            joint = (1 - 1 / power) ** (power - 1)
            mass = 1 + 2 * joint / power
            if size <= 1:
                beyond = mass - 1 + (1 - size / power) ** power
            else:
                beyond = joint * (1 + 1 / power) * ((1 + size / power) / (1 + 1 / power)) ** -power
            tail = Fraction(beyond / (2 * mass))
        return tail if z < 0 else 1 - tail

    return law
