"use strict";
// Shows and hides what stands on this page already, and tells the value at a point. Without it, everything is shown.

const form = document.getElementById("choose");
const told = document.getElementById("shown");
const tagged = [...document.querySelectorAll("[data-trust], [data-epsilon], [data-statistic]")];
const rows = tagged.filter((item) => item.matches("tr"));
const tip = document.createElement("div");

// What is wanted of each kind; null where there is nothing to choose, or all is chosen.
function wanted() {
  const chosen = new FormData(form);
  const one = (name) => (chosen.get(name) ? [chosen.get(name)] : null);
  return {
    trust: form.elements.trust ? chosen.getAll("trust") : null,
    epsilon: one("epsilon"),
    statistic: one("statistic"),
  };
}

function fits(item, want) {
  return Object.entries(want).every(([name, some]) => {
    const own = item.dataset[name];
    return some === null || own === undefined || own.split(" ").some((each) => some.includes(each));
  });
}

function choose() {
  const want = wanted();
  hideTip();
  for (const item of tagged) {
    item.classList.toggle("off", !fits(item, want));
  }
  for (const holder of document.querySelectorAll(".holder")) {
    holder.classList.toggle("off", !holder.querySelector("tr[data-trust]:not(.off), .panel:not(.off)"));
  }
  document.body.classList.toggle("one-epsilon", want.epsilon !== null);
  const left = rows.filter((row) => !row.classList.contains("off")).length;
  told.textContent = left === rows.length ? `All ${left} rows shown` : `${left} of ${rows.length} rows shown`;
}

function hideTip() {
  tip.hidden = true;
  document.querySelector(".point.at")?.classList.remove("at");
}

function showTip(reader, points, point) {
  hideTip();
  point.classList.add("at");
  tip.textContent = point.textContent;
  tip.hidden = false;
  reader.after(tip);
  const frame = reader.getBoundingClientRect();
  const spot = point.getBoundingClientRect();
  const middle = spot.left + spot.width / 2 - frame.left - tip.offsetWidth / 2;
  tip.style.left = `${Math.max(0, Math.min(middle, frame.width - tip.offsetWidth))}px`;
  tip.style.top = `${spot.top - frame.top - tip.offsetHeight - 6}px`;
  reader.setAttribute("aria-valuemax", points.length);
  reader.setAttribute("aria-valuenow", points.indexOf(point) + 1);
  reader.setAttribute("aria-valuetext", point.textContent);
}

function distance(point, event) {
  const spot = point.getBoundingClientRect();
  return Math.hypot(spot.left + spot.width / 2 - event.clientX, spot.top + spot.height / 2 - event.clientY);
}

// A panel's points are one stop of the Tab key; arrows go from point to point, and a screen reader hears a slider.
function addReader(panel) {
  const every = [...panel.querySelectorAll(".point")];
  const points = () => every.filter((point) => !point.classList.contains("off"));
  const reader = document.createElement("div");
  const show = (point) => point && showTip(reader, points(), point);
  const marked = () => points().findIndex((point) => point.classList.contains("at"));
  const nearest = (event) => {
    const near = points().sort((a, b) => distance(a, event) - distance(b, event))[0];
    if (near && distance(near, event) < 40) show(near);
    else hideTip();
  };
  const keys = (event) => {
    const here = points();
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -here.length, End: here.length };
    if (event.key === "Escape") hideTip();
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(here[Math.max(0, Math.min(marked() + steps[event.key], here.length - 1))]);
  };
  reader.className = "reader";
  reader.tabIndex = 0;
  reader.setAttribute("role", "slider");
  reader.setAttribute("aria-label", `${panel.dataset.title}, point by point`);
  reader.setAttribute("aria-valuemin", 1);
  reader.setAttribute("aria-valuemax", every.length);
  reader.setAttribute("aria-valuenow", 1);
  reader.setAttribute("aria-valuetext", every[0].textContent);
  reader.addEventListener("pointermove", nearest);
  reader.addEventListener("pointerdown", nearest);
  reader.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hideTip());
  reader.addEventListener("focus", () => marked() < 0 && show(points()[0]));
  reader.addEventListener("blur", hideTip);
  reader.addEventListener("keydown", keys);
  panel.append(reader);
}

// One part of the report at a time; links lead to the others. On paper, and without this script, all are shown.
const panes = [...document.querySelectorAll(".pane")];
const links = [...document.querySelectorAll(".tabs a")];
function open() {
  const named = panes.find((pane) => `#${pane.id}` === location.hash) || panes[0];
  for (const pane of panes) pane.classList.toggle("shut", pane !== named);
  for (const link of links) {
    if (link.hash === `#${named.id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  hideTip();
}

tip.className = "tip";
tip.setAttribute("role", "tooltip");
for (const panel of document.querySelectorAll(".panel")) {
  if (panel.querySelector(".point")) addReader(panel);
}
form.addEventListener("change", choose);
form.addEventListener("reset", () => setTimeout(choose)); // the fields are set back after this event
form.hidden = false;
choose();
window.addEventListener("hashchange", open);
open();
