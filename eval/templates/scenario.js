// One scenario as a page of its own, at #scenario=ID&split=SPLIT: its graph, and what each method got wrong.

const HEADINGS = ["Method", "Status", "F1", "SHD", "Reach. dist.", "TP", "FP", "FN", "Reversed", "Missing"];
const KINDS = { hit: "found", reversed: "found, the wrong way round", missed: "missed", invented: "invented" };
const scenarioPlace = document.getElementById("one-scenario");
const link = (id, split) => `#${new URLSearchParams({ scenario: id, split })}`;

function facts(page, id, split, parent) {
  const list = element("dl", undefined, parent, "facts");
  const fact = (name, value) => { element("dt", name, list); element("dd", value, list); };
  fact("Family", page.family);
  fact("Variables", page.d);
  fact("Edges", unpack(page.truth, page.d).length);
  for (const [name, value] of Object.entries(page.factors))
    if (!["d", "n_edges"].includes(name) && (typeof value !== "object" || Array.isArray(value)))
      fact(name.replaceAll("_", " "), Array.isArray(value) ? value.join(", ") || DASH : String(value));
  if (page.hashes[split]) fact("Table's SHA-256", page.hashes[split]);
}

function scores(id, split, parent) {
  const holder = element("div", undefined, parent, "scroll");
  const table = element("table", undefined, holder);
  table.id = "scenario-scores";
  element("caption", "Means over the completed replicates", table);
  const head = element("tr", undefined, element("thead", undefined, table));
  HEADINGS.forEach((title, index) => { element("th", title, head, index > 1 ? "number" : "").scope = "col"; });
  const body = element("tbody", undefined, table);
  for (const line of data.details[id]?.[split] ?? []) {
    const floor = data.floors.includes(line[0]);
    const row = element("tr", undefined, body, floor ? "floor" : "");
    line.forEach((value, index) => {
      const text = value === null ? DASH : index === 0 && floor ? `${value} (floor)` : String(value);
      const cell = element(index ? "td" : "th", text, row, index > 1 ? "number" : "");
      if (!index) cell.scope = "row";
    });
  }
}

function legend(parent) {
  const list = element("ul", undefined, parent, "legend");
  list.setAttribute("aria-label", "Edges");
  for (const [kind, text] of Object.entries(KINDS)) {
    const item = element("li", undefined, list);
    const sample = shape("svg", { width: 34, height: 12, "aria-hidden": "true" }, item);
    const edge = shape("g", { class: `edge ${kind}` }, sample);
    shape("path", { d: "M1 6 H26" }, edge);
    shape("polygon", { points: "33,6 25,2 25,10" }, edge);
    item.append(text);
  }
}

function edgeList(kinds, names, parent) {
  const wrong = Object.entries(kinds).filter(([kind, edges]) => kind !== "hit" && edges.length);
  if (!wrong.length) return;
  const details = element("details", undefined, parent);
  element("summary", "What is wrong, in words", details);
  for (const [kind, edges] of wrong) {
    element("p", `${KINDS[kind]}:`, details);
    const list = element("ul", undefined, details, "edges");
    for (const [from, to] of edges) {
      const [tail, head] = kind === "reversed" ? [to, from] : [from, to];
      element("li", `${names[tail]} \u2192 ${names[head]}`, list);
    }
  }
}

function card(method, [packed, ofClass], page, plan, about, score, parent) {
  const kinds = compare(unpack(page.truth, page.d), unpack(packed, page.d));
  const box = element("article", undefined, parent, "graph");
  box.dataset.method = method;
  const bar = element("div", undefined, box, "bar");
  element("h3", method + (data.floors.includes(method) ? " (floor)" : ""), bar);
  const enlarge = element("button", "Larger", bar, "button");
  enlarge.type = "button";
  const counts = Object.entries(kinds).map(([kind, edges]) => `${edges.length} ${kind}`).join(", ");
  element("p", counts + (ofClass ? "; one member of the equivalence class that it returned" : ""), box, "quiet");
  const holder = element("div", undefined, box, "scroll");
  const draw = () => holder.children.length || holder.append(drawGraph(plan, kinds, `What ${method} found: ${counts}`, about));
  enlarge.addEventListener("click", () => {
    draw();
    const broad = box.classList.toggle("broad");
    holder.firstChild.classList.toggle("large", broad);
    enlarge.textContent = broad ? "Smaller" : "Larger";
  });
  if (page.d <= 40) draw();
  else enlarge.textContent = "Draw";
  edgeList(kinds, page.names, box);
}

function showScenario(id, split) {
  const splits = Object.keys(data.details[id]), page = data.graphs[id], ids = Object.keys(data.details);
  const at = ids.indexOf(id), chosen = splits.includes(split) ? split : splits[0];
  scenarioPlace.replaceChildren();
  const moves = element("p", undefined, scenarioPlace);
  const go = (text, target) => { const made = element("a", text, moves); made.href = target; moves.append(" \u00a0 "); };
  go("Back to the report", "#scenarios");
  if (at > 0) go("Previous scenario", link(ids[at - 1], chosen));
  if (at < ids.length - 1) go("Next scenario", link(ids[at + 1], chosen));
  for (const other of splits) if (other !== chosen) go(`Split ${other}`, link(id, other));
  const title = element("h2", `${id}, ${chosen}`, scenarioPlace);
  title.id = "scenario-title";
  title.tabIndex = -1;
  if (page) {
    const both = element("div", undefined, scenarioPlace, "both");
    facts(page, id, chosen, element("div", undefined, both));
    const plan = { ...layout(page.names, unpack(page.truth, page.d)), full: page.names };
    const about = page.nodes.map(([mechanism, noise, root]) =>
      [mechanism && `mechanism: ${mechanism}`, noise && `noise: ${noise}`, root && `root: ${root}`].filter(Boolean));
    const truth = element("div", undefined, page.d > 20 ? scenarioPlace : both, "truth");
    element("h3", "True graph", truth);
    const drawn = drawGraph(plan, { true: unpack(page.truth, page.d) }, `True graph of ${id}`, about);
    if (page.d > 40) drawn.classList.add("large");
    element("div", undefined, truth, "scroll").append(drawn);
    scores(id, chosen, scenarioPlace);
    const found = page.found[chosen] ?? {};
    const f1 = Object.fromEntries((data.details[id][chosen] ?? []).map((line) => [line[0], line[2]]));
    const rank = (method) => (data.floors.includes(method) ? -2 : f1[method] ?? -1);
    const methods = Object.keys(found).sort((a, b) => rank(b) - rank(a));
    if (methods.length) {
      element("h3", "What each method found in the first replicate", scenarioPlace);
      legend(scenarioPlace);
      const grid = element("div", undefined, scenarioPlace, "graphs");
      for (const method of methods) card(method, found[method], page, plan, about, f1[method], grid);
    }
  } else {
    element("p", "The graphs of this scenario are not in this file, to keep it small.", scenarioPlace, "quiet");
    scores(id, chosen, scenarioPlace);
  }
}

function navigate() {
  const asked = new URLSearchParams(location.hash.slice(1)), id = asked.get("scenario");
  const known = id !== null && Object.hasOwn(data.details, id);
  document.body.classList.toggle("one-scenario", known);
  scenarioPlace.hidden = !known;
  if (known) {
    showScenario(id, asked.get("split"));
    window.scrollTo(0, 0);
    document.getElementById("scenario-title").focus({ preventScroll: true });
  } else if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

window.addEventListener("hashchange", navigate);
navigate();
