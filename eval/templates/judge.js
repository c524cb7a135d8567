// Filters and figures of the judge's page. Scores, verdicts and numbers are in the page already.
document.getElementById("no-script").hidden = true;
const form = document.getElementById("filters");

function filter() {
  filterRows();
  const rows = [...document.getElementById("proposal-table").tBodies[0].rows];
  const left = rows.filter((row) => !row.hidden).length;
  document.getElementById("shown").textContent = left === rows.length ? "" : `${left} of ${rows.length} shown`;
}

// A link to a proposal that a filter hides would lead nowhere.
function reveal() {
  const row = location.hash.startsWith("#proposal-") && document.getElementById(location.hash.slice(1));
  if (!row || !row.hidden) return;
  for (const select of form.querySelectorAll("select")) select.value = "";
  filter();
  row.scrollIntoView();
}

if (form) {
  form.hidden = false;
  form.addEventListener("change", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  addEventListener("hashchange", reveal);
  filter();
}
drawFigures();
