"use strict";
// The little that HTML and htmx cannot do: keys, the theme, and where the focus is.

const $ = (selector) => document.querySelector(selector);
const hits = () => [...document.querySelectorAll(".hits a")];

const wide = matchMedia("(min-width: 56.01rem)");

// htmx comes once the page is there; until then links and the form do what they do without scripts.
function loadHtmx() {
  const script = document.createElement("script");
  script.src = $("script[data-htmx]").dataset.htmx;
  script.addEventListener("load", loadFight);
  script.addEventListener("load", () => { if (answered !== $("#q")?.value) htmx.trigger("#rest", "rest"); });
  document.head.append(script);
}

addEventListener("load", loadHtmx);

// The script of a fight comes with its page only.
function loadFight() {
  const address = $("[data-fight]")?.dataset.fight;
  if (address) document.head.append(Object.assign(document.createElement("script"), { src: address }));
}

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

// --- typing ----------------------------------------------------------------------------------------------------------

// At a key the server lists names. Once nobody has pressed one for a moment, it answers in full, and then nothing changes.
const REST = 250;
let resting;
let answered = $("#q")?.value;  // in full
let entered = false;

const busy = (is) => $("#results").setAttribute("aria-busy", is);
const isFull = (path) => path.includes("typing=1");
const textOf = (path) => new URL(path, location).searchParams.get("q") ?? "";

// What the last answer calls wrong is underlined in the box, as long as it stands there.
function markWrong() {
  const box = $("#q"), wrong = [...document.querySelectorAll("#notes .wrong")].map(({ value }) => value);
  const pieces = [];
  let end = 0;
  for (let at = 0; at < box.value.length;) {
    const part = wrong.find((each) => each && box.value.startsWith(each, at));
    if (part) { pieces.push(box.value.slice(end, at), element("mark", part)); end = at + part.length; }
    at += part?.length ?? 1;
  }
  $("#marks").replaceChildren(...pieces, pieces.length ? box.value.slice(end) : "");
  $("#marks").scrollLeft = box.scrollLeft;
  if (!pieces.length) { box.removeAttribute("aria-invalid"); box.removeAttribute("aria-describedby"); return; }
  box.setAttribute("aria-invalid", "true");
  box.setAttribute("aria-describedby", "notes");
}

document.addEventListener("input", (event) => {
  if (event.target.id !== "q" || !$("#rest")) return;
  markWrong();
  busy(true);
  clearTimeout(resting);
  if (!event.target.value.trim()) return;  // that is answered in full at once: with the start page
  resting = setTimeout(() => htmx.trigger("#rest", "rest"), REST);
});

// The first hit stays the first as long as its name fits.
document.addEventListener("htmx:configRequest", (event) => {
  const first = hits()[0]?.dataset.uri;
  if (event.target.id === "q" && first) event.detail.headers["First-Hit"] = first;
});

// An answer counts if it is to the text that is in the box, and names do not count after the full answer. A list that
// somebody is in already stays.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig, pathInfo } = event.detail;
  if (event.target.id === "results" || ["q", "rest"].includes(requestConfig.elt.id)) {
    const path = pathInfo.finalRequestPath, text = textOf(path);
    const late = text !== $("#q").value || (!isFull(path) && text === answered);
    const isIn = document.activeElement.closest(".hits");
    if (late || isIn) event.detail.shouldSwap = false;
    if (isIn) busy(false);
  }
  const asked = requestConfig.elt;
  if (asked.closest("[hx-trigger]") && !asked.isConnected) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "main" && $("#q")) {
    answered = $("#q").value;
    showRecent();
  }
  if (event.target.id !== "results") return;
  markWrong();
  const path = event.detail.pathInfo.finalRequestPath;
  if (isFull(path)) {
    if (textOf(path) !== answered) event.target.scrollTop = 0;
    answered = textOf(path);
    busy(false);
  }
  if (entered && answered === $("#q").value) openFirst();
});

