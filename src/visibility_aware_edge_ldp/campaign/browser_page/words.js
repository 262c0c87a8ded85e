// Sentences of the page: what an answer costs, and until when.

import { UNITS } from "./ledger.js";

export const moment = (seconds) => new Date(seconds * 1000).toLocaleString([], { dateStyle: "long", timeStyle: "short" });
export const epsilonOf = (units) => `${Math.ceil(Number(units * 1000n / UNITS + (units * 1000n % UNITS ? 1n : 0n))) / 1000}`;
export const days = (seconds) => (seconds >= 86400 ? `${Math.round(seconds / 86400)} days` : `${Math.round(seconds / 3600)} hours`);

/** What is asked, and what it costs at most, in one sentence. */
export function costSentence(name, charter, people, number, largest) {
  const odds = Math.exp(Number(largest) / Number(UNITS));
  const said = odds > 1000 ? "more than 1,000" : odds.toPrecision(2);
  return `${name}, “${charter.title}” asks ${number === 2 ? "a second time " : ""}who of ${people.toLocaleString()} people you know: ` +
    `your answer is randomized on this device, and all reports together tell about any one of your friendships at most ε = ${epsilonOf(largest)}, ` +
    `that is, they change the odds of a guess at most ${said} times.`;
}

/** Until when, and whether to come back. */
export function whenSentence(deadlines, number) {
  const until = `You can answer until ${moment(deadlines[number - 1])}.`;
  return deadlines.length > number ? `${until} There are two rounds: after that you are asked once more, on the same device.` : until;
}

/** What to do after an answer has arrived. */
export function afterSentence(deadlines, isNext) {
  return isNext
    ? `Your answer has arrived. There is a second round: open the link of your letter again, in this browser, after ${moment(deadlines[0])} and before ${moment(deadlines[1])}.`
    : `Your answer has arrived. You need not do anything more. If you like, open the link again after ${moment(deadlines.at(-1))}, and check that your answer counts.`;
}

export const hiddenSentence = (count) =>
  `${count === 1 ? "One person is" : `${count.toLocaleString()} people are`} not listed: what is asked about them is public, or is answered by them.`;
