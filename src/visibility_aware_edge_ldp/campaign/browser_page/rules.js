// Rules: the class of each position, which classes occur, and the objects that digests are made of.

import { demand, fraction, isObject, isWhole, members, byCodePoint, octets } from "./canonical.js";
import { keyedHash, sha256Octets } from "./hashes.js";
import { Fraction } from "./exact.js";
import { WORD } from "./noise.js";

export const [PUBLIC, FRIEND_VISIBLE, PRIVATE] = [0, 1, 2];
export const CLASSES = ["PUBLIC", "FRIEND_VISIBLE", "PRIVATE"];
export const HIDDEN = [FRIEND_VISIBLE, PRIVATE];

export function classOf(word) {
  demand(CLASSES.includes(word), "a class");
  return CLASSES.indexOf(word);
}

/** How a name or a value is written in digests and sorted. */
export function canonicalName(name) {
  if (Array.isArray(name) && !name.length) return "None";
  if (isObject(name)) return `${members(name, "float").float}`;
  demand(typeof name === "string" || isWhole(name), "a name or a value");
  return typeof name === "string" ? `text ${name}` : `number ${name}`;
}

const A = [0xbf58476d, 0x1ce4e5b9];
const B = [0x94d049bb, 0x133111eb];

/** The lower 64 bits of a product of two numbers, each in two halves of 32 bits. */
function product(high, low, [h, l]) {
  const [a, b, c, d] = [low >>> 16, low & 65535, l >>> 16, l & 65535];
  const middle = b * c + ((b * d) >>> 16);
  const upper = a * d + (middle & 65535);
  const carried = a * c + Math.floor(middle / 65536) + Math.floor(upper / 65536);
  return [(carried + Math.imul(high, l) + Math.imul(low, h)) >>> 0, Math.imul(low, l) >>> 0];
}

/** mix(x), x and the result in two halves. */
export function mix(high, low) {
  [high, low] = [(high ^ (high >>> 30)) >>> 0, (low ^ ((low >>> 30) | (high << 2))) >>> 0];
  [high, low] = product(high, low, A);
  [high, low] = [(high ^ (high >>> 27)) >>> 0, (low ^ ((low >>> 27) | (high << 5))) >>> 0];
  [high, low] = product(high, low, B);
  return [(high ^ (high >>> 31)) >>> 0, (low ^ ((low >>> 31) | (high << 1))) >>> 0];
}

const halves = (number) => [Number(number >> 32n), Number(number & 0xffffffffn)];
const isBelow = ([a, b], [c, d]) => a < c || (a === c && b < d);
const limitOf = (share) => halves(share.times(WORD).floor());

function nodeKeys(names, salt) {
  demand(typeof salt === "string", "a salt is a text");
  const hash = keyedHash(sha256Octets(octets(salt)));
  return names.map((name) => halves(hash(octets(`${name}`))));
}

const RULES = {
  same: [["class"], same],
  hash: [["public", "friend_visible", "salt"], hashed],
  "drawn profiles": [["fraction", "table", "salt"], drawn],
  types: [["types", "table", "words", "otherwise"], types],
  listed: [["positions", "otherwise"], listed],
  attributes: [["columns", "rows", "rules", "otherwise"], attributes],
  "most open": [["rules"], mostOpen],
};

/** A rule on a roster: `of` gives a position's class, `present` the classes that may occur, `described` the digest's object. */
export function ruleOn(rule, names) {
  demand(isObject(rule) && typeof rule.kind === "string" && Object.hasOwn(RULES, rule.kind), "an unknown kind of rule");
  const [fields, make] = RULES[rule.kind];
  return make(members(rule, "kind", ...fields), names);
}

function same(rule) {
  const kind = classOf(rule.class);
  return { of: () => kind, present: new Set([kind]), described: rule };
}

