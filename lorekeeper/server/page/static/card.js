// A linked entry, over what is read.

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
  if (!link || !isPlain(event) || !window.htmx || !link.closest(KEPT)) return;
  clearTimeout(waiting);
  if (card().dataset.kept === link.getAttribute("href") && card().matches(":popover-open")) return;  // a second click goes there
  event.preventDefault();
  openCard(link, true);
});
