// The page: invitation, consent, friends, review, receipt. What it says comes from the checked campaign alone.

import { calendarFile } from "./calendar.js";
import { Refused, demand } from "./canonical.js";
import { LIFETIME, Ledger } from "./ledger.js";
import { invitationIn, ownPage } from "./invitation.js";
import { folded, matches, meant } from "./names.js";
import { Participant, Unreached } from "./participant.js";
import { CLASSES } from "./rules.js";
import { afterSentence, costSentence, days, epsilonOf, hiddenSentence, moment, whenSentence } from "./words.js";

const STEPS = ["invitation", "consent", "picker", "review", "finished"];
const SHOWN = 60;
const WORDS = { FRIEND_VISIBLE: "friends may see", PRIVATE: "private" };
const at = (id) => document.getElementById(id);
const state = { participant: null, ledger: null, round: 1, people: [], ticked: new Set(), shown: SHOWN, situation: null, again: null };

function element(name, text, more = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, more);
}

function show(step) {
  state.again = null; // what was to be tried again belonged to another step
  for (const each of STEPS) at(each).hidden = each !== step;
  at(`${step}-title`).focus();
  if (window.scrollY) at(`${step}-title`).scrollIntoView();
}

function say(text, isProblem = false) {
  at("status").textContent = text;
  at("status").className = isProblem ? "problem" : "";
}

/** Run something that may fail, with its button resting; a refusal is shown as a sentence. */
async function attempt(act, button = null) {
  if (button) button.disabled = true;
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Refused)) console.warn(error);
    const words = error instanceof Refused ? error.message : "something unforeseen happened; load this page again";
    if (error instanceof Unreached) tryLater(act, button);
    else say(`Nothing was sent: ${words}.`, true);
  } finally {
    if (button) button.disabled = false;
  }
}

/** Go on by itself as soon as the server may be reached. */
function tryLater(act, button) {
  say("The server cannot be reached now. What you did is kept; leave this page open, it goes on by itself.", true);
  const again = () => {
    if (state.again !== again) return;
    state.again = null;
    attempt(act, button);
  };
  state.again = again;
  addEventListener("online", again, { once: true });
  setTimeout(again, 20000);
}

async function begin(invitation) {
  say("Checking who asks, and what …");
  state.ledger = await Ledger.open();
  navigator.storage?.persist?.();
  at("ledger").hidden = false;
  state.own = await ownPage();
  demand(!invitation.page || invitation.page === state.own.digest, "this page is not the one that your letter names; answer nothing here, and tell the issuer");
  state.participant = await Participant.open(invitation, state.ledger, state.own);
  const { charter } = state.participant.campaign;
  at("title").textContent = charter.title;
  document.title = `Take part: ${charter.title}`;
  await proceed();
}

/** Show what there is to do now. */
async function proceed() {
  const { participant } = state;
  if (!participant.asked) {
    at("finished-text").textContent = `${participant.name}, nothing is asked of you: others hold your answers. You need not do anything.`;
    at("check").hidden = true;
    say("The issuer’s signature and all numbers were checked.");
    return show("finished");
  }
  state.situation = await participant.situation();
  if (state.situation.act === "send") {
    say("Sending the answer that this device has kept …");
    await participant.answer(state.situation.number, []);
    return proceed();
  }
  if (state.situation.act === "answer") return askConsent(state.situation.number);
  return finish();
}