function hashed(rule, names) {
  const open = fraction(rule.public);
  const friends = fraction(rule.friend_visible);
  const both = open.plus(friends);
  demand(both.compared(1) <= 0, "shares sum to more than 1");
  const keys = nodeKeys(names, rule.salt);
  const [first, second] = [limitOf(open), limitOf(both)];
  const of = (u, v) => {
    const low = keys[u][1] + keys[v][1];
    const high = keys[u][0] + keys[v][0] + (low > 0xffffffff ? 1 : 0);
    const found = mix(high >>> 0, low >>> 0);
    return isBelow(found, first) ? PUBLIC : isBelow(found, second) ? FRIEND_VISIBLE : PRIVATE;
  };
  const shares = [open, friends, new Fraction(1n).minus(both)];
  return { of, present: new Set([0, 1, 2].filter((kind) => shares[kind].n)), described: rule };
}

function byTypes(kinds, cells, described) {
  demand(Array.isArray(cells) && cells.every(Array.isArray), "a table");
  const table = cells.map((row) => row.map(classOf));
  demand(table.every((row) => row.length === table.length), "a square table");
  demand(table.every((row, a) => row.every((cell, b) => cell === table[b][a])), "read alike by both ends");
  demand(kinds.every((kind) => kind >= 0 && kind < table.length), "types are rows of the table");
  const counts = table.map(() => 0);
  for (const kind of kinds) counts[kind]++;
  const present = new Set();
  for (let a = 0; a < table.length; a++) {
    for (let b = 0; b <= a; b++) {
      if (a === b ? counts[a] > 1 : counts[a] && counts[b]) present.add(table[a][b]);
    }
  }
  return { of: (u, v) => table[kinds[u]][kinds[v]], present, described };
}

function drawn(rule, names) {
  const share = fraction(rule.fraction);
  demand(share.compared(1) <= 0 && rule.table.length === 2, "a fraction, and a table of two");
  const limit = limitOf(share);
  const kinds = nodeKeys(names, rule.salt).map(([high, low]) => Number(isBelow(mix(high, low), limit)));
  return byTypes(kinds, rule.table, rule);
}

export function rowsOf(rows, size) {
  demand(Array.isArray(rows) && rows.every((row) => Array.isArray(row) && row.length === size), "a list of rows");
  return rows;
}

/** Refuses keys, texts or pairs of texts, that are not sorted or stand twice. */
export function refuseDisorder(keys) {
  const order = (a, b) => (typeof a === "string" ? byCodePoint(a, b) : byCodePoint(a[0], b[0]) || byCodePoint(a[1], b[1]));
  demand(keys.every((key, i) => !i || order(keys[i - 1], key) < 0), "sorted, and nobody twice");
}

export function refuseStrangers(named, names) {
  const known = new Set(names.map(canonicalName));
  demand(named.every((name) => known.has(canonicalName(name))), "names that are not in the roster");
}

function types(rule, names) {
  const rows = rowsOf(rule.types, 2);
  const given = Object.create(null);
  for (const [name, kind] of rows) given[canonicalName(name)] = kind;
  demand(typeof rule.words === "string" && [...Object.values(given), rule.otherwise].every(isWhole), "types");
  const size = Array.isArray(rule.table) ? rule.table.length : 0;
  const isRow = (each) => each >= 0 && each < size;
  demand([...Object.values(given), rule.otherwise].every(isRow), "types are rows of the table");
  refuseDisorder(rows.map(([name]) => canonicalName(name)));
  refuseStrangers(rows.map(([name]) => name), names);
  const kinds = names.map((name) => given[canonicalName(name)] ?? rule.otherwise);
  const { words, ...rest } = rule;
  return byTypes(kinds, rule.table, { ...rest, types: given });
}

function listed(rule, names) {
  const rows = rowsOf(rule.positions, 3);
  const otherwise = classOf(rule.otherwise);
  const pairs = rows.map(([a, b]) => [canonicalName(a), canonicalName(b)]);
  demand(pairs.every(([a, b]) => byCodePoint(a, b) < 0), "two different names, the smaller first");
  refuseDisorder(pairs);
  refuseStrangers(rows.flatMap(([a, b]) => [a, b]), names);
  const own = names.map(canonicalName);
  const key = (a, b) => (byCodePoint(a, b) < 0 ? `${a}\n${b}` : `${b}\n${a}`); // no name has a line feed
  const found = new Map(pairs.map(([a, b], i) => [key(a, b), classOf(rows[i][2])]));
  const present = new Set(found.values());
  if (found.size < (names.length * (names.length - 1)) / 2) present.add(otherwise);
  const described = { ...rule, positions: pairs.map((pair, i) => [...pair, rows[i][2]]) };
  return { of: (u, v) => found.get(key(own[u], own[v])) ?? otherwise, present, described };
}

