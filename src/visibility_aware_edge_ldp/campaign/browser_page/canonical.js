// Canonical JSON, fractions, texts that people read, and the charter's signature.

import { Fraction } from "./exact.js";
import { sha256Octets } from "./hashes.js";

/** Something that the protocol says is refused or declined. */
export class Refused extends Error {}

export function demand(holds, why) {
  if (!holds) throw new Refused(why);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
export const octets = (text) => encoder.encode(text);
export const hex = (data) => Array.from(data, (each) => each.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
export const sha256 = (data) => hex(sha256Octets(data));
export const isHex = (text, size = 32) => typeof text === "string" && text.length === 2 * size && /^[0-9a-f]*$/.test(text);
export const sameOctets = (a, b) => a.length === b.length && a.every((each, i) => each === b[i]);

export function joined(...parts) {
  const found = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}

/** The text of octets; refuses what is not UTF-8. */
export function textOf(data) {
  try {
    return decoder.decode(data);
  } catch {
    throw new Refused("not UTF-8");
  }
}

export const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Float);
export const isWhole = (value) => typeof value === "bigint" || Number.isSafeInteger(value);
export const has = (value, name) => Object.hasOwn(value, name);

/** A number with a point or an exponent, in a reply that is not canonical. */
export class Float {
  constructor(text) {
    this.value = Number(text);
  }
}

/** Order of texts by code points: surrogates, which stand for characters above all others, are moved up. */
export function byCodePoint(a, b) {
  const size = Math.min(a.length, b.length);
  for (let i = 0; i < size; i++) {
    let [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    if (x >= 0xd800 && x <= 0xdfff) x += 0x10000;
    if (y >= 0xd800 && y <= 0xdfff) y += 0x10000;
    return x - y;
  }
  return a.length - b.length;
}

const ESCAPES = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r" };
const escaped = (each) => ESCAPES[each] || `\\u00${each.charCodeAt(0).toString(16).padStart(2, "0")}`;
export const quoted = (text) => `"${text.replace(/["\\\u0000-\u001f]/g, escaped)}"`;

/** The canonical text of a value. */
export function writtenText(value) {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(writtenText).join(",")}]`;
  if (isObject(value)) {
    const names = Object.keys(value).sort(byCodePoint);
    return `{${names.map((name) => `${quoted(name)}:${writtenText(value[name])}`).join(",")}}`;
  }
  return `${value}`;
}

export const written = (value) => octets(writtenText(value));
export const sameValue = (a, b) => writtenText(a) === writtenText(b);

class Reader {
  constructor(text, exact) {
    Object.assign(this, { text, exact, at: 0 });
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found ? found[0] : null;
  }

  blank() {
    if (!this.exact) this.take(/[ \t\n\r]*/y);
  }

  is(letter) {
    this.blank();
    if (this.text[this.at] !== letter) return false;
    this.at++;
    return true;
  }

  value(depth) {
    demand(depth <= (this.exact ? 17 : 500), "nested too deep");
    this.blank();
    const letter = this.text[this.at];
    if (letter === "{" || letter === "[") demand(!this.exact || depth <= 16, "nested too deep");
    if (letter === "{") return this.object(depth);
    if (letter === "[") return this.list(depth);
    if (letter === '"') return this.string();
    return this.scalar();
  }

  object(depth) {
    const found = Object.create(null);
    this.at++;
    if (this.is("}")) return found;
    do {
      this.blank();
      const name = this.string();
      demand(!this.exact || !has(found, name), "a key stands twice");
      demand(this.is(":"), "a member without a value");
      found[name] = this.value(depth + 1);
    } while (this.is(","));
    demand(this.is("}"), "an object without an end");
    return found;
  }

  list(depth) {
    const found = [];
    this.at++;
    if (this.is("]")) return found;
    do found.push(this.value(depth + 1));
    while (this.is(","));
    demand(this.is("]"), "a list without an end");
    return found;
  }

  string() {
    const found = this.take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y);
    demand(found !== null, "not a text");
    const read = JSON.parse(found);
    demand(!this.exact || (read.isWellFormed() && read.normalize("NFC") === read), "not composed");
    return read;
  }

  scalar() {
    const number = this.take(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y);
    if (number === null) {
      const word = this.exact ? null : this.take(/true|false|null/y);
      demand(word !== null, "not a value");
      return JSON.parse(word);
    }
    if (!/^-?[0-9]+$/.test(number)) {
      demand(!this.exact, "only whole numbers");
      return new Float(number);
    }
    demand(!this.exact || (number.length <= 20 && number !== "-0"), "not a whole number of 64 bits");
    const whole = BigInt(number);
    demand(!this.exact || (whole >= -(1n << 63n) && whole < 1n << 63n), "not a whole number of 64 bits");
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  }
}

function parsed(data, exact) {
  const reader = new Reader(textOf(data), exact);
  const value = reader.value(1);
  reader.blank();
  demand(reader.at === reader.text.length, "something after the value");
  return value;
}

/** The value of canonical octets; refuses all others. */
export function read(data, most = 2 ** 28) {
  demand(data.length <= most, "too many octets");
  const value = parsed(data, true);
  demand(writtenText(value) === textOf(data), "not written canonically");
  return value;
}

/** The object in a reply that need not be canonical. */
export function readObject(data) {
  const found = parsed(data, false);
  demand(isObject(found), "not an object");
  return found;
}

/** An object with exactly these members. */
export function members(value, ...names) {
  demand(isObject(value), `an object must have ${names}`);
  demand(Object.keys(value).length === names.length && names.every((name) => has(value, name)), `an object must have ${names}`);
  return value;
}

/** Refuses what a newer version says, in words that people understand. */
export function refuseNewer(value, known) {
  const other = Object.keys(value).find((name) => !known.includes(name));
  const words = other && `this page is too old for this campaign, which says “${other.slice(0, 40)}”: ask the issuer for a newer page`;
  demand(other === undefined, words);
}

export function fraction(text) {
  demand(typeof text === "string" && /^(0|[1-9][0-9]{0,199})(\/[1-9][0-9]{0,199})?$/.test(text), "a fraction");
  const found = Fraction.of(text);
  demand(`${found}` === text, "a fraction");
  return found;
}

const UNSEEN = /[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
const NOT_PRINTED = /[\p{C}\p{Z}]/u;

/** Whether a text has no character of the categories C and Z but the blank. */
export const isPrintable = (text) => !NOT_PRINTED.test(text.replaceAll(" ", ""));

/** Whether a character's combining class is not 0: then normal forms move it before or behind another mark. */
function combines(letter) {
  if (!/\p{M}/u.test(letter)) return false;
  const alone = letter.normalize("NFD");
  return (
    `${letter}\u0334`.normalize("NFD") !== `${alone}\u0334` || `\u0345${letter}`.normalize("NFD") !== `\u0345${alone}`
  );
}

export function refuseMisread(text, most) {
  const letters = typeof text === "string" ? [...text] : [];
  demand(letters.length >= 1 && letters.length <= most, "a text that is too short or too long");
  demand(text === text.trim() && !text.includes("  "), "blanks at an end or in a row");
  demand(isPrintable(text) && !UNSEEN.test(text), "a character that is not seen");
  let marks = 0;
  for (const letter of letters) {
    marks = combines(letter) ? marks + 1 : 0;
    demand(marks < 5, "too many marks");
  }
}

const PREFIX = octets("va-edge-ldp charter 1\n");

/** Refuses octets that this key did not sign for this purpose: by itself, that of charters and amendments. */
export async function refuseSignature(data, signature, key, purpose = PREFIX) {
  demand(isHex(signature, 64), "a signature has 128 hex digits");
  demand(isHex(key), "a fingerprint has 64 hex digits");
  let holds = false;
  try {
    const own = await crypto.subtle.importKey("raw", fromHex(key), "Ed25519", false, ["verify"]);
    holds = await crypto.subtle.verify("Ed25519", own, fromHex(signature), joined(purpose, data));
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotSupportedError") {
      throw new Refused("this browser is too old: it cannot check Ed25519 signatures");
    }
  }
  const what = textOf(purpose).trim().split(" ").slice(1, -1).join(" ");
  demand(holds, `this ${what} is not signed by whoever must have signed it`);
}
