// Coins, and the numbers that are drawn with them. Coins are a function from a count to so many octets.

import { Fraction, exp, ln } from "./exact.js";

export const WORD = 1n << 64n;
const DIGITS = 400; // binary ones, for thresholds and losses

export const numberOf = (data) => data.reduce((sum, each) => (sum << 8n) | BigInt(each), 0n);
const word = (coins) => numberOf(coins(8));

/** The octets of the device's own generator. */
export function deviceCoins(count) {
  const found = new Uint8Array(count);
  for (let at = 0; at < count; at += 65536) crypto.getRandomValues(found.subarray(at, at + 65536));
  return found;
}

/** T(e). */
export function threshold(loss) {
  if (loss.compared(100) > 0) return 1n;
  const places = BigInt(DIGITS);
  const odds = (1n << places) + exp(loss.fixed(DIGITS), DIGITS);
  const share = (WORD << (2n * places)) / odds + (1n << places) / 10n ** 30n;
  return (share >> places) + 1n;
}

/** ln((2^64 - T)/T), rounded up at so many decimals. */
export function responseLoss(flip, decimals) {
  const found = ln(((WORD - flip) << BigInt(DIGITS)) / flip, DIGITS);
  const exact = new Fraction(found, 1n << BigInt(DIGITS)).plus(new Fraction(1n, 10n ** 90n));
  const unit = 10n ** BigInt(decimals);
  return new Fraction(exact.times(unit).ceiling(), unit);
}

/** One event for each chance; ties are settled after all first words. */
export function chanceBits(chances, coins) {
  const words = chances.map(() => word(coins));
  return chances.map((chance, i) => {
    let scaled = chance.times(WORD);
    let value = words[i];
    while (value === scaled.floor() && scaled.d !== 1n) {
      scaled = scaled.minus(scaled.floor()).times(WORD);
      value = word(coins);
    }
    return value < scaled.floor();
  });
}

/** So many flips at a threshold. */
export function flips(count, flip, coins) {
  const head = Number(flip >> 56n);
  const tail = flip & ((1n << 56n) - 1n);
  const first = count ? coins(count) : [];
  return Array.from(first, (each) => each < head || (each === head && numberOf(coins(7)) < tail));
}

const step = (better, worse) => worse.minus(better).over(new Fraction(1n).minus(better.times(2)));

/** A chained answer for each bit; `levels` has for each position a map from thresholds to what it answered before. */
export function chained(flip, bits, levels, coins) {
  const here = new Fraction(flip, WORD);
  const one = new Fraction(1n);
  const known = new Map();
  const chanceOf = (better, worse, agree) => {
    const key = `${better} ${worse} ${agree}`;
    if (!known.has(key)) {
      let down = step(new Fraction(better, WORD), here);
      if (worse) {
        const further = step(here, new Fraction(worse, WORD));
        const differs = down.times(agree ? further : one.minus(further));
        const same = one.minus(down).times(agree ? one.minus(further) : further);
        down = differs.over(differs.plus(same));
      }
      known.set(key, down);
    }
    return known.get(key);
  };
  const bases = [];
  const chances = bits.map((bit, i) => {
    const before = levels[i];
    let [better, worse] = [0n, 0n];
    for (const each of before.keys()) {
      if (each < flip && each > better) better = each;
      if (each > flip && (!worse || each < worse)) worse = each;
    }
    bases.push(better ? before.get(better) : bit);
    return chanceOf(better, worse, worse ? bases[i] === before.get(worse) : false);
  });
  const fresh = chanceBits(chances, coins).map((event, i) => bases[i] !== event);
  return fresh.map((answer, i) => (levels[i].has(flip) ? levels[i].get(flip) : answer));
}

/** The smallest k with U < F(k); a law gives F(k) with so many binary digits after the point. */
export function draw(law, coins, stride = 1n) {
  let value = word(coins);
  let bits = 64;
  const below = (k) => {
    for (;;) {
      const size = BigInt(bits);
      const wide = bits + 96;
      const found = law(k, wide);
      const margin = (1n << BigInt(wide)) / 10n ** BigInt(Math.floor((bits * 3) / 8));
      const spare = BigInt(wide) - size;
      if ((value + 1n) << spare <= found - margin) return true;
      if (value << spare >= found + margin) return false;
      value = (value << 64n) | word(coins);
      bits += 64;
    }
  };
  let [low, high] = [-stride, stride];
  while (below(low)) low *= 2n;
  while (!below(high)) high *= 2n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (below(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** F of discrete Laplace noise at a rate. */
export function discreteLaplace(rate) {
  return (k, bits) => {
    const one = 1n << BigInt(bits);
    const whole = one + exp(rate.times(-1n).fixed(bits), bits);
    const tail = (exp(rate.times(k >= 0n ? -(k + 1n) : k).fixed(bits), bits) << BigInt(bits)) / whole;
    return k >= 0n ? one - tail : tail;
  };
}

/** F of power noise at a loss, with a share and a scale. */
export function powerNoise(loss, share, scale) {
  const unit = loss.times(new Fraction((1n << 60n) - 1n, 1n << 60n)).over(scale);
  const a = new Fraction(1n).over(share);
  return (k, digits) => {
    const bits = digits + 64;
    const places = BigInt(bits);
    const one = 1n << places;
    const raised = (base, power) => exp(new Fraction(ln(base, bits) * power.n, power.d).floor(), bits);
    const z = unit.times(new Fraction(2n * k + 1n, 2n));
    const size = z.n < 0n ? z.times(-1n) : z;
    const joint = raised(one - share.fixed(bits), a.minus(1));
    const mass = one + ((2n * joint * share.n) / share.d);
    let beyond;
    if (size.compared(1) <= 0) {
      beyond = mass - one + raised(one - size.times(share).fixed(bits), a);
    } else {
      const edge = one + share.fixed(bits);
      const outer = ((one + size.times(share).fixed(bits)) << places) / edge;
      beyond = (((joint * edge) >> places) * raised(outer, a.times(-1n))) >> places;
    }
    const tail = ((beyond << places) / (2n * mass)) >> 64n;
    return z.n < 0n ? tail : (1n << BigInt(digits)) - tail;
  };
}

/** 1/rate, at least 1, as a whole number: how far a search begins. */
export const stride = (size) => {
  const found = size.floor();
  return found > 1n ? found : 1n;
};
