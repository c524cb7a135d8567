// Filters and slices of the report. What is shown without them is in the page already.
const data = JSON.parse(document.getElementById("data").textContent);
const DASH = "\u2013";

const form = document.getElementById("filters");
form.hidden = false;
document.getElementById("no-script").hidden = true;

function filter() {
  filterRows();
  for (const view of views.values()) setFilters(view);
}

// Slices: the leaderboard over a part of the scenarios, made beforehand.
const board = document.getElementById("leaderboard");
const whole = [...board.tBodies[0].rows];

function sliceRow(line, previous) {
  const [labels, floor, cells] = line;
  const row = document.createElement("tr");
  const same = previous && JSON.stringify(previous[0].slice(0, -1)) === JSON.stringify(labels.slice(0, -1));
  row.className = [labels[0] === "all" ? "overall" : "", same ? "" : "group", floor ? "floor" : "", floor && !(previous && previous[1]) ? "first" : ""]
    .filter(Boolean).join(" ");
  labels.forEach((text, index) => {
    const name = data.labels[index];
    if (["family", "split", "method"].includes(name)) row.dataset[name] = text;
    if (name !== "method") element("td", text, row);
    else element("th", text + (floor ? " (floor)" : ""), row).scope = "row";
  });
  cells.forEach((text, index) => {
    const best = text.startsWith("*"), shown = best ? text.slice(1) : text;
    const paper = data.columns[index].endsWith("_paper");
    const cell = element("td", shown, row, "number" + (best ? " best" : "") + (paper ? " paper" : ""));
    cell.dataset.sort = shown === DASH ? "" : shown === "yes" ? 1 : shown === "no" ? 0 : Number(shown);
  });
  return row;
}

function slice() {
  const select = document.getElementById("slice");
  const cut = select && select.value !== "" ? data.cuts[Number(select.value)] : null;
  const rows = cut ? cut.lines.map((line, index) => sliceRow(line, cut.lines[index - 1])) : whole;
  board.tBodies[0].replaceChildren(...rows);
  document.getElementById("slice-note").textContent = cut
    ? `Only the ${cut.scenarios} scenarios with ${cut.factor} = ${cut.level}.` : "All scenarios.";
  const sorted = [...board.tHead.rows[0].cells].find((heading) => heading.hasAttribute("aria-sort"));
  if (sorted) sort(board, sorted.cellIndex, sorted.getAttribute("aria-sort") === "descending");
  filter();
}

form.addEventListener("change", slice);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => {
  board.classList.remove("sorted");
  for (const heading of board.tHead.rows[0].cells) heading.removeAttribute("aria-sort");
  slice();
}));

function setFilters(view) {
  const chosen = wanted();
  let changed = false;
  for (const name of ["family", "split"])
    if (name in view.getState({ signals: (signal) => signal === name }).signals && view.signal(name) !== chosen[name]) {
      view.signal(name, chosen[name]);
      changed = true;
    }
  if (changed) view.runAsync();
}

slice();
drawFigures(setFilters);
