// Filters, slices, sorting and figures of the report. What is shown without them is in the page already.
const data = JSON.parse(document.getElementById("data").textContent);
const DASH = "\u2013";

function element(kind, text, parent, className) {
  const made = document.createElement(kind);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

// Sorting: numbers from the largest first, text from A; missing values always last.
function sort(table, column, falling) {
  const value = (row) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent : cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
  };
  const rows = [...table.tBodies[0].rows].sort((first, second) => {
    const a = value(first), b = value(second);
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : a.localeCompare(b);
    return falling ? -order : order;
  });
  table.tBodies[0].append(...rows);
}

function sortBy(table, heading) {
  const now = heading.getAttribute("aria-sort"), number = heading.classList.contains("number");
  const falling = now === null ? number : now === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
  table.classList.add("sorted");
  sort(table, heading.cellIndex, falling);
}

for (const table of document.querySelectorAll("table[data-sortable]"))
  for (const heading of table.tHead.rows[0].cells)
    heading.querySelector("button").addEventListener("click", () => sortBy(table, heading));

// Filters: a row without the attribute, such as a scenario without a method, stays.
const form = document.getElementById("filters");
form.hidden = false;
document.getElementById("no-script").hidden = true;
const wanted = () => Object.fromEntries(
  [...document.querySelectorAll("select[data-filter]")].map((select) => [select.dataset.filter, select.value]));

function filter() {
  const chosen = Object.entries(wanted());
  for (const row of document.querySelectorAll("table[data-sortable] > tbody > tr"))
    row.hidden = chosen.some(([name, value]) => value && row.dataset[name] !== undefined && row.dataset[name] !== value);
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

// Figures take the colour of the text around them, on light, on dark and on paper.
const views = new Map();
const ink = "currentColor";
const config = {
  background: null,
  view: { stroke: ink, strokeOpacity: 0.25 },
  axis: { labelColor: ink, titleColor: ink, gridColor: ink, gridOpacity: 0.12, domainColor: ink, domainOpacity: 0.4,
    tickColor: ink, tickOpacity: 0.4, titleFontWeight: "normal", labelLimit: 220 },
  legend: { labelColor: ink, titleColor: ink, titleFontWeight: "normal", labelLimit: 220 },
  header: { labelColor: ink, titleColor: ink, labelFontWeight: "bold" },
  title: { color: ink },
  text: { color: ink },
};

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

async function drawFigures() {
  const found = document.getElementById("specs");
  const specs = found ? JSON.parse(found.textContent) : {};
  for (const place of document.querySelectorAll("[data-figure]")) {
    const figure = place.closest("figure");
    try {
      const options = { mode: "vega-lite", actions: false, renderer: "svg", config, logLevel: 1 };
      const { view } = await window.vegaEmbed(place, specs[place.dataset.figure], options);
      views.set(place.dataset.figure, view);
      setFilters(view);
      if (place.scrollWidth > place.clientWidth + 4 && matchMedia("(min-width: 70rem)").matches) figure.classList.add("broad");
    } catch (error) {
      element("p", `This figure could not be drawn here: ${error.message}`, place, "some");
    }
    await new Promise((resolve) => setTimeout(resolve)); // leaves the page responsive in between
  }
  document.documentElement.dataset.figures = "drawn";
}

slice();
drawFigures();
