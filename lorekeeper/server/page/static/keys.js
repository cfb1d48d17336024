// Keys.

function typing(element) {
  return element.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
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

// What is at hand is pinned, and the next hit is at hand.
function pinOn(by) {
  pinRead();
  if (document.activeElement.closest(".hits")) move(by); else step(by);
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
  J: () => pinOn(1),
  K: () => pinOn(-1),
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
