"use strict";
// Asks this server every few seconds what the rounds are; where that has changed, fetches the page again and changes in
// this one what differs. Elements stay the same, so that nothing flickers and whoever reads or types is not
// disturbed; what a reader has unfolded stays unfolded.
(() => {
  const EVERY = 3000;
  const live = document.getElementById("live"), away = document.getElementById("away");
  const main = () => document.querySelector("main");
  let known = null, fetched = Date.now(), timer = 0, busy = false;

  async function read(path) {
    const reply = await fetch(path, { cache: "no-store", credentials: "omit" });
    if (!reply.ok) throw new Error(String(reply.status));
    return reply.text();
  }

  function become(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
      old.replaceWith(document.importNode(fresh, true));
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const { name } of [...old.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const before = [...old.childNodes], after = [...fresh.childNodes];
    after.forEach((child, i) => (i < before.length ? become(before[i], child) : old.append(document.importNode(child, true))));
    before.slice(after.length).forEach((child) => child.remove());
  }

  async function renew() {
    const fresh = new DOMParser().parseFromString(await read("./"), "text/html").querySelector("main");
    if (fresh.dataset.campaign !== main().dataset.campaign) location.reload();
    else become(main(), fresh);
    fetched = Date.now();
  }

  async function look() {
    const said = (await Promise.all(main().dataset.rounds.split(" ").map(read))).join("\n");
    if (said === known && Date.now() - fetched < 1000 * main().dataset.stale) return;
    await renew();
    known = said;
  }

  async function turn() {
    clearTimeout(timer);
    if (busy) return;
    busy = true;
    try {
      if (!document.hidden) await look();
      away.hidden = true;
    } catch {
      away.hidden = false;
    }
    busy = false;
    live.hidden = "finished" in main().dataset;
    if (!live.hidden) timer = setTimeout(turn, EVERY);
  }

  live.hidden = "finished" in main().dataset;
  if (live.hidden) return;
  timer = setTimeout(turn, EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || live.hidden || turn());
})();
