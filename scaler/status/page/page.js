"use strict";
// The server makes the pages; this keeps them fresh: it asks for the same address again, and puts
// what differs in the place of what was there. Nothing here turns text into markup but the
// browser's parser, on what our own server escaped.

const POLL = 2000;
const THEMES = ["auto", "light", "dark"];
let etag = "";
let skew = 0; // The service's clock minus ours, seconds.
let asOf = 0;
let timer = 0;
let asked = 0;

// --- look ---------------------------------------------------------------------------------------

function stored() {
  try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; }
}
function dress(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
dress(stored());

function themeButton() {
  const button = document.getElementById("theme");
  const say = () => {
    button.textContent = `\u25d0 ${stored()}`;
    button.setAttribute("aria-label", `colours: ${stored()}`);
  };
  button.hidden = false;
  say();
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(stored()) + 1) % THEMES.length];
    try { localStorage.setItem("theme", next); } catch { /* It lasts for this page only. */ }
    dress(next);
    say();
  });
}

// --- ages ---------------------------------------------------------------------------------------

function length(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  for (const [unit, size, below, less] of [["d", 86400, "h", 3600], ["h", 3600, "m", 60], ["m", 60, "s", 1]]) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / less);
    return `${Math.floor(whole / size)}${unit}${rest ? ` ${rest}${below}` : ""}`;
  }
  return `${whole}s`;
}
const now = () => Date.now() / 1000 + skew;
function tick() {
  for (const node of document.querySelectorAll("time[data-age]")) {
    const least = node.hasAttribute("data-least") ? "over " : "";
    const words = least + length(now() - Number(node.dataset.age));
    if (node.textContent !== words) node.textContent = words;
    node.title = `since ${node.dateTime}`;
  }
}
function live(problem) {
  const node = document.getElementById("live");
  const time = new Date(asOf * 1000).toISOString().slice(11, 19);
  node.className = problem ? "late" : "on";
  const words = problem || `live, ${time} UTC`;
  // What changes every few seconds is not read out; that the service is gone is.
  if (problem) node.setAttribute("role", "alert");
  else node.removeAttribute("role");
  if (node.textContent !== words) node.textContent = words;
  document.body.classList.toggle("late", Boolean(problem));
}

// --- putting the new page in the place of the old one -------------------------------------------

const name = (node) => node.nodeType === 1
  ? `${node.nodeName} ${node.dataset?.key || node.id || ""}` : String(node.nodeType);

function becomes(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.isEqualNode(fresh)) return;
  for (const { name: key } of [...old.attributes]) {
    // What a reader opened stays open, and a clock that runs is not set back.
    if (!fresh.hasAttribute(key) && !(key === "open" || (key === "title" && old.dataset.age))) old.removeAttribute(key);
  }
  for (const { name: key, value } of fresh.attributes) {
    if (old.getAttribute(key) !== value) old.setAttribute(key, value);
  }
  if (old.nodeName === "INPUT" || (old.nodeName === "TIME" && old.dataset.age)) return;
  childrenBecome(old, fresh);
}
function childrenBecome(old, fresh) {
  const keyed = new Map();
  for (const child of old.children) if (child.dataset?.key) keyed.set(name(child), child);
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = child.nodeType === 1 && child.dataset?.key ? keyed.get(name(child)) : null;
    if (known && known !== at) old.insertBefore(known, at);
    else if (!known && at && name(at) !== name(child)) { old.insertBefore(child, at); continue; }
    const same = known || at;
    if (!same) { old.append(child); continue; }
    becomes(same, child);
    at = same.nextSibling;
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}
function show(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  document.title = page.title;
  becomes(document.querySelector("header .tabs"), page.querySelector("header .tabs"));
  becomes(document.getElementById("main"), page.getElementById("main"));
  tick();
}

// --- asking -------------------------------------------------------------------------------------

async function refresh() {
  clearTimeout(timer);
  const turn = ++asked;
  const url = location.href;
  try {
    const answer = await fetch(url, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
    const text = answer.status === 304 ? null : await answer.text();
    if (turn !== asked || url !== location.href) return;
    if (answer.status !== 304 && !answer.ok) throw new Error(`the service answers ${answer.status}`);
    skew = Number(answer.headers.get("Scaler-Now")) - Date.now() / 1000;
    asOf = Number(answer.headers.get("Scaler-As-Of"));
    if (text !== null) { etag = answer.headers.get("ETag") || ""; show(text); }
    live("");
  } catch (error) {
    if (turn !== asked) return;
    live(`no answer since ${new Date(asOf * 1000).toISOString().slice(11, 19)} UTC: this is old`);
  }
  timer = setTimeout(refresh, POLL);
}
function go(href, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", href);
  etag = "";
  return refresh();
}

function listen() {
  let typing = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form[role=search]");
    if (!form) return;
    clearTimeout(typing);
    typing = setTimeout(() => search(form), 150);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[role=search]")) return;
    event.preventDefault();
    clearTimeout(typing);
    search(event.target);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-swap]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.href);
  });
  addEventListener("popstate", () => location.reload());
  document.addEventListener("keydown", (event) => {
    const field = document.querySelector("input[type=search]");
    if (event.key !== "/" || !field || event.target.matches("input")) return;
    event.preventDefault();
    field.focus();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else refresh();
  });
}
function search(form) {
  const wanted = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  const path = form.getAttribute("action");
  go(wanted.size ? `${path}?${wanted}` : path, { replace: true });
}

document.addEventListener("DOMContentLoaded", () => {
  themeButton();
  listen();
  refresh();
});