async function askConsent(number) {
  const { participant } = state;
  const { charter, rounds, nodes } = participant.campaign;
  state.round = number;
  const { classes: costs, isBeyond } = await participant.costs(number);
  const largest = [...costs.values()].reduce((most, each) => (each.after > most ? each.after : most), 0n);
  at("sentence").textContent = costSentence(participant.name, charter, nodes - 1, number, largest);
  at("when").textContent = whenSentence(participant.witness.deadlines, number);
  at("costs").replaceChildren(...[...costs].map(([kind, each]) => {
    const row = document.createElement("tr");
    row.append(Object.assign(element("th", WORDS[CLASSES[kind]]), { scope: "row" }),
      element("td", `${epsilonOf(each.before)} (ever ${epsilonOf(each.everBefore)})`),
      element("td", `${epsilonOf(each.after)} (ever ${epsilonOf(each.everAfter)})`),
      element("td", `${epsilonOf(each.cap)} (ever ${epsilonOf(each.cap * LIFETIME)})`));
    return row;
  }));
  facts(at("facts"), {
    "Who asks": `the issuer whose fingerprint begins with ${charter.issuer.slice(0, 16)} (compare it with your letter)`,
    "What is worked out": charter.statistics.join(", "),
    "Round": `${number} of ${rounds.length}, open until ${moment(participant.witness.deadlines[number - 1])}`,
    "Reports are kept": charter.retention ? `${days(charter.retention)} after the estimate` : "until the estimate is made",
    "State of the friend lists": charter.epoch,
    "This page": `its SHA-256 begins with ${state.own.digest.slice(0, 16)}, ${charter.page ? "as the issuer has signed" : "which the issuer has not signed"}`,
  });
  at("raise-line").hidden = !isBeyond;
  at("raise").checked = false;
  at("raise-text").textContent = `This is more than the limit that protects you unless you say otherwise. I raise my own limit to ε = ${epsilonOf(largest)}.`;
  at("epoch-line").hidden = !participant.isAnotherEpoch;
  at("another-text").textContent = `You answered before for another time. This list is of “${charter.epoch}”, which is another time.`;
  say("The issuer’s signature and all numbers were checked.");
  show("consent");
}

