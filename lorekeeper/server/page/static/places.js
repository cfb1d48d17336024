// The place in the list.

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
document.addEventListener("htmx:historyRestore", () => {
  restorePlace(placeOf(location));
  showPins();
  showRecent();
  showButtons();
});