// Enter opens the first result of what is in the box, also if the results are still on their way.
function openFirst() {
  entered = $("#q").value !== answered;
  if (!entered) hits()[0]?.click();
  else htmx.trigger("#rest", "rest");
}

// --- no answer -------------------------------------------------------------------------------------------------------

// A request that has failed leaves the page as it was before: it says so, until the same is asked with success.
const STOPPED = "LoreKeeper does not answer. If it has ended, start it again with 'lorekeeper open'.";
let failed;  // the request, to be sent again

function lose({ elt, target, pathInfo, requestConfig }, why = STOPPED) {
  const path = pathInfo?.finalRequestPath, click = requestConfig?.triggeringEvent?.type === "click";
  failed = { elt, path, target, click, isStopped: why === STOPPED };
  document.documentElement.dataset.lost = failed.isStopped || target?.matches("#results, #main") ? "all" : "part";
  $("#lost span").textContent = why;
  $("#lost").hidden = false;
  if ($("#results")) busy(false);
}

function find() {
  failed = undefined;
  delete document.documentElement.dataset.lost;
  $("#lost").hidden = true;
}

function retry() {
  const again = failed;
  if (!again) return;
  if ($("#rest") && answered !== $("#q").value) htmx.trigger("#rest", "rest");
  else if (again.elt?.isConnected && again.click) again.elt.click();
  else if (again.target?.isConnected && again.path) ask(again.path, again.target, "innerHTML");
  else location.reload();
}

// Whether an answer has come, and is shown.
async function ask(path, target, swap) {
  let isShown = false;
  const shown = (event) => { if (event.detail.pathInfo.requestPath === path && event.detail.successful) isShown = true; };
  document.addEventListener("htmx:afterRequest", shown);
  try { await htmx.ajax("GET", path, { target, swap }); } catch { /* lose() has said so */ }
  document.removeEventListener("htmx:afterRequest", shown);
  return isShown;
}

function reasonOf(xhr) {
  const text = new DOMParser().parseFromString(xhr.responseText, "text/html").body.textContent.trim();
  return text && text.length < 400 && !text.startsWith("{") ? text : `LoreKeeper cannot answer this (${xhr.status}).`;
}

document.addEventListener("htmx:sendError", (event) => lose(event.detail));
document.addEventListener("htmx:historyCacheMissLoadError", () => lose({}));
document.addEventListener("htmx:responseError", (event) => {
  if (!event.detail.xhr.getResponseHeader("HX-Redirect")) lose(event.detail, reasonOf(event.detail.xhr));
});
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (!failed || !detail.successful) return;
  const again = failed;
  find();
  if (!again.isStopped || again.path === detail.pathInfo.finalRequestPath) return;
  failed = again;
  retry();
});
addEventListener("focus", () => { if (failed?.isStopped) retry(); });
addEventListener("pageshow", (event) => { if (event.persisted) find(); });

// --- keys ------------------------------------------------------------------------------------------------------------

function typing(element) {
  return element.matches("input, textarea, select, [contenteditable]");
}

const reading = () => document.activeElement === document.body || document.activeElement.closest("#reading, #card");

function move(by) {
  const links = hits();
  if (!links.length) return;
  const place = links.indexOf(document.activeElement);
  const next = place < 0 ? (by > 0 ? 0 : links.length - 1) : place + by;
  if (next < 0) { $("#q").focus(); return; }
  const link = links[Math.min(next, links.length - 1)];
  link.focus();
  propose(link);
}

// The entry of the hit that the keyboard is at, where there is room for it beside the list.
let proposing;
function propose(link) {
  clearTimeout(proposing);
  if (wide.matches) proposing = setTimeout(() => show(`${link.getAttribute("href")}&proposed=1`), 150);
}

const show = (path) => ask(path, "#reading", "innerHTML scroll:#reading:top");

// While an entry is read: the next or the previous hit.
function step(by) {
  const links = hits();
  const place = links.findIndex((link) => link.matches("[aria-current]"));
  const next = links[Math.max(place + by, 0)];
  if (!next || place + by < 0) return;
  next.click();
  next.scrollIntoView({ block: "nearest" });
}

