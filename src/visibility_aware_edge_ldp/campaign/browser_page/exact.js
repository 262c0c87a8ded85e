// Exact numbers: fractions of whole numbers, exp and ln to so many binary digits, and the doubles nearest to them.

const abs = (x) => (x < 0n ? -x : x);

function common(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** A quotient of whole numbers, rounded down. */
export function floorDivided(a, b) {
  const found = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? found - 1n : found;
}

/** A fraction in lowest terms; its denominator is above 0. */
export class Fraction {
  constructor(n, d = 1n) {
    if (d < 0n) [n, d] = [-n, -d];
    const by = common(abs(n), d);
    this.n = by > 1n ? n / by : n;
    this.d = by > 1n ? d / by : d;
  }

  static of(value) {
    if (value instanceof Fraction) return value;
    if (typeof value === "string") return new Fraction(...value.split("/").map(BigInt));
    return new Fraction(BigInt(value));
  }

  plus(other) {
    const o = Fraction.of(other);
    return new Fraction(this.n * o.d + o.n * this.d, this.d * o.d);
  }

  minus(other) {
    const o = Fraction.of(other);
    return new Fraction(this.n * o.d - o.n * this.d, this.d * o.d);
  }

  times(other) {
    const o = Fraction.of(other);
    return new Fraction(this.n * o.n, this.d * o.d);
  }

  over(other) {
    const o = Fraction.of(other);
    return new Fraction(this.n * o.d, this.d * o.n);
  }

  /** Below 0, 0, or above 0, as this is smaller, equal or larger. */
  compared(other) {
    const o = Fraction.of(other);
    const difference = this.n * o.d - o.n * this.d;
    return difference < 0n ? -1 : Number(difference > 0n);
  }

  floor() {
    return floorDivided(this.n, this.d);
  }

  ceiling() {
    return -floorDivided(-this.n, this.d);
  }

  /** The fixed-point number with so many binary digits after the point, rounded down. */
  fixed(bits) {
    return floorDivided(this.n << BigInt(bits), this.d);
  }

  /** The nearest double, ties to even. */
  toNumber() {
    if (this.n === 0n) return 0;
    const size = abs(this.n);
    const shift = 70 + this.d.toString(2).length - size.toString(2).length;
    const scaled = shift >= 0 ? size << BigInt(shift) : size;
    const below = shift >= 0 ? this.d : this.d << BigInt(-shift);
    const digits = scaled / below | (scaled % below ? 1n : 0n);
    return (this.n < 0n ? -1 : 1) * Number(digits) * 2 ** -shift;
  }

  toString() {
    return this.d === 1n ? `${this.n}` : `${this.n}/${this.d}`;
  }
}

/** The fraction that a double is. */
export function exactly(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0);
  const power = Number((bits >> 52n) & 2047n);
  const digits = (bits & ((1n << 52n) - 1n)) | (power ? 1n << 52n : 0n);
  const shift = (power || 1) - 1075;
  const signed = bits >> 63n ? -digits : digits;
  return shift >= 0 ? new Fraction(signed << BigInt(shift)) : new Fraction(signed, 1n << BigInt(-shift));
}

const GUARD = 32;
const logarithms = new Map();

function ln2(bits) {
  if (!logarithms.has(bits)) logarithms.set(bits, 2n * arctanh((1n << BigInt(bits)) / 3n, bits));
  return logarithms.get(bits);
}

function arctanh(y, bits) {
  const places = BigInt(bits);
  const square = (y * y) >> places;
  let [sum, term] = [0n, y];
  for (let k = 1n; term !== 0n && term !== -1n; k += 2n) {
    sum += term / k;
    term = (term * square) >> places;
  }
  return sum;
}

/** exp of a fixed-point number, with as many digits after the point. */
export function exp(x, bits) {
  const wide = bits + GUARD + Math.max(0, abs(x).toString(2).length - bits) + 8;
  const places = BigInt(wide);
  const power = x << BigInt(wide - bits);
  const k = floorDivided(power, ln2(wide));
  if (k < -places) return 0n;
  const r = (power - k * ln2(wide)) >> 8n;
  let [sum, term] = [1n << places, 1n << places];
  for (let j = 1n; term > 0n; j++) {
    term = (term * r) / j >> places;
    sum += term;
  }
  for (let i = 0; i < 8; i++) sum = (sum * sum) >> places;
  const shift = k - BigInt(wide - bits);
  return shift >= 0n ? sum << shift : sum >> -shift;
}

/** ln of a fixed-point number above 0, with as many digits after the point. */
export function ln(x, bits) {
  const wide = bits + GUARD;
  const places = BigInt(wide);
  const k = x.toString(2).length - 1 - bits;
  const scaled = x << BigInt(GUARD);
  const one = 1n << places;
  const m = k >= 0 ? scaled >> BigInt(k) : scaled << BigInt(-k);
  const found = 2n * arctanh(((m - one) << places) / (m + one), wide) + BigInt(k) * ln2(wide);
  return found >> BigInt(GUARD);
}
