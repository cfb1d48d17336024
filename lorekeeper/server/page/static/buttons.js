// Buttons, and what a chip opens.

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

// The hundreds of links that chips open are htmx's once they are seen.
document.addEventListener("beforetoggle", ({ target, newState }) => {
  if (newState !== "open" || !window.htmx || !target.matches("[hx-disable]")) return;
  target.removeAttribute("hx-disable");
  htmx.process(target);
}, true);

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
foldClass();
document.documentElement.dataset.scripts = "";
