// The entry that a pointer rests on, before it is clicked.

// It is held for seconds, and shown at the click. The request of the click goes out all the same, and what has changed since
// replaces it. An address with "ahead" is of an entry that nobody has opened yet.
const RESTS = 65, HELD = 5000;
let pointed, held = {};

async function fetchAhead(link) {
  const path = link?.getAttribute("href"), since = performance.now();
  if (!path || navigator.connection?.saveData || (held.path === path && since - held.since < HELD)) return;
  held.abort?.abort();
  const asked = held = { path, since, abort: new AbortController() };
  try {
    const headers = { "HX-Request": "true", "HX-Target": "reading" };
    const answer = await fetch(`${path}&ahead=1`, { headers, signal: asked.abort.signal });
    if (answer.ok) Object.assign(asked, { tag: answer.headers.get("ETag"), text: await answer.text() });
  } catch { /* the click asks again */ }
}

const hitAt = ({ target }) => target.closest(".hits a");

document.addEventListener("mouseover", (event) => {
  clearTimeout(pointed);
  if (hitAt(event) && $("#results").ariaBusy !== "true") pointed = setTimeout(() => fetchAhead(hitAt(event)), RESTS);
});
document.addEventListener("pointerdown", (event) => { if (event.button === 0) fetchAhead(hitAt(event)); });

document.addEventListener("htmx:beforeSend", ({ detail }) => {
  const { target, pathInfo: { requestPath: path }, elt } = detail;
  if (target.id !== "reading") return;
  clearTimeout(pointed);
  held.abort?.abort();
  const { text, tag, since } = held.path === path ? held : {};
  held = {};
  if (!text || !tag || performance.now() - since > HELD) return;
  detail.xhr.shown = tag;
  history.replaceState({ htmx: true }, "");
  if (new URL(path, location).href !== location.href) history.pushState({ htmx: true }, "", path);
  target.replaceChildren();
  const swap = { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0, scroll: "top", show: "top", showTarget: "window" };
  htmx.swap(target, text, swap, { eventInfo: detail, contextElement: elt });
});

// htmx tells each element that is replaced that it goes, which takes longer than all else; no script waits for it here.
for (const name of ["htmx:beforeSwap", "htmx:oobBeforeSwap"]) {
  document.addEventListener(name, ({ detail }) => {
    const { target, xhr, shouldSwap } = detail;
    if (!shouldSwap || !target.matches("#results, #reading, #facets")) return;
    if (xhr?.shown && xhr.shown === xhr.getResponseHeader("ETag")) detail.shouldSwap = false;
    else target.replaceChildren();
  });
}