function escape() {
  const box = $("#q");
  if (closeCard() || !box) return;
  const current = $(".hits a[aria-current]");
  if (document.activeElement.closest("#reading") && wide.matches && current) { current.focus(); return; }
  if (!wide.matches && $("#back")) { $("#back").click(); return; }
  if (document.activeElement === box && box.value) {
    box.value = "";
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
  box.focus();
  box.select();
}

const KEYS = {
  "/": () => { const box = $("#q"); if (box) { box.focus(); box.select(); } else location.href = "/"; },
  "?": () => $("#keys").showModal(),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  ArrowRight: () => step(1),
  ArrowLeft: () => step(-1),
  j: () => step(1),
  k: () => step(-1),
  p: () => pinRead(),
  r: () => rollRead(),
  Escape: escape,
};

const WHILE_TYPING = new Set(["ArrowDown", "Escape"]);

function meansKey(event) {
  if (typing(event.target)) return WHILE_TYPING.has(event.key) || (event.key === "?" && event.target.value === "");
  if (["ArrowRight", "ArrowLeft"].includes(event.key)) return reading() && $("#results");
  const inList = event.target.closest(".hits") || event.target === document.body;
  return !event.key.startsWith("Arrow") || (inList && $("#results"));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("#keys").open) return;
  const choices = $(".choices:popover-open");
  if (choices && event.key === "Escape") {  // or the box would be emptied as well
    event.preventDefault();
    choices.hidePopover();
  }
  if (choices) return;
  if (event.key === "Enter" && event.target.id === "q" && $("#results")) {
    event.preventDefault();
    openFirst();
    return;
  }
  if (!(event.key in KEYS) || !meansKey(event)) return;
  if (event.key === "ArrowDown" && typing(event.target) && event.target.id !== "q") return;
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

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt.matches(".propose") && !wide.matches) event.preventDefault();
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "reading") return;
  const { path } = event.detail.requestConfig;
  mark(path.replace("&proposed=1", ""));
  if (!path.includes("&proposed=1")) event.target.focus({ preventScroll: true });
});

// --- a linked entry, over what is read -------------------------------------------------------------------------------

const LINKED = "article.entry a[href^='/entries/'], .around a[href^='/entries/'], #tray a[href^='/entries/'], .combatants a[href^='/entries/']";
const KEPT = "#reading, #card, #tray, .fight, article.entry:not(.note-page), .around";
const card = () => $("#card");  // going back replaces it
let waiting;  // for the pointer to stay, or to be gone

function closeCard() {
  if (!card()?.matches(":popover-open")) return false;
  card().hidePopover();
  delete card().dataset.kept;
  return true;
}

async function openCard(link, isKept) {
  const path = link.getAttribute("href");
  if (isKept) card().dataset.kept = path; else delete card().dataset.kept;
  if (card().dataset.path !== path || !card().matches(":popover-open")) {
    if (!await ask(path, "#card-body", "innerHTML")) return;
    card().dataset.path = path;
    $("#card-open").href = path;
    card().showPopover();
    place(link);
    $("#card-body").scrollTop = 0;
  }
  if (isKept) card().focus();
}

// Below its link if there is more room than above; style sheets make a sheet of it on narrow screens.
function place(link) {
  const at = link.getBoundingClientRect(), { offsetWidth, offsetHeight } = card();
  const below = innerHeight - at.bottom > at.top ? at.bottom + 6 : at.top - offsetHeight - 6;
  card().style.left = `${Math.max(8, Math.min(at.left, innerWidth - offsetWidth - 8))}px`;
  card().style.top = `${Math.max(8, Math.min(below, innerHeight - offsetHeight - 8))}px`;
}

