// The entry beside the list.

// What was asked for last is shown, beside the list or, through the history, as the page: what was before comes too late.
let awaited, restoring;
function awaitOnly(xhr) {
  clearTimeout(proposing);
  restoring?.abort();
  awaited = xhr;
}

document.addEventListener("htmx:beforeSend", ({ detail }) => { if (detail.target.matches("#reading, #main")) awaitOnly(detail.xhr); });
document.addEventListener("htmx:historyCacheMiss", ({ detail }) => {
  awaitOnly(detail.xhr);
  restoring = detail.xhr;
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target } = detail.requestConfig;
  if (!target.isConnected || (target.matches("#reading, #main") && detail.xhr !== awaited)) detail.shouldSwap = false;
});

// A second click on the same is one step of the history, as with a link that no script handles.
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
  if (new URL(detail.history.path, location).href === location.href) detail.history.type = "replace";
});

// A row has nothing of its own that shows its entry.
document.addEventListener("click", (event) => {
  const link = event.target.closest(".hits a");
  if (!link || !isPlain(event) || !window.htmx) return;
  event.preventDefault();
  htmx.ajax("GET", link.getAttribute("href"), { source: link, event }).catch(() => { /* lose() has said so */ });
});

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
  foldClass();
  const { path } = event.detail.requestConfig;
  mark(path.replace("&proposed=1", ""));
  if (!path.includes("&proposed=1")) event.target.focus({ preventScroll: true });
});

// A class on a phone: what it has as a list of links, and its features folded.
function foldClass() {
  const article = $("article.character_options");
  if (wide.matches || !article || article.querySelectorAll(".features > h3").length < 5) return;
  for (const heading of article.querySelectorAll(".features > h3")) {
    const folded = document.createElement("details"), summary = document.createElement("summary");
    heading.before(folded);
    folded.append(summary);
    summary.append(heading);
    while (folded.nextElementSibling && !folded.nextElementSibling.matches("h3")) folded.append(folded.nextElementSibling);
  }
  const parts = element("ul", "", { class: "chips contents" });
  for (const [number, heading] of article.querySelectorAll("h2").entries()) {
    heading.id ||= `part-${number}`;
    parts.append(document.createElement("li"));
    parts.lastChild.append(element("a", heading.textContent, { class: "chip", href: `#${heading.id}` }));
  }
  article.querySelector(".kind, h1:not(:has(~ .kind))").after(parts);
}
