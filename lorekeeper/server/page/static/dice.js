// Dice.

const DICE = /^(\d*)d(\d+)(?:×(\d+))?([+-]\d+)?$/;

function thrown(sides) {
  const [number] = crypto.getRandomValues(new Uint32Array(1));
  return 1 + (number % sides);
}

function roll(dice) {
  const [, count, sides, times, more] = DICE.exec(dice);
  const each = Array.from({ length: Number(count || 1) }, () => thrown(Number(sides)));
  const sum = each.reduce((one, other) => one + other, 0) * Number(times || 1);
  return { total: sum + Number(more ?? 0), each: `${each.join(" + ")}${times ? ` × ${times}` : ""}${Number(more ?? 0) ? ` ${more}` : ""}` };
}

const rowsOf = (link) => [...link.closest("table.rolled")?.tBodies[0]?.rows ?? []];

// "7", "01–05", "96-00", "20+"
function rowOf(rows, number) {
  return rows.find((row) => {
    const [least, most] = row.cells[0].textContent.match(/\d+/g) ?? [];
    const value = (text) => (text === "00" ? 100 : Number(text));
    const top = row.cells[0].textContent.includes("+") ? Infinity : value(most ?? least);
    return least && value(least) <= number && number <= top;
  });
}

let last;  // the link that was rolled

function rollAt(link, way = "") {
  last = link;
  const dice = new URL(link.href).searchParams.get("dice");
  const rows = link.closest("thead") ? rowsOf(link) : [];
  let [first, second] = [roll(dice), way ? roll(dice) : null];
  for (let more = 0; rows.length && !rowOf(rows, first.total) && more < 100; more += 1) first = roll(dice);
  const better = second && (way === "advantage") === (second.total > first.total) ? second : first;
  const row = rowOf(rows, better.total);
  for (const each of rows) each.classList.toggle("lit", each === row);
  row?.scrollIntoView({ block: "center" });  // what was rolled is shown at the bottom
  const output = $("#rolled");
  output.querySelector("b").textContent = better.total;
  const other = second ? ` (${way}: ${first.total}, ${second.total})` : "";
  const cells = row ? [...row.cells].slice(1).map((cell) => cell.textContent.trim()).filter(Boolean) : [];
  output.querySelector("span").textContent = [`${dice}: ${better.each}${other}`, ...cells].join(" · ");
  for (const button of output.querySelectorAll("[data-way]")) button.hidden = !/^1?d20/.test(dice);
  output.showPopover();
}

// Rolls on the first table of what is read, or else a d20.
function rollRead() {
  const link = read()?.querySelector("table.rolled thead a.dice") ?? $("#d20");
  rollAt(link);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.dice");
  const again = event.target.closest("#rolled button");
  if (again?.value === "close") $("#rolled").hidePopover();
  else if (again && last) rollAt(last, again.dataset.way);
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  rollAt(link, event.shiftKey ? "advantage" : event.altKey ? "disadvantage" : "");
});