/** A double as Python writes it: the shortest digits that read back the same, `1.0`, `1e+16`, `1e-05`. */
function digitsOf(number) {
  const [digits, power] = number.toExponential().split("e").map((part, i) => (i ? Number(part) : part));
  if (power >= -4 && power < 16) {
    const plain = power < 0 ? number.toFixed(digits.replace(/[-.]/g, "").length - power - 1) : `${number}`;
    return plain.includes(".") ? plain : `${plain}.0`;
  }
  return `${digits}e${power < 0 ? "-" : "+"}${`${Math.abs(power)}`.padStart(2, "0")}`;
}

/** A value that compares as the protocol says: a text that is the same for equal values; null for none. */
export function valueOf(value) {
  if (isObject(value)) {
    const text = members(value, "float").float;
    demand(typeof text === "string" && /^-?[0-9.]+(e[-+][0-9]+)?$/.test(text), "a float's digits");
    const number = Number(text);
    const written = Object.is(number, -0) ? "-0.0" : digitsOf(number);
    demand(Number.isFinite(number) && written === text, "a float's digits");
    return Number.isInteger(number) ? `number ${BigInt(number)}` : `number ${text}`;
  }
  if (Array.isArray(value) && !value.length) return null;
  demand(typeof value === "string" || isWhole(value), "a value");
  return canonicalName(value);
}

function attributes(rule, names) {
  const lines = rowsOf(rule.rules, 4);
  const otherwise = classOf(rule.otherwise);
  const columns = [...new Set(lines.map((line) => line[1]))];
  demand(lines.length && columns.every((each) => typeof each === "string") && Array.isArray(rule.columns), "columns");
  columns.sort(byCodePoint);
  demand(rule.columns.length === columns.length && columns.every((each, i) => each === rule.columns[i]), "columns of the lines");
  const rows = rowsOf(rule.rows, 2);
  demand(rows.every(([, values]) => Array.isArray(values) && values.length === columns.length), "a value a column");
  refuseDisorder(rows.map(([name]) => canonicalName(name)));
  refuseStrangers(rows.map(([name]) => name), names);
  const table = new Map(rows.map(([name, values]) => [canonicalName(name), values.map(valueOf)]));
  const own = names.map((name) => table.get(canonicalName(name)) || columns.map(() => null));
  const read = lines.map(([kind, column, value, given]) => {
    const place = columns.indexOf(column);
    const held = own.map((row) => row[place]).filter((each) => each !== null);
    demand(["same", "differ", "both", "any"].includes(kind) && held.length, "a column that somebody has a value in");
    const wanted = valueOf(value);
    demand(kind === "same" || kind === "differ" || typeof value !== "string" || held.includes(wanted), "a value that somebody has");
    return [kind, place, wanted, classOf(given)];
  });
  const of = (u, v) => read.find(([kind, place, value]) => holds(kind, value, own[u][place], own[v][place]))?.[3] ?? otherwise;
  const described = {
    ...rule,
    rows: Object.assign(Object.create(null), Object.fromEntries(rows.map(([name, values]) => [canonicalName(name), values.map(canonicalName)]))),
    rules: lines.map(([kind, column, value, given]) => [kind, column, canonicalName(value), given]),
  };
  return { of, present: new Set([otherwise, ...read.map((line) => line[3])]), described };
}

function holds(kind, value, a, b) {
  if (kind === "same" || kind === "differ") return a !== null && b !== null && (a === b) === (kind === "same");
  const hits = [a, b].map((each) => each !== null && each === value);
  return kind === "both" ? hits[0] && hits[1] : hits[0] || hits[1];
}

function mostOpen(rule, names) {
  demand(Array.isArray(rule.rules) && rule.rules.length, "at least one rule");
  const parts = rule.rules.map((part) => ruleOn(part, names));
  return {
    of: (u, v) => Math.min(...parts.map((part) => part.of(u, v))),
    present: new Set(parts.flatMap((part) => [...part.present])),
    described: { ...rule, rules: parts.map((part) => part.described) },
  };
}