function facts(list, entries) {
  list.replaceChildren(...Object.entries(entries).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
}

async function agreed() {
  const { participant } = state;
  if (!at("raise-line").hidden && !at("raise").checked) throw new Refused("this costs more than your limit; raise it with the tick, or close this page");
  if (participant.isAnotherEpoch && !at("another").checked) throw new Refused("say with the tick that this list is of another time, or close this page");
  await participant.enrol(state.round, at("another").checked, at("raise").checked);
  participant.isAnotherEpoch = false;
  const people = await participant.people();
  state.people = people.map((each) => ({ ...each, key: folded(each.name) })).sort((a, b) => a.name.localeCompare(b.name));
  const drafted = await state.ledger.draft(participant.campaign.identity);
  const open = new Set(state.people.filter((each) => each.kept === undefined).map((each) => each.name));
  state.ticked = new Set(drafted.filter((name) => open.has(name)));
  for (const each of state.people) if (each.kept) state.ticked.add(each.name);
  if (!open.size) return review();
  const hidden = participant.campaign.nodes - 1 - state.people.length;
  at("hint").textContent = "Tick everybody whom you know as the letter says." +
    (hidden ? ` ${hiddenSentence(hidden)}` : "");
  list();
  show("picker");
}

function list() {
  const typed = at("search").value;
  const found = matches(state.people, typed);
  at("names").replaceChildren(...found.slice(0, state.shown).map(entry));
  at("more").hidden = found.length <= state.shown;
  at("count").textContent = found.length === state.people.length
    ? `${found.length.toLocaleString()} people` : `${found.length.toLocaleString()} of ${state.people.length.toLocaleString()} people`;
  const near = found.length ? [] : meant(state.people, typed);
  at("meant").hidden = found.length > 0;
  at("meant").replaceChildren(near.length ? "Nobody is called so. Did you mean " : "Nobody in the roster is called so.",
    ...near.map((each) => element("button", each.name, { className: "quiet", onclick: () => search(each.name) })));
  counted();
}

function search(text) {
  at("search").value = text;
  state.shown = SHOWN;
  list();
  at("search").focus();
}

function entry(person) {
  const [line, label] = [document.createElement("li"), document.createElement("label")];
  const box = element("input", "", { type: "checkbox", checked: state.ticked.has(person.name), disabled: person.kept !== undefined });
  box.addEventListener("change", () => tick(person, box.checked));
  label.append(box, element("span", person.name));
  if (person.kept !== undefined) label.append(element("small", "answered before"));
  line.append(label);
  return line;
}

function tick(person, isFriend) {
  if (person.kept !== undefined) return;
  if (isFriend) state.ticked.add(person.name);
  else state.ticked.delete(person.name);
  state.ledger.keepDraft(state.participant.campaign.identity, [...state.ticked]);
  counted();
}

function counted() {
  at("ticked").textContent = `${state.ticked.size.toLocaleString()} ticked`;
}

function review() {
  const chosen = state.people.filter((each) => state.ticked.has(each.name));
  const all = state.people.length;
  at("review-text").textContent = chosen.length
    ? `You ticked ${chosen.length.toLocaleString()} of ${all.toLocaleString()} people:`
    : `You ticked nobody: your answer is that none of ${all.toLocaleString()} people is your friend.`;
  at("chosen").replaceChildren(...chosen.map((each) => element("li", each.name)));
  at("back").hidden = state.people.every((each) => each.kept !== undefined);
  at("send").textContent = "Send my answer";
  show("review");
}

async function send() {
  say("Randomizing, writing it down, sending …");
  await state.participant.answer(state.round, state.ticked);
  await state.ledger.keepDraft(state.participant.campaign.identity, []);
  await proceed();
}

function finish() {
  const { charter } = state.participant.campaign;
  const { act, kept, states } = state.situation;
  const answered = kept.filter(Boolean).length;
  const { deadlines } = state.participant.witness;
  const isNext = act === "wait" && answered === 1 && charter.rounds.length === 2;
  at("finished-text").textContent = answered ? afterSentence(deadlines, isNext) : "No round is open now that you could answer.";
  at("calendar-line").hidden = !isNext;
  facts(at("receipt"), Object.fromEntries(kept.flatMap((each, i) =>
    each ? [[`Receipt of round ${i + 1}`, JSON.parse(each.receipt).digest]] : [])));
  at("check").hidden = !answered;
  say(states.includes("estimated") ? "The answers of this study are published." : "");
  show("finished");
}

async function check() {
  at("checked").textContent = "Looking …";
  try {
    const found = await state.participant.check();
    const words = ({ round, root, code }) => `round ${round} has ${code ? `the code ${code}, which is the same for everybody` : `root ${root}`}`;
    at("checked").textContent = found.length ? `Your answer is counted: ${found.map(words).join("; ")}.` : "You have withdrawn, as the issuer has signed.";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    at("checked").textContent = error.problem === "not-ready" ? "The answers are not made yet; look again after the deadline." : `Not confirmed: ${error.message}.`;
  }
}

function save(name, text, type) {
  element("a", "", { download: name, href: URL.createObjectURL(new Blob([text], { type })) }).click();
}

async function exportLedger() {
  save("my.ledger", await state.ledger.moved(), "application/octet-stream");
  at("ledger-text").textContent = "Saved as my.ledger. From now on take part where you open it; this browser answers no more unless you bring it back here.";
}

async function importLedger(file) {
  await state.ledger.take(await file.text());
  at("ledger-text").textContent = "The ledger is here now.";
  await proceed();
}

at("agree").addEventListener("click", ({ target }) => attempt(agreed, target));
at("search").addEventListener("input", () => search(at("search").value));
at("search").addEventListener("keydown", (event) => {
  const boxes = at("names").querySelectorAll("input");
  if (event.key === "Enter" && boxes.length === 1) boxes[0].click();
});
at("more").addEventListener("click", () => {
  const before = state.shown;
  state.shown += 4 * SHOWN;
  list();
  at("names").querySelectorAll("input")[before]?.focus();
});
at("to-review").addEventListener("click", review);
at("back").addEventListener("click", () => show("picker"));
at("send").addEventListener("click", ({ target }) => attempt(send, target));
at("look-again").addEventListener("click", ({ target }) => attempt(proceed, target));
at("check").addEventListener("click", ({ target }) => attempt(check, target));
at("calendar").addEventListener("click", () => {
  const { campaign, witness } = state.participant;
  save("second-round.ics", calendarFile(campaign.identity, ...witness.deadlines, Date.now() / 1000), "text/calendar");
});
at("export").addEventListener("click", ({ target }) => attempt(exportLedger, target));
at("import").addEventListener("change", ({ target }) => attempt(() => importLedger(target.files[0])));
at("invitation-form").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = new URL(at("link").value).hash;
});
addEventListener("hashchange", () => location.reload());

const invitation = invitationIn(location.href);
if (invitation) attempt(() => begin(invitation));
else {
  say("");
  show("invitation");
}
