// SHA-256 and BLAKE2b: octets in, octets out. At once, where WebCrypto would have to be waited for.

const K = new Uint32Array(64);
const START = new Uint32Array(8);
(function primes() {
  const root = (prime, power) => {
    // The first 32 binary digits after the point of a prime's square (2) or cube (3) root.
    const wanted = BigInt(prime) << BigInt(32 * power);
    let low = 0n;
    let high = 1n << 40n;
    while (high - low > 1n) {
      const middle = (low + high) >> 1n;
      if (middle ** BigInt(power) <= wanted) low = middle;
      else high = middle;
    }
    return Number(low & 0xffffffffn);
  };
  let found = 0;
  for (let each = 2; found < 64; each++) {
    let prime = true;
    for (let by = 2; by * by <= each; by++) if (each % by === 0) prime = false;
    if (!prime) continue;
    if (found < 8) START[found] = root(each, 2);
    K[found++] = root(each, 3);
  }
})();

const turned = (x, by) => (x >>> by) | (x << (32 - by));
const W = new Uint32Array(64);

function compress(state, view, at) {
  for (let i = 0; i < 16; i++) W[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const a = W[i - 15];
    const b = W[i - 2];
    const low = turned(a, 7) ^ turned(a, 18) ^ (a >>> 3);
    const high = turned(b, 17) ^ turned(b, 19) ^ (b >>> 10);
    W[i] = (W[i - 16] + low + W[i - 7] + high) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const big = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const one = (h + big + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
    const other = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const two = (other + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((each, i) => (state[i] += each));
}

/** SHA-256 of octets, as 32 octets. */
export function sha256Octets(data) {
  const size = (((data.length + 8) >> 6) + 1) << 6;
  const tail = data.length & ~63;
  const rest = new Uint8Array(size - tail);
  rest.set(data.subarray(tail));
  rest[data.length - tail] = 0x80;
  const end = new DataView(rest.buffer);
  end.setUint32(rest.length - 8, Math.floor(data.length / 0x20000000));
  end.setUint32(rest.length - 4, (data.length << 3) >>> 0);
  const state = Uint32Array.from(START);
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  for (let at = 0; at < tail; at += 64) compress(state, view, at);
  for (let at = 0; at < rest.length; at += 64) compress(state, end, at);
  const found = new DataView(new ArrayBuffer(32));
  state.forEach((each, i) => found.setUint32(4 * i, each));
  return new Uint8Array(found.buffer);
}

const MASK = (1n << 64n) - 1n;
const IV = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => [...row].map((digit) => parseInt(digit, 16)));
const right = (x, by) => ((x >> by) | (x << (64n - by))) & MASK;

function blakeBlock(state, words, counted, last) {
  const v = [...state, ...IV];
  v[12] ^= BigInt(counted);
  if (last) v[14] ^= MASK;
  const mixed = (a, b, c, d, x, y) => {
    v[a] = (v[a] + v[b] + x) & MASK;
    v[d] = right(v[d] ^ v[a], 32n);
    v[c] = (v[c] + v[d]) & MASK;
    v[b] = right(v[b] ^ v[c], 24n);
    v[a] = (v[a] + v[b] + y) & MASK;
    v[d] = right(v[d] ^ v[a], 16n);
    v[c] = (v[c] + v[d]) & MASK;
    v[b] = right(v[b] ^ v[c], 63n);
  };
  for (let round = 0; round < 12; round++) {
    const s = SIGMA[round % 10];
    for (let i = 0; i < 4; i++) {
      mixed(i, i + 4, i + 8, i + 12, words[s[2 * i]], words[s[2 * i + 1]]);
    }
    for (let i = 0; i < 4; i++) {
      const [b, c, d] = [4 + ((i + 1) & 3), 8 + ((i + 2) & 3), 12 + ((i + 3) & 3)];
      mixed(i, b, c, d, words[s[8 + 2 * i]], words[s[9 + 2 * i]]);
    }
  }
  return state.map((each, i) => each ^ v[i] ^ v[i + 8]);
}

function blakeWords(data, at) {
  const block = new Uint8Array(128);
  block.set(data.subarray(at, at + 128));
  const view = new DataView(block.buffer);
  return Array.from({ length: 16 }, (_, i) => view.getBigUint64(8 * i, true));
}

/** A function from octets, at least one, to BLAKE2b with this key and an output of 8, as a little-endian number. */
export function keyedHash(key) {
  const start = [...IV];
  start[0] ^= 0x01010000n ^ BigInt(key.length << 8) ^ 8n;
  const begun = blakeBlock(start, blakeWords(key, 0), 128, false);
  return (data) => {
    let state = begun;
    for (let at = 0; at < data.length; at += 128) {
      const end = Math.min(at + 128, data.length);
      state = blakeBlock(state, blakeWords(data, at), 128 + end, end === data.length);
    }
    return state[0];
  };
}