document.addEventListener("mouseover", (event) => {
  if (!matchMedia("(hover: hover)").matches || !window.htmx) return;
  const link = event.target.closest(LINKED);
  if (!link && (event.target.closest("#card") || card().dataset.kept)) { clearTimeout(waiting); return; }
  clearTimeout(waiting);
  if (link && !card().dataset.kept) waiting = setTimeout(() => openCard(link, false), 350);
  else if (!link) waiting = setTimeout(closeCard, 250);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest(LINKED);
  const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) && event.button === 0;
  if (!link || !plain || !window.htmx || !link.closest(KEPT)) return;
  clearTimeout(waiting);
  if (card().dataset.kept === link.getAttribute("href") && card().matches(":popover-open")) return;  // a second click goes there
  event.preventDefault();
  openCard(link, true);
});

// --- pins ------------------------------------------------------------------------------------------------------------

// What is pinned stays in this browser, for each viewer apart: what players see has no trace of what the game master read.
const own = (key) => `${document.documentElement.dataset.viewer}/${key}`;

function stored(key, empty) {
  try { return JSON.parse(localStorage.getItem(own(key))) ?? empty; } catch { return empty; }
}

function store(key, value) {
  try { localStorage.setItem(own(key), JSON.stringify(value)); } catch { /* a browser that stores nothing forgets it */ }
}

const pins = () => stored("pins", []);

function pin(path, name) {
  const others = pins().filter((each) => each.path !== path);
  store("pins", others.length < pins().length ? others : [...others, { path, name }]);
  showPins();
}

const read = () => (card().matches(":popover-open") ? $("#card article") : null) ?? $("#reading article, main > article");

function pinRead() {
  const article = read();
  if (article) pin(pathOf(article), article.querySelector("h1").textContent);
}

const pathOf = (article) => `/entries/${article.dataset.uri.replace("lore://", "")}`;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function showPins() {
  const tray = $("#tray"), list = tray.querySelector("ul"), found = pins();
  list.replaceChildren(...found.map(({ path, name }) => {
    const item = document.createElement("li");
    item.append(
      element("a", name, { href: path, dir: "auto" }),
      element("button", "×", { type: "button", class: "quiet", "data-unpin": path, "aria-label": `Unpin ${name}` }),
    );
    return item;
  }));
  const creatures = found.filter(({ path }) => path.startsWith("/entries/creatures/"));
  const fight = $("#tray-fight");
  fight.hidden = !creatures.length;
  fight.href = `/fight?${creatures.map(({ path }) => `uri=${encodeURIComponent(path.replace("/entries/", "lore://"))}`).join("&")}`;
  tray.hidden = !found.length;
}

// What was read lately, for the desk.
function remember() {
  const article = $("#reading > article, main > article");
  if (!article?.dataset.uri || article.querySelector("h1") === null) return;
  const entry = { path: pathOf(article), name: article.querySelector("h1").textContent };
  store("recent", [entry, ...stored("recent", []).filter(({ path }) => path !== entry.path)].slice(0, 8));
}

function showRecent() {
  const section = $("#recent"), found = stored("recent", []);
  if (!section || !found.length) return;
  section.querySelector("ul").replaceChildren(...found.map(({ path, name }) => {
    const item = document.createElement("li");
    item.append(element("a", name, { href: path, dir: "auto" }));
    return item;
  }));
  section.hidden = false;
}

remember();
showRecent();
document.addEventListener("htmx:afterSettle", (event) => { if (event.target.id === "reading") remember(); });

// --- dice ------------------------------------------------------------------------------------------------------------

const DICE = /^(\d*)d(\d+)(?:×(\d+))?([+-]\d+)?$/;

function thrown(sides) {
  const [number] = crypto.getRandomValues(new Uint32Array(1));
  return 1 + (number % sides);
}

function roll(dice) {
  const [, count, sides, times, more] = DICE.exec(dice);
  const each = Array.from({ length: Number(count || 1) }, () => thrown(Number(sides)));
  const sum = each.reduce((one, other) => one + other, 0) * Number(times || 1);
  return { total: sum + Number(more ?? 0), each: `${each.join(" + ")}${times ? ` × ${times}` : ""}${more ? ` ${more}` : ""}` };
}

