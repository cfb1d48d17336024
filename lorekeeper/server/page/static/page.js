"use strict";
// The little that HTML and htmx cannot do: keys, the theme, and where the focus is.

const $ = (selector) => document.querySelector(selector);
const hits = () => [...document.querySelectorAll(".hits a")];

// htmx comes once the page is there; until then links and the form do what they do without scripts.
function loadHtmx() {
  const script = document.createElement("script");
  script.src = $("script[data-htmx]").dataset.htmx;
  script.addEventListener("load", () => { if (answered !== $("#q")?.value) htmx.trigger("#q", "search"); });
  document.head.append(script);
}

addEventListener("load", loadHtmx);

// --- theme -----------------------------------------------------------------------------------------------------------

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const theme = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `lorekeeper_theme=${theme}; Path=/; Max-Age=31536000; SameSite=Strict${secure}`;
}

// --- keys ------------------------------------------------------------------------------------------------------------

function typing(element) {
  return element.matches("input, textarea, select, [contenteditable]");
}

function move(step) {
  const links = hits();
  if (!links.length) return;
  const place = links.indexOf(document.activeElement);
  const next = place < 0 ? (step > 0 ? 0 : links.length - 1) : place + step;
  if (next < 0) $("#q").focus();
  else links[Math.min(next, links.length - 1)].focus();
}

function escape() {
  const box = $("#q");
  if (!box) return;
  if ($("#back")) { $("#back").click(); return; }
  if (box.value) {
    box.value = "";
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
  box.focus();
}

// Enter opens the first result of what is in the box, also if the results are still on their way.
let answered = $("#q")?.value;
let entered = false;

function openFirst() {
  entered = $("#q").value !== answered;
  if (!entered) hits()[0]?.click();
}

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "results") return;
  const text = new URL(event.detail.pathInfo.finalRequestPath, location).searchParams.get("q") ?? "";
  if (text !== answered) event.target.scrollTop = 0;
  answered = text;
  if (entered) openFirst();
});

const KEYS = {
  "/": () => { const box = $("#q"); if (box) { box.focus(); box.select(); } else location.href = "/"; },
  "?": () => $("#keys").showModal(),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Escape: escape,
};

const WHILE_TYPING = new Set(["ArrowDown", "Escape"]);

function meansKey(event) {
  if (!typing(event.target)) return true;
  return WHILE_TYPING.has(event.key) || (event.key === "?" && event.target.value === "");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("#keys").open) return;
  const writing = typing(event.target);
  if (event.key === "Enter" && event.target.id === "q" && $("#results")) {
    event.preventDefault();
    openFirst();
    return;
  }
  const inList = event.target.closest(".hits") || event.target === document.body || writing;
  if (event.key.startsWith("Arrow") && !(inList && $("#results"))) return;
  if (!(event.key in KEYS) || !meansKey(event)) return;
  event.preventDefault();
  KEYS[event.key]();
});

// --- the entry beside the list ---------------------------------------------------------------------------------------

function mark(address) {
  for (const link of hits()) {
    if (link.getAttribute("href") === address) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// What follows a key, its meaning and its facets, is asked for by the results of that key: once they are gone, it is outdated.
document.addEventListener("htmx:beforeSwap", (event) => {
  const asked = event.detail.requestConfig.elt;
  if (asked.closest("[hx-trigger]") && !asked.isConnected) event.detail.shouldSwap = false;
});

// What meaning adds to the results comes a moment after the last key; a list that somebody is in already stays.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id !== "results" || !document.activeElement.closest(".hits")) return;
  event.detail.shouldSwap = false;
  $("#results .pending")?.remove();
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "reading") return;
  mark(event.detail.requestConfig.path);
  event.target.focus({ preventScroll: true });
});

// --- the place in the list -------------------------------------------------------------------------------------------

// A list scrolls in a pane of its own, or with the document where the entry covers it. Where a list of this tab was left is
// stored by what its address asks for, so that going back, also from another page, leads to the same place.
function listOf(address) {
  const { origin, pathname, searchParams } = new URL(address, location);
  return `list ${origin}${pathname}?${searchParams.get("q") ?? ""}&${searchParams.get("offset") ?? 0}`;
}

// Where a browser stores nothing for this site, a list begins at its top.
function places() {
  try { return sessionStorage; } catch { return null; }
}

function scroller() {
  const results = $("#results");
  if (!results || getComputedStyle(results).overflowY !== "visible") return results;
  return results.checkVisibility() ? document.scrollingElement : null;
}

document.addEventListener("scroll", (event) => {
  const list = scroller();
  if (list && [list, document].includes(event.target)) places()?.setItem(listOf(location), list.scrollTop);
}, { capture: true, passive: true });

const placeOf = (address) => Number(places()?.getItem(listOf(address)));

function restorePlace(place) {
  const list = scroller();
  if (list && place) list.scrollTop = place;
}

function comesBack() {
  const [entry] = performance.getEntriesByType("navigation");
  return entry?.type !== "navigate" || (document.referrer !== "" && listOf(document.referrer) === listOf(location));
}

// The focus goes to the hit whose entry was left. Else the box would take it, and the document would be scrolled there.
if (comesBack()) {
  const place = placeOf(location);
  if (!$("#reading > article")) (hits().find((link) => link.href === document.referrer) ?? $("#q"))?.focus({ preventScroll: true });
  addEventListener("load", () => restorePlace(place));
}
document.addEventListener("htmx:historyRestore", () => restorePlace(placeOf(location)));

document.addEventListener("click", (event) => {
  if (event.target.closest("#theme")) switchTheme();
  if (event.target.closest("#keys-button")) $("#keys").showModal();
  if (event.target.closest("#print")) print();
});

// Filters are open where there is room beside the list: the style sheet shows them, and here the keyboard learns of it.
function openFilters() {
  const filters = $("#filters");
  if (filters && matchMedia("(min-width: 80rem)").matches) filters.open = true;
}

openFilters();
document.addEventListener("htmx:afterSettle", (event) => { if (event.target.id === "main") openFilters(); });

for (const button of document.querySelectorAll("header button[hidden], #print")) button.hidden = false;
