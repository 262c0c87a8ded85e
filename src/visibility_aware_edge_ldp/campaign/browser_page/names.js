// Searching in names: forgiving of case, accents and small mistakes.

/** A name as it is compared: without case, accents and signs. */
export const folded = (text) =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

/** Those whose folded names hold each word of what was typed at the beginning of a word; else anywhere. */
export function matches(people, typed) {
  const words = folded(typed).split(" ").filter(Boolean);
  if (!words.length) return typed.trim() ? people.filter(({ name }) => name.includes(typed.trim())) : people;
  const starts = people.filter(({ key }) => words.every((word) => key.startsWith(word) || key.includes(` ${word}`)));
  return starts.length ? starts : people.filter(({ key }) => words.every((word) => key.includes(word)));
}

/** How many letters must be changed, put in or left out, or exchanged with their neighbour; at most `most` + 1. */
export function distance(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let [older, old] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = Number(a[i - 1] !== b[j - 1]);
      row[j] = Math.min(old[j] + 1, row[j - 1] + 1, old[j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], older[j - 2] + 1);
    }
    if (Math.min(...row) > most) return most + 1;
    [older, old] = [old, row];
  }
  return old[b.length];
}

/** Up to three people whose names, or words of them, are nearest to what was typed. */
export function meant(people, typed) {
  const wanted = folded(typed);
  if (wanted.length < 2) return [];
  const most = wanted.length < 5 ? 1 : wanted.length < 9 ? 2 : 3;
  const far = ({ key }) => Math.min(...[key, ...key.split(" ")].map((each) => distance(wanted, each, most)));
  const found = people.map((person) => ({ person, far: far(person) })).filter((each) => each.far <= most);
  return found.sort((a, b) => a.far - b.far).slice(0, 3).map(({ person }) => person);
}
