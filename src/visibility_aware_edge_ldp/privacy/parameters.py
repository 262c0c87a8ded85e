"""Epsilon and delta as exact numbers: what a user types is what is promised.  [RR.1], [DL.1]"""

from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real

from visibility_aware_edge_ldp.errors import BadPrivacyParameter

Number = Fraction | float | int | str
# Far beyond anything that protects; it keeps arithmetic on promises finite.
LARGEST_EPSILON = 1000


def parse_number(value: Number, what: str) -> Fraction:
    """The decimal number that was written: 0.1 means one tenth, not the nearest binary fraction."""
    if isinstance(value, bool) or not isinstance(value, (Real, str)):
        raise BadPrivacyParameter(f"{what} must be a number such as 1 or 0.5; got {value!r}.")
    try:
        # repr of a float is the shortest decimal that names it, which is what the user wrote.
        if isinstance(value, Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        text = str(value).strip()
        # Fraction("1e999999999") would write out a billion digits.
        if abs(Decimal(text).adjusted() if "/" not in text else 0) > 400:
            raise ValueError(text)  # noqa: TRY301
        return Fraction(text)
    except (ValueError, ZeroDivisionError, ArithmeticError) as error:
        raise BadPrivacyParameter(f"{what} must be a finite number such as 1 or 0.5; got {value!r}.") from error


def parse_epsilon(value: Number, what: str = "epsilon") -> Fraction:
    """A positive, finite epsilon."""
    epsilon = parse_number(value, what)
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise BadPrivacyParameter(
            f"{what} must be above 0 and at most {LARGEST_EPSILON}; got {value}. Values from 0.1 to 4 are usual."
        )
    return epsilon


def parse_delta(value: Number, what: str = "delta") -> Fraction:
    """A delta in [0, 1)."""
    delta = parse_number(value, what)
    if not 0 <= delta < 1:
        raise BadPrivacyParameter(f"{what} must be at least 0 and below 1; got {value}. 1e-6 is usual, 0 is pure.")
    return delta


def parse_share(value: Number, what: str) -> Fraction:
    """A fraction in [0, 1]."""
    share = parse_number(value, what)
    if not 0 <= share <= 1:
        raise BadPrivacyParameter(f"{what} must be between 0 and 1; got {value}.")
    return share
