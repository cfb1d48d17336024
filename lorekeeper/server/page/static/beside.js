// The entry beside the list.

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
