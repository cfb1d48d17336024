"use strict";
// The little that HTML and htmx cannot do: keys, the theme, and where the focus is.

const $ = (selector) => document.querySelector(selector);
const hits = () => [...document.querySelectorAll(".hits a")];

const isPlain = ({ ctrlKey, metaKey, shiftKey, altKey, button }) => !(ctrlKey || metaKey || shiftKey || altKey || button);

const wide = matchMedia("(width > 56rem)");

// htmx comes once the page is there; until then links and the form do what they do without scripts.
function loadHtmx() {
  const script = document.createElement("script");
  script.src = $("script[data-htmx]").dataset.htmx;
  script.addEventListener("load", loadFight);
  script.addEventListener("load", () => { if (answered !== $("#q")?.value) htmx.trigger("#rest", "rest"); });
  document.head.append(script);
}

addEventListener("load", loadHtmx);

// The script of a fight comes with its page only.
function loadFight() {
  const address = $("[data-fight]")?.dataset.fight;
  if (address) document.head.append(Object.assign(document.createElement("script"), { src: address }));
}

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const theme = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `lorekeeper_theme=${theme}; Path=/; Max-Age=31536000; SameSite=Strict${secure}`;
}
