// Pins.

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

// The row that the keyboard is at, or else what is read.
function pinRead() {
  const at = document.activeElement.closest(".hits a") ?? read();
  if (at) pin(pathOf(at), at.querySelector("h1, .name").textContent);
}

const pathOf = ({ dataset }) => `/entries/${dataset.uri.replace("lore://", "")}`;

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
  const asked = (some) => some.map(({ path }) => `uri=${encodeURIComponent(path.replace("/entries/", "lore://"))}`).join("&");
  const creatures = found.filter(({ path }) => path.startsWith("/entries/creatures/"));
  $("#tray-fight").hidden = !creatures.length;
  $("#tray-fight").href = `/fight?${asked(creatures)}`;
  $("#tray-print").href = `/print?${asked(found)}`;
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
