// Typing.

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
  if (!pieces.length) { box.removeAttribute("aria-invalid"); box.removeAttribute("aria-describedby"); return; }
  $("#marks").scrollLeft = box.scrollLeft;
  box.setAttribute("aria-invalid", "true");
  box.setAttribute("aria-describedby", "notes");
}

document.addEventListener("input", (event) => {
  if (event.target.id !== "q" || !$("#rest")) return;
  markWrong();
  busy(true);
  clearTimeout(resting);
  resting = setTimeout(() => htmx.trigger("#rest", "rest"), event.target.value.trim() ? REST : 0);  // an empty box: the start page
  listNames();
});

const isIn = () => document.activeElement.closest(".hits");

// Names are asked for by one request at a time, and at its end by the next if the box has another text by then. What fails is
// said once the full answer fails too. Rows of names are nothing that htmx has to know; lists with filters are.
let naming = false;
async function listNames() {
  const text = $("#q")?.value ?? "", path = `/?${new URLSearchParams({ q: text })}`;
  if (naming || !text.trim()) return;
  naming = true;
  const first = hits()[0]?.dataset.uri ?? "";  // it stays the first as long as its name fits
  const headers = { "HX-Request": "true", "HX-Target": "results", "HX-Trigger": "q", "First-Hit": first };
  try {
    const answer = await fetch(path, { headers }), html = answer.status === 200 ? await answer.text() : "";
    if (html && text === $("#q")?.value && text !== answered && !isIn()) {
      if (html.includes(" hx-swap-oob=")) {
        const swap = { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0 };
        htmx.swap("#results", html, swap, { eventInfo: { pathInfo: { finalRequestPath: path } } });
      } else {
        $("#results").innerHTML = html;
        markWrong();
      }
      // the address takes longer than the rows, which do not wait for it
      const { href } = location, typed = answer.headers.get("HX-Replace-Url");
      requestAnimationFrame(() => setTimeout(() => { if (href === location.href) history.replaceState({ htmx: true }, "", typed); }));
    }
  } catch { /* see above */ }
  naming = false;
  if ($("#q")?.value !== text) listNames();
}

// An answer counts if it is to the text that is in the box. A list that somebody is in already stays.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig, pathInfo } = event.detail;
  if (event.target.id === "results" || requestConfig.elt.id === "rest") {
    if (textOf(pathInfo.finalRequestPath) !== $("#q").value || isIn()) event.detail.shouldSwap = false;
    if (isIn()) busy(false);
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
