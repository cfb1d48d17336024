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
