"use strict";
// The fight: who is in it, in which order, with how many hit points. It stays in this browser, one for each viewer, whatever
// address its page has: what an address asks for comes into it.

(() => {
  const KEY = "fight", EMPTY = { round: 1, turn: 0, fighting: [] };
  const list = $("#combatants");

  const combatants = (page) => [...page.querySelectorAll("#combatants li[data-name]")].map(({ dataset }) => ({
    name: dataset.name, kind: dataset.kind, path: dataset.path, bonus: Number(dataset.initiative), initiative: null,
    now: dataset.hitPoints ?? "", most: dataset.hitPoints ?? "", armor: dataset.armorClass ?? "", states: [],
  }));

  function kept() {
    const found = stored(KEY, EMPTY);
    return Array.isArray(found.fighting) ? found : structuredClone(EMPTY);
  }

  const asked = combatants(document);
  let state = kept();

  function save() { store(KEY, state); render(); }

  // Those of a kind that is there already are numbered on.
  function join(fighters) {
    for (const each of fighters) {
      const numbers = state.fighting.filter(({ path }) => path === each.path).map(({ name }) => Number(/ (\d+)$/.exec(name)?.[1] ?? 1));
      state.fighting.push({ ...each, name: numbers.length ? `${each.kind} ${Math.max(...numbers) + 1}` : each.name });
    }
    sort();
  }

  function begin(fighters) {
    state = { ...structuredClone(EMPTY), fighting: fighters };
  }

  // What the address asks for is in the fight: coming back to it, or loading it again, asks for nothing more.
  function settle(change) {
    change();
    state.from = location.search;
    $("#running").hidden = true;
    save();
  }

  async function add(named) {
    const path = `/fight?monsters=${encodeURIComponent(named)}`;
    let answer;
    try { answer = await fetch(path); } catch { lose({}); return; }
    const content = await answer.text();
    if (!answer.ok) { lose({}, reasonOf({ responseText: content, status: answer.status })); return; }
    const page = new DOMParser().parseFromString(content, "text/html");
    $("#problems").replaceChildren(...page.querySelectorAll("#problems > *, main > .refusal"));
    join(combatants(page));
    save();
  }

  // The highest initiative first; whose turn it is stays so.
  function sort() {
    const current = state.fighting[state.turn];
    state.fighting.sort((one, other) => (other.initiative ?? -99) - (one.initiative ?? -99) || other.bonus - one.bonus);
    state.turn = Math.max(0, state.fighting.indexOf(current));
  }

  function rollOrder() {
    for (const each of state.fighting) if (each.path) each.initiative = thrown(20) + each.bonus;
    sort();
    state.turn = 0;
    state.round = 1;
    save();
  }

  // The next one who is not down; heroes are counted even so.
  function turn(by) {
    const { fighting } = state, isOut = (each) => each.path && each.now !== "" && Number(each.now) <= 0;
    if (!fighting.length) return;
    for (let tried = 0; tried < fighting.length; tried += 1) {
      state.turn += by;
      if (state.turn >= fighting.length) { state.turn = 0; state.round += 1; }
      if (state.turn < 0) { state.turn = fighting.length - 1; state.round = Math.max(1, state.round - 1); }
      if (!isOut(fighting[state.turn])) break;
    }
    save();
  }

  function changed(each, text) {
    const number = Number(text.replace("−", "-"));
    if (!Number.isFinite(number) || text === "") return;
    each.now = String(Math.min(Math.max(Number(each.now || 0) + number, 0), each.most ? Number(each.most) : Infinity));
  }

  function row(each, place) {
    const item = $("#combatant").content.firstElementChild.cloneNode(true);
    const part = (selector) => item.querySelector(selector);
    const named = part(each.path ? "a" : "strong");
    part(each.path ? "strong" : "a").remove();
    named.textContent = each.name;
    if (each.path) named.href = each.path;
    const labels = { ".initiative": "Initiative", ".now": "Hit points", ".change": "Damage or healing", ".states select": "Condition", ".remove": "Remove" };
    for (const [selector, label] of Object.entries(labels)) part(selector).setAttribute("aria-label", `${label} of ${each.name}`);
    part(".initiative").value = each.initiative ?? "";
    part(".armor").textContent = each.armor ? `AC ${each.armor}` : "";
    part(".now").value = each.now;
    part(".of").textContent = each.most ? `of ${each.most}` : "";
    if (place === state.turn) item.setAttribute("aria-current", "true");
    item.classList.toggle("down", each.path !== "" && each.now !== "" && Number(each.now) <= 0);
    part(".initiative").addEventListener("change", (event) => { each.initiative = event.target.value === "" ? null : Number(event.target.value); sort(); save(); });
    part(".now").addEventListener("change", (event) => { each.now = event.target.value; save(); });
    part(".points").addEventListener("submit", (event) => { event.preventDefault(); changed(each, part(".change").value); save(); });
    part(".states select").addEventListener("change", (event) => { each.states = [...new Set([...each.states, event.target.value])]; save(); });
    part(".states ul").append(...each.states.map((name) => {
      const state = document.createElement("li");
      const button = element("button", `${name} ×`, { type: "button", "aria-label": `${each.name} is no longer ${name}` });
      button.addEventListener("click", () => { each.states = each.states.filter((other) => other !== name); save(); });
      state.append(button);
      return state;
    }));
    part(".remove").addEventListener("click", () => {
      state.fighting.splice(place, 1);
      if (place < state.turn || state.turn >= state.fighting.length) state.turn = Math.max(0, state.turn - 1);
      save();
    });
    return item;
  }

  let shown = "";
  function render() {
    $("#nobody").hidden = state.fighting.length > 0;
    list.replaceChildren(...state.fighting.map(row));
    $("#round").textContent = `Round ${state.round}`;
    const { path } = state.fighting[state.turn] ?? {};
    if (path && path !== shown && window.htmx) ask(path, "#turn", "innerHTML");
    if (!path) $("#turn").replaceChildren();
    shown = window.htmx ? path ?? "" : "";
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  $("#next-turn").addEventListener("click", () => turn(1));
  $("#back-turn").addEventListener("click", () => turn(-1));
  $("#roll-order").addEventListener("click", rollOrder);
  $("#restart").addEventListener("click", () => {
    const again = ({ path, now, most }) => (path ? most : now);
    state = { ...state, round: 1, turn: 0, fighting: state.fighting.map((each) => ({ ...each, now: again(each), initiative: null, states: [] })) };
    save();
  });
  $("#end-fight").addEventListener("click", () => {
    if (!confirm("End the fight? Everyone in it is removed.")) return;
    history.replaceState(null, "", "/fight");
    settle(() => begin([]));
  });
  $("#join").addEventListener("click", () => settle(() => join(asked)));
  $("#begin").addEventListener("click", () => settle(() => begin(asked)));
  $("#leave").addEventListener("click", () => settle(() => {}));
  $("#add-monsters").addEventListener("submit", (event) => {
    event.preventDefault();
    if ($("#monsters").value.trim()) add($("#monsters").value);
    event.target.reset();
  });
  // Another window of this browser has changed it.
  addEventListener("storage", (event) => { if (event.key === own(KEY)) { state = kept(); render(); } });
  $("#add-hero").addEventListener("submit", (event) => {
    event.preventDefault();
    const initiative = $("#hero-initiative").value;
    state.fighting.push({ name: $("#hero").value, path: "", bonus: 0, initiative: initiative === "" ? null : Number(initiative), now: "", most: "", armor: "", states: [] });
    event.target.reset();
    sort();
    save();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "n" && !typing(event.target) && !event.ctrlKey && !event.metaKey) turn(1);
  });

  const [arrived] = performance.getEntriesByType("navigation");
  if (asked.length && (arrived?.type === "navigate" || state.from !== location.search)) {
    if (!state.fighting.length) settle(() => begin(asked));
    else {
      $("#running b").textContent = asked.map(({ name }) => name).join(", ");
      $("#running").hidden = false;
    }
  }
  render();
})();