const rowsOf = (link) => [...link.closest("table.rolled")?.tBodies[0]?.rows ?? []];

// "7", "01–05", "96-00", "20+"
function rowOf(rows, number) {
  return rows.find((row) => {
    const [least, most] = row.cells[0].textContent.match(/\d+/g) ?? [];
    const value = (text) => (text === "00" ? 100 : Number(text));
    const top = row.cells[0].textContent.includes("+") ? Infinity : value(most ?? least);
    return least && value(least) <= number && number <= top;
  });
}

let last;  // the link that was rolled

function rollAt(link, way = "") {
  last = link;
  const dice = new URL(link.href).searchParams.get("dice");
  const rows = link.closest("thead") ? rowsOf(link) : [];
  let [first, second] = [roll(dice), way ? roll(dice) : null];
  for (let more = 0; rows.length && !rowOf(rows, first.total) && more < 100; more += 1) first = roll(dice);
  const better = second && (way === "advantage") === (second.total > first.total) ? second : first;
  const row = rowOf(rows, better.total);
  for (const each of rows) each.classList.toggle("lit", each === row);
  row?.scrollIntoView({ block: "center" });  // what was rolled is shown at the bottom
  const output = $("#rolled");
  output.querySelector("b").textContent = better.total;
  const other = second ? ` (${way}: ${first.total}, ${second.total})` : "";
  const cells = row ? [...row.cells].slice(1).map((cell) => cell.textContent.trim()).filter(Boolean) : [];
  output.querySelector("span").textContent = [`${dice}: ${better.each}${other}`, ...cells].join(" · ");
  for (const button of output.querySelectorAll("[data-way]")) button.hidden = !/^1?d20/.test(dice);
  output.showPopover();
}

// Rolls on the first table of what is read, or else a d20.
function rollRead() {
  const link = read()?.querySelector("table.rolled thead a.dice") ?? $("#d20");
  rollAt(link);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.dice");
  const again = event.target.closest("#rolled button");
  if (again?.value === "close") $("#rolled").hidePopover();
  else if (again && last) rollAt(last, again.dataset.way);
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  rollAt(link, event.shiftKey ? "advantage" : event.altKey ? "disadvantage" : "");
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
  if (event.target.id === "q") $("#marks").scrollLeft = event.target.scrollLeft;
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
  const left = placeOf(location);
  if (!$("#reading > article")) (hits().find((link) => link.href === document.referrer) ?? $("#q"))?.focus({ preventScroll: true });
  addEventListener("load", () => restorePlace(left));
}
// Of several steps through the history the last one counts: the answer to an earlier one may be the later to come.
let restoring;
document.addEventListener("htmx:historyCacheMiss", ({ detail }) => {
  restoring?.abort();
  restoring = detail.xhr;
});
document.addEventListener("htmx:historyRestore", () => {
  restorePlace(placeOf(location));
  showPins();
  showRecent();
  showButtons();
});

document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest(selector);
  if (at("#theme")) switchTheme();
  if (at("#keys-button")) $("#keys").showModal();
  if (at("#print")) print();
  if (at("#card-close")) closeCard();
  if (at("#retry")) retry();
  if (at("#card-pin, #pin")) pinRead();
  if (at("[data-unpin]")) pin(at("[data-unpin]").dataset.unpin);
});

document.addEventListener("change", (event) => event.target.closest("form[data-submits]")?.requestSubmit());

addEventListener("storage", showPins);
showPins();

// What a chip has opened is open again once a value was chosen in it, for the next one.
let choosing = "";
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id === "main") choosing = $("#facets .choices:popover-open")?.id ?? "";
});
document.addEventListener("htmx:afterSettle", (event) => {
  const choices = event.target.id === "main" && choosing ? document.getElementById(choosing) : null;
  if (choices) choices.previousElementSibling.click();
});

function showButtons() {
  for (const button of document.querySelectorAll("header button[hidden], #print")) button.hidden = false;
}

showButtons();
document.documentElement.dataset.scripts = "";
