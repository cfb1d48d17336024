"use strict";
// The fight: who is in it, in which order, with how many hit points. The server keeps one for each viewer, the same on all of
// their devices; what an address asks for comes into it.

(() => {
  const KEPT = "/fight/kept", EVERY = 4000, MOST_LINES = 60, MOST_STEPS = 8;
  const EMPTY = { round: 1, turn: 0, fighting: [], log: [], before: [], shown: false };
  const list = $("#combatants"), menu = $("#of-one");

  const combatants = (page) => [...page.querySelectorAll("#combatants li[data-name]")].map((item) => {
    const { dataset } = item;
    const most = dataset.hitPoints ?? "";
    return {
      name: dataset.name, kind: dataset.kind, path: dataset.path, hero: dataset.hero === "true", hidden: dataset.hidden === "true", bonus: Number(dataset.initiative),
      icon: item.querySelector("use")?.getAttribute("href") ?? "", initiative: null, most, now: most === "" ? "" : most - dataset.lost,
      temporary: 0, armor: dataset.armorClass ?? "", spellSave: dataset.spellSave, states: [], saves: [0, 0], uses: dataset.counters.split("\n").filter(Boolean).flatMap(usesOf),
    };
  });

  // "Fire Breath: Recharge 5-6", "Legendary Resistance: 3/Day"
  function usesOf(text) {
    const [, name, often] = /^(.*?)(?: \(.*)?: (.*)$/.exec(text);
    const most = /^(\d+)\/(\w+)/.exec(often), least = /recharge (\d)/i.exec(often);
    if (most) return [{ name, most: Number(most[1]), left: Number(most[1]), each: most[2] }];
    return least ? [{ name, most: 1, left: 1, least: Number(least[1]) }] : [];
  }

  // --- what the server keeps -------------------------------------------------------------------------------------------

  const asked = combatants(document);
  let state = structuredClone(EMPTY), tag = "", saving = Promise.resolve(), waiting = 0, changes = 0;

  // What comes after a change here is of before it, and left out.
  async function load() {
    const at = changes, answer = await fetch(KEPT, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (answer.status === 304 || waiting || at !== changes) return;
    if (!answer.ok) throw new Error(answer.status);
    const kept = await answer.json();
    tag = answer.headers.get("ETag");
    state = { ...structuredClone(EMPTY), ...kept };
    $("#main").inert = false;
    render();
  }

  function save() {
    render();
    const body = JSON.stringify(state);
    waiting += 1;
    changes += 1;
    saving = saving.then(async () => {
      try {
        const answer = await fetch(KEPT, { method: "PUT", headers: { "If-Match": tag }, body });
        waiting -= 1;
        if (answer.ok) tag = answer.headers.get("ETag");
        else {
          await load();
          lose({}, answer.status === 412 ? "The fight has changed on another device. It is shown as it is there." : reasonOf({ responseText: await answer.text(), status: answer.status }));
        }
      } catch { waiting -= 1; lose({}); }
    });
  }

  // A change, told in a line of the log; the last ones can be undone.
  function step(line, change, isOpen) {
    const kept = hidden();
    remembering(() => {
      change();
      tell(line instanceof Function ? line() : line, isOpen, kept);
    });
    save();
  }

  // What undoes a change: of those who were there what was different, at the places that they have after it.
  function remembering(change) {
    const { round, turn, fighting, log: [last], before } = state, those = [...fighting], were = structuredClone(those);
    change();
    const back = those.map((each, place) => {
      const at = state.fighting.indexOf(each), was = Object.entries(were[place]);
      return [at, Object.fromEntries(at < 0 ? was : was.filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(each[key])))];
    });
    before.unshift({ round, turn, fighting: back, lines: last ? state.log.indexOf(last) : state.log.length });
    before.length = Math.min(before.length, MOST_STEPS);
  }

  const hidden = () => state.fighting.filter((each) => each.hidden).map(({ name }) => name);

  // A line is open to players if the fight is shown to them, and nobody is in it whom they do not see: who was hidden before it
  // and is gone, or is hidden now.
  function tell(line, isOpen = true, kept = []) {
    if (!line) return;
    const seen = state.fighting.filter((each) => !each.hidden).map(({ name }) => name);
    const open = isOpen && state.shown && ![...kept, ...hidden()].some((name) => !seen.includes(name) && line.includes(name));
    state.log.unshift({ text: `Round ${state.round} · ${line}`, open });
    state.log.length = Math.min(state.log.length, MOST_LINES);
  }

  function undo() {
    const { log, fighting, before: [{ fighting: back, lines, ...was }, ...before] } = state;
    state = { ...state, ...was, fighting: back.map(([at, had]) => ({ ...fighting[at], ...had })), log: log.slice(lines), before };
    save();
  }

  // --- who fights ------------------------------------------------------------------------------------------------------

  // Those of a kind that is there already are numbered on; a hero is there once. Numbers that players see leave out nobody
  // who is hidden: who is takes a later one.
  function join(fighters) {
    for (const each of fighters) {
      const same = state.fighting.filter(({ path }) => path === each.path);
      if (each.hero && same.length) continue;
      const numbered = (among) => among.length ? `${each.kind} ${Math.max(...among.map(({ name }) => Number(/ (\d+)$/.exec(name)?.[1] ?? 1))) + 1}` : each.name;
      const name = numbered(same.filter((other) => each.hidden || !other.hidden));
      state.fighting.push({ ...each, name });
      const namesake = same.find((other) => other.name === name);
      if (namesake) namesake.name = numbered([...same, { name }]);
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

  async function add(query) {
    const isHidden = $("#hidden")?.checked;  // the form is empty once it was sent
    let answer;
    try { answer = await fetch(`/fight?${query}`); } catch { lose({}); return; }
    const content = await answer.text();
    if (!answer.ok) { lose({}, reasonOf({ responseText: content, status: answer.status })); return; }
    const page = new DOMParser().parseFromString(content, "text/html"), fighters = combatants(page);
    $("#problems").replaceChildren(...page.querySelectorAll("#problems > *, main > .refusal"));
    if (isHidden) for (const each of fighters) each.hidden = !each.hero;
    if (fighters.length) step(`${fighters.map(({ name }) => name).join(", ")} joined`, () => join(fighters));
  }

  const isOut = (each) => !each.hero && each.path !== "" && each.now !== "" && Number(each.now) <= 0;

  // The highest initiative first; whose turn it is stays so.
  function sort() {
    const current = state.fighting[state.turn];
    state.fighting.sort((one, other) => (other.initiative ?? -99) - (one.initiative ?? -99) || other.bonus - one.bonus);
    state.turn = Math.max(0, state.fighting.indexOf(current));
  }

  function rollOrder() {
    step("initiative", () => {
      for (const each of state.fighting) if (each.path && !(each.hero && each.initiative !== null)) each.initiative = thrown(20) + each.bonus;
      sort();
      state.turn = 0;
      state.round = 1;
    });
  }

  // The place of the next one who is not down; heroes at 0 have their turn.
  function nextPlace(by) {
    const { fighting, turn } = state;
    for (let place = turn + by, tried = 0; tried < fighting.length; place += by, tried += 1) {
      const at = (place + fighting.length * 2) % fighting.length;
      if (!isOut(fighting[at])) return [at, place < 0 ? -1 : place >= fighting.length ? 1 : 0];
    }
    return [turn, by];
  }

  function turn(by) {
    if (!state.fighting.length) return;
    const [place, more] = nextPlace(by);
    remembering(() => {
      state.turn = place;
      state.round = Math.max(1, state.round + more);
      if (by > 0) begins(state.fighting[place]);
    });
    save();
  }

  // What a turn that begins brings: recharges, legendary actions, and conditions that have lasted their rounds.
  function begins(each) {
    tell(`${each.name}'s turn`);
    for (const use of each.uses) {
      if (use.each === "Round") use.left = use.most;
      if (use.least && !use.left) {
        const number = thrown(6);
        if (number >= use.least) use.left = 1;
        tell(`${each.name}: ${use.name} ${use.left ? "recharges" : "does not recharge"} (${number})`, false);
      }
    }
    for (const one of each.states) if (one.rounds) one.rounds -= 1;
    for (const { name, rounds } of each.states) if (rounds === 0) tell(`${each.name} is no longer ${name}`);
    each.states = each.states.filter(({ rounds }) => rounds !== 0);
  }

  // "5" and "-5" are damage, "+5" heals; temporary hit points go first.
  function change(each, text, heals = false) {
    const number = Math.abs(Number(text.replace("−", "-")));
    if (!number) return;
    const is = heals || text.startsWith("+");
    step(() => told(each, number, is), () => {
      const taken = is ? 0 : Math.min(each.temporary, number);
      each.temporary -= taken;
      const now = Number(each.now || 0) + (is ? number : taken - number);
      each.now = Math.min(Math.max(now, 0), each.most === "" ? Infinity : Number(each.most));
      if (is) each.saves = [0, 0];
    });
  }

  function told(each, number, heals) {
    if (heals) return `${each.name} regains ${number}`;
    const holds = each.states.some(({ name }) => name === "concentrating");
    return `${each.name} takes ${number}${Number(each.now) <= 0 ? ": down" : ""}${holds ? `, concentration DC ${Math.max(10, Math.floor(number / 2))}` : ""}`;
  }

  function hide(each, is) {
    step(`${each.name} ${is ? "is hidden from players" : "appears"}`, () => { each.hidden = is; });
  }

  // Whom the key reveals: who has the focus, whose turn it is, or the first one who is hidden.
  function reveal() {
    const row = document.activeElement.closest("#combatants > li"), { fighting, turn } = state;
    const asked = row ? fighting[[...list.children].indexOf(row)] : fighting[turn]?.hidden ? fighting[turn] : fighting.find((each) => each.hidden);
    if (asked?.hidden) hide(asked, false);
  }

  function mark(each, name, rounds) {
    step(`${each.name} is ${name}${rounds ? ` for ${rounds} rounds` : ""}`, () => {
      each.states = [...each.states.filter((other) => other.name !== name), { name, rounds: rounds || null }];
    });
  }

  // --- the page --------------------------------------------------------------------------------------------------------

  const button = (text, label, act, attributes = {}) => {
    const made = element("button", text, { type: "button", "aria-label": label, ...attributes });
    made.addEventListener("click", act);
    return made;
  };

  function listed(control) {
    const item = document.createElement("li");
    item.append(control);
    return item;
  }

  function states(each) {
    const chip = (text, does, act) => button(text, `${text}: ${does}`, act);
    const chips = each.states.map((one) => chip(one.rounds ? `${one.name} ${one.rounds}` : one.name, `${each.name} is no longer ${one.name}`, () => {
      step(`${each.name} is no longer ${one.name}`, () => { each.states = each.states.filter((other) => other !== one); });
    }));
    if (each.hidden) chips.unshift(chip("hidden", `Reveal ${each.name} to players`, () => hide(each, false)));
    if (isOut(each)) chips.unshift(element("span", "down"));
    if (each.hero && each.now !== "" && Number(each.now) <= 0) {
      for (const [place, name] of ["saved", "failed"].entries()) {
        chips.push(chip(`${name} ${each.saves[place]}/3`, `${each.name}: a death save ${name}`, () => step(`${each.name}: death save ${name}`, () => { each.saves[place] = (each.saves[place] + 1) % 4; })));
      }
    }
    return chips.map(listed);
  }

  function counters(each) {
    return (each?.uses ?? []).map((use) => {
      const group = element("span", `${use.name} `, { class: "uses" });
      for (let place = 0; place < use.most; place += 1) {
        group.append(button("", `${use.name} ${place + 1} of ${use.most}`, () => step(`${each.name} uses ${use.name}`, () => { use.left = place < use.left ? place : place + 1; }, false), { "aria-pressed": place < use.left, class: "box" }));
      }
      return group;
    });
  }

  function token(each) {
    if (each.hero || !each.icon) return [each.name.trim()[0] ?? "?"];
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "i");
    svg.append(document.createElementNS("http://www.w3.org/2000/svg", "use"));
    svg.firstChild.setAttribute("href", each.icon);
    return [svg];
  }

  // What a control is called, without the figures that change.
  const nameOf = (control) => control.ariaLabel?.replace(/: [–\d].*/, "");

  function row(each, place) {
    const item = $("#combatant").content.firstElementChild.cloneNode(true);
    const part = (selector) => item.querySelector(selector);
    const named = part(each.path ? ".who a" : ".who strong");
    part(each.path ? ".who strong" : ".who a").remove();
    named.textContent = each.name;
    if (each.path) named.href = each.path;
    const labels = { ".initiative": "Initiative", ".points": "Hit points", ".change input": "Damage or healing", ".change [value='-']": "Damage", ".change [value='+']": "Heal", ".further": "More" };
    for (const [selector, label] of Object.entries(labels)) part(selector).setAttribute("aria-label", `${label} of ${each.name}`);
    part(".initiative").value = each.initiative ?? "";
    part(".token").replaceChildren(...token(each));
    part(".token").classList.toggle("hero", each.hero || !each.path);
    part(".armor span").textContent = each.armor;
    part(".armor").classList.toggle("unknown", each.armor === "");
    part(".now").textContent = each.now === "" ? "–" : `${each.now}${each.temporary ? `+${each.temporary}` : ""}`;
    part(".of").textContent = each.most === "" ? "" : ` / ${each.most}`;
    part(".points").ariaLabel += `: ${part(".points").textContent}`;
    const meter = part("meter"), most = Number(each.most || 0);
    Object.assign(meter, { max: most || 1, low: most / 4 + 0.01, high: most / 2 + 0.01, optimum: most, value: Number(each.now || 0) });
    meter.hidden = !most;
    if (place === state.turn) item.setAttribute("aria-current", "true");
    item.classList.toggle("down", isOut(each));
    part(".initiative").addEventListener("change", (event) => { each.initiative = event.target.value === "" ? null : Number(event.target.value); sort(); save(); });
    const field = part(".change input");
    const enter = (event, heals) => {
      event.preventDefault();
      const text = field.value;
      field.value = "";
      change(each, text, heals);
    };
    part(".change").addEventListener("submit", enter);
    part(".change [value='+']").addEventListener("click", (event) => enter(event, true));
    field.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.shiftKey) enter(event, true); });
    part(".states").append(...states(each));
    part(".counters").append(...place === state.turn ? [...counters(each), ...firstActions(each.path)] : []);
    for (const opens of [".further", ".points"]) part(opens).addEventListener("click", () => open(each));
    return item;
  }

  // The first actions of a stat block, for the row of whose turn it is where the block stands below the list.
  function firstActions(path) {
    const told = [...panes.get(path)?.querySelectorAll("section.actions > p") ?? []].slice(0, 2).map((each) => each.cloneNode(true));
    return told.length ? [...told, element("a", "Whole block", { href: "#turn" })] : [];
  }

  let chosen;

  // The stat block of whose turn it is, each in a pane of its own: an answer that comes late fills the pane that it is for.
  const panes = new Map();
  function showBlock(path) {
    const shown = $("#turn"), pane = panes.get(path) ?? shown.cloneNode();
    if (pane === shown) return;
    shown.replaceWith(pane);
    pane.scrollTop = 0;
    if (panes.has(path)) return;
    panes.set(path, pane);
    if (path) ask(path, pane, "innerHTML").then((isShown) => {
      if (!isShown) panes.delete(path);
      // First what it does, then what is always true: of books without a heading there, what comes before the first section.
      const told = ":not(section, :has(> .abilities), :has(> .abilities) + .facts)", acts = "section:not(.traits, .details)";
      const traits = [...pane.querySelectorAll(`.creatures > :is(.traits, .facts ~ ${told}):has(~ ${acts})`)];
      if (traits.length && !traits.at(-1).matches(".traits")) traits.unshift(element("h2", "Traits"));
      [...pane.querySelectorAll(".creatures > section:not(.details)")].at(-1)?.after(...traits);
      const { spellSave } = state.fighting.find((each) => each.path === path) ?? {};
      if (spellSave) {
        const tile = element("div", "");
        tile.append(element("dt", "Spell save"), element("dd", `DC ${spellSave}`));
        pane.querySelector(".kind + .facts")?.append(tile);
      }
      const current = list.querySelector("[aria-current]");
      if (!pane.isConnected || !current) return;
      current.querySelector(".counters").append(...firstActions(path));
      current.scrollIntoView({ block: "nearest" });
    });
  }

  function open(each) {
    chosen = each;
    menu.querySelector("h2").textContent = each.name;
    $("#now").value = each.now;
    $("#temporary").value = each.temporary || "";
    $("#called").value = each.name;
    if ($("#hide")) $("#hide").textContent = each.hidden ? "Reveal" : "Hide from players";
    menu.showPopover();
  }

  function render() {
    const { fighting } = state, current = fighting[state.turn], next = fighting[nextPlace(1)[0]];
    const { activeElement: at } = document, named = menu.matches(":popover-open") ? `More of ${chosen.name}` : nameOf(at);
    $("#nobody").hidden = fighting.length > 0;
    list.replaceChildren(...fighting.map(row));
    $("#show")?.setAttribute("aria-pressed", state.shown);
    $("#round").textContent = `Round ${state.round}`;
    $("#whose").replaceChildren(...current ? [element("b", current.name), next === current ? "" : `, then ${next.name}`] : []);
    $("#next-turn .to").textContent = next ? `Next: ${next.name}` : "Next";
    $("#counters").replaceChildren(...counters(current));
    $("#log").replaceChildren(...state.log.slice(0, 3).map(({ text }) => element("li", text, { dir: "auto" })));
    if (state.before.length) $("#log").append(listed(button("Undo", "Undo the last change", undo, { class: "quiet", id: "undo" })));
    showBlock(current?.path ?? "");
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    if (at.isConnected && !menu.contains(at)) return;
    // The focus, and what is being typed there, outlive the change.
    const again = named && [...$("#main").querySelectorAll("[aria-label]")].find((each) => nameOf(each) === named);
    again?.focus({ preventScroll: true });
    if (again?.matches(".change input")) again.value = at.value;
  }

  const on = (selector, type, act) => $(selector).addEventListener(type, (event) => { if (type === "submit") event.preventDefault(); act(event); });

  on("#next-turn", "click", () => turn(1));
  on("#back-turn", "click", () => turn(-1));
  on("#roll-order", "click", rollOrder);
  on("#add-more", "click", () => $("#monsters").focus());
  if ($("#show")) on("#show", "click", () => { state.shown = !state.shown; save(); });
  on("#end-fight", "click", () => {
    if (!confirm("End the fight? Everyone in it is removed.")) return;
    history.replaceState(null, "", "/fight");
    settle(() => begin([]));
  });
  on("#join", "click", () => settle(() => join(asked)));
  on("#begin", "click", () => settle(() => begin(asked)));
  on("#leave", "click", () => settle(() => {}));
  on("#add-monsters", "submit", ({ target }) => {
    if ($("#monsters").value.trim()) add(`monsters=${encodeURIComponent($("#monsters").value)}`);
    target.reset();
  });
  on("#add-party", "click", () => add("party=1"));
  on("#add-hero", "submit", ({ target }) => {
    const initiative = $("#hero-initiative").value, name = $("#hero").value;
    step(`${name} joined`, () => {
      state.fighting.push({ name, kind: name, path: "", hero: true, icon: "", bonus: 0, initiative: initiative === "" ? null : Number(initiative), now: "", most: "", temporary: 0, armor: "", states: [], saves: [0, 0], uses: [] });
      sort();
    });
    target.reset();
  });
  on("#add-state", "submit", ({ target }) => {
    if ($("#state").value) mark(chosen, $("#state").value, Number($("#rounds").value));
    target.reset();
    menu.hidePopover();
  });
  on("#set-points", "submit", () => {
    step(`${chosen.name} has ${$("#now").value}`, () => { Object.assign(chosen, { now: $("#now").value === "" ? "" : Number($("#now").value), temporary: Number($("#temporary").value) }); }, false);
    menu.hidePopover();
  });
  on("#rename", "submit", () => { step("", () => { chosen.name = $("#called").value; }); menu.hidePopover(); });
  on("#twin", "click", () => { step(`${chosen.name} joined again`, () => join([structuredClone({ ...chosen, hero: false })])); menu.hidePopover(); });
  if ($("#hide")) on("#hide", "click", () => { hide(chosen, !chosen.hidden); menu.hidePopover(); });
  on("#remove", "click", () => {
    step(`${chosen.name} left`, () => {
      const place = state.fighting.indexOf(chosen);
      state.fighting.splice(place, 1);
      if (place < state.turn || state.turn >= state.fighting.length) state.turn = Math.max(0, state.turn - 1);
    });
    menu.hidePopover();
  });
  menu.addEventListener("click", ({ target }) => { if (target.dataset.change) { change(chosen, target.dataset.change); menu.hidePopover(); } });
  document.addEventListener("keydown", (event) => {
    if (typing(event.target) || event.ctrlKey || event.metaKey || menu.matches(":popover-open")) return;
    if (event.key === "n") turn(1);
    if (event.key === "i") rollOrder();
    if (event.key === "h") reveal();
    if (/^[1-9]$/.test(event.key)) $("#monsters").focus();  // the number goes into it: "2 wolves"
  });

  $("#main").inert = true; // until the fight is there
  const [arrived] = performance.getEntriesByType("navigation");
  load().then(() => {
    list.setAttribute("data-loaded", "");
    if (asked.length && (arrived?.type === "navigate" || state.from !== location.search)) {
      if (!state.fighting.length) settle(() => begin(asked));
      else {
        $("#running b").textContent = asked.map(({ name }) => name).join(", ");
        $("#running").hidden = false;
      }
    }
    render();
  }, () => lose({}));
  // Another device of the same viewer has changed it.
  setInterval(() => { if (!document.hidden && !waiting) load().catch(() => {}); }, EVERY);
})();
