// What every page has: tables that sort, filters of their rows, and figures.
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
const wanted = () => Object.fromEntries(
  [...document.querySelectorAll("select[data-filter]")].map((select) => [select.dataset.filter, select.value]));

function filterRows() {
  const chosen = Object.entries(wanted());
  for (const row of document.querySelectorAll("table[data-sortable] > tbody > tr"))
    row.hidden = chosen.some(([name, value]) => value && row.dataset[name] !== undefined && row.dataset[name] !== value);
}

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

async function drawFigures(drawn = () => {}) {
  const found = document.getElementById("specs");
  const specs = found ? JSON.parse(found.textContent) : {};
  for (const place of document.querySelectorAll("[data-figure]")) {
    const figure = place.closest("figure");
    try {
      const options = { mode: "vega-lite", actions: false, renderer: "svg", config, logLevel: 1 };
      const { view } = await window.vegaEmbed(place, specs[place.dataset.figure], options);
      views.set(place.dataset.figure, view);
      drawn(view);
      if (place.scrollWidth > place.clientWidth + 4 && matchMedia("(min-width: 70rem)").matches) figure.classList.add("broad");
    } catch (error) {
      element("p", `This figure could not be drawn here: ${error.message}`, place, "some");
    }
    await new Promise((resolve) => setTimeout(resolve)); // leaves the page responsive in between
  }
  document.documentElement.dataset.figures = "drawn";
}
