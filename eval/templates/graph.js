// Layered drawings of directed graphs: layers by longest path, order by barycentres, places by least squares.

const GAP = { layer: 58, node: 14, bend: 8, height: 24 };

// The graph that was packed as base64 of its bits, row by row: a list of [from, to].
function unpack(text, d) {
  const bytes = atob(text), edges = [];
  for (let index = 0; index < d * d; index += 1)
    if (bytes.charCodeAt(index >> 3) >> (7 - (index & 7)) & 1) edges.push([Math.floor(index / d), index % d]);
  return edges;
}

// What was hit, reversed, missed and invented: lists of [from, to]. An edge said both ways is a hit and an invention.
function compare(truth, found) {
  const key = ([from, to]) => `${from},${to}`, back = ([from, to]) => `${to},${from}`;
  const real = new Set(truth.map(key)), said = new Set(found.map(key));
  const hit = truth.filter((edge) => said.has(key(edge)));
  const reversed = truth.filter((edge) => !said.has(key(edge)) && said.has(back(edge)));
  const missed = truth.filter((edge) => !said.has(key(edge)) && !said.has(back(edge)));
  const invented = found.filter((edge) => !real.has(key(edge)) && (!real.has(back(edge)) || said.has(back(edge))));
  return { hit, reversed, missed, invented };
}

function layersOf(d, edges) {
  const depth = new Array(d).fill(0);
  for (let round = 0, moved = true; moved && round < d; round += 1) {
    moved = false;
    for (const [from, to] of edges)
      if (depth[to] < depth[from] + 1) { depth[to] = depth[from] + 1; moved = true; }
  }
  const incoming = new Set(edges.map(([, to]) => to));
  for (let node = 0; node < d; node += 1) { // a root stands right above its first child
    const children = edges.filter(([from]) => from === node).map(([, to]) => depth[to]);
    if (!incoming.has(node) && children.length) depth[node] = Math.max(0, Math.min(...children) - 1);
  }
  return depth;
}

// Pool adjacent violators: the places nearest to the desired ones that keep order and distances.
function place(desired, offsets) {
  const blocks = [];
  desired.forEach((value, index) => {
    blocks.push({ sum: value - offsets[index], count: 1 });
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1], before = blocks[blocks.length - 2];
      if (before.sum / before.count <= last.sum / last.count) break;
      before.sum += last.sum; before.count += last.count; blocks.pop();
    }
  });
  return blocks.flatMap((block) => new Array(block.count).fill(block.sum / block.count)).map((value, index) => value + offsets[index]);
}

// Coordinates of the nodes, the bends of long edges, and the size of it all.
function layout(names, edges) {
  const d = names.length, depth = layersOf(d, edges);
  const label = (name) => (name.length > 18 ? `${name.slice(0, 17)}\u2026` : name);
  const width = names.map((name) => Math.max(30, 14 + 7 * label(name).length));
  const long = edges.reduce((sum, [from, to]) => sum + Math.max(0, depth[to] - depth[from] - 1), 0);
  const items = names.map((name, index) => ({ layer: depth[index], width: width[index], up: [], down: [], node: true }));
  const routes = edges.map(([from, to]) => {
    const route = [from];
    if (long <= 600)
      for (let layer = depth[from] + 1; layer < depth[to]; layer += 1) {
        route.push(items.length);
        items.push({ layer, width: GAP.bend, up: [], down: [], node: false });
      }
    route.push(to);
    for (let step = 1; step < route.length; step += 1) {
      items[route[step - 1]].down.push(route[step]);
      items[route[step]].up.push(route[step - 1]);
    }
    return route;
  });
  const layers = [];
  items.forEach((item, index) => (layers[item.layer] ??= []).push(index));
  for (const layer of layers) layer.forEach((index, order) => { items[index].order = order; });
  const mean = (list, field) => list.reduce((sum, other) => sum + items[other][field], 0) / list.length;

  for (let sweep = 0; sweep < 24; sweep += 1) {
    const side = sweep % 2 ? "down" : "up";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      for (const index of layer) items[index].pull = items[index][side].length ? mean(items[index][side], "order") : items[index].order;
      layer.sort((a, b) => items[a].pull - items[b].pull || a - b);
      layer.forEach((index, order) => { items[index].order = order; });
    }
  }
  const offsets = layers.map((layer) => {
    let right = 0;
    return layer.map((index) => {
      const middle = right + items[index].width / 2;
      right += items[index].width + (items[index].node ? GAP.node : GAP.bend);
      return middle;
    });
  });
  layers.forEach((layer, depthOf) => layer.forEach((index, order) => {
    items[index].x = offsets[depthOf][order] - offsets[depthOf][layer.length - 1] / 2;
  }));
  for (let sweep = 0; sweep < 30; sweep += 1)
    layers.forEach((layer, depthOf) => {
      const desired = layer.map((index) => {
        const around = [...items[index].up, ...items[index].down];
        return around.length ? mean(around, "x") : items[index].x;
      });
      place(desired, offsets[depthOf]).forEach((x, order) => { items[layer[order]].x = x; });
    });
  const left = Math.min(...items.map((item) => item.x - item.width / 2)) - 8;
  for (const item of items) { item.x -= left; item.y = 40 + item.layer * GAP.layer; }
  const full = Math.max(...items.map((item) => item.x + item.width / 2)) + 8;
  const bends = new Map(edges.map(([from, to], index) => [`${from},${to}`, routes[index].map((at) => [items[at].x, items[at].y])]));
  return { names: names.map(label), x: items.slice(0, d).map((item) => item.x), y: items.slice(0, d).map((item) => item.y),
    box: width, bends, width: Math.ceil(full), height: 40 + (layers.length - 1) * GAP.layer + 40 };
}

// An SVG namespace without writing an address: that of the one that the page has.
const svgSpace = (() => { const holder = document.createElement("div"); holder.innerHTML = "<svg></svg>"; return holder.firstChild.namespaceURI; })();

function shape(kind, attributes, parent, text) {
  const made = document.createElementNS(svgSpace, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// The points from one node to another, along the bends of the true edge where there is one, and the way it arrives.
function path(plan, from, to) {
  const half = GAP.height / 2;
  const known = plan.bends.get(`${from},${to}`) ?? [...(plan.bends.get(`${to},${from}`) ?? [])].reverse();
  const points = known.length ? known.map((point) => [...point]) : [[plan.x[from], plan.y[from]], [plan.x[to], plan.y[to]]];
  const last = points.length - 1;
  if (points[0][1] === points[last][1]) { // side by side: an arc above
    const y = points[0][1] - half, rise = 26;
    return { way: 1, end: [points[last][0], y], line:
      `M${points[0][0]} ${y} C${points[0][0]} ${y - rise} ${points[last][0]} ${y - rise - 6} ${points[last][0]} ${y - 6}` };
  }
  const way = points[last][1] > points[0][1] ? 1 : -1;
  points[0][1] += way * half;
  const end = [points[last][0], points[last][1] - way * half];
  points[last] = [end[0], end[1] - way * 6];
  let line = `M${points[0][0].toFixed(1)} ${points[0][1]}`;
  for (let index = 1; index < points.length; index += 1) {
    const [x0, y0] = points[index - 1], [x1, y1] = points[index], middle = (y0 + y1) / 2;
    line += ` C${x0.toFixed(1)} ${middle} ${x1.toFixed(1)} ${middle} ${x1.toFixed(1)} ${y1}`;
  }
  return { way, end, line };
}

// Draws edges of kinds ({kind: [[from, to], ...]}) on a layout; `reversed` edges are drawn as they were said.
function drawGraph(plan, kinds, title, about) {
  const svg = shape("svg", { viewBox: `0 0 ${plan.width} ${plan.height}`, width: plan.width, height: plan.height, role: "img" });
  shape("title", {}, svg, title);
  for (const kind of ["true", "missed", "hit", "invented", "reversed"])
    for (const [from, to] of kinds[kind] ?? []) {
      const [tail, head] = kind === "reversed" ? [to, from] : [from, to];
      const { line, end: [x, y], way } = path(plan, tail, head);
      const edge = shape("g", { class: `edge ${kind}` }, svg);
      shape("title", {}, edge, `${plan.full[tail]} \u2192 ${plan.full[head]}: ${kind}`);
      shape("path", { d: line }, edge);
      shape("polygon", { points: `${x},${y} ${x - 4},${y - 8 * way} ${x + 4},${y - 8 * way}` }, edge);
    }
  plan.names.forEach((name, index) => {
    const node = shape("g", { class: "node" }, svg);
    shape("title", {}, node, [plan.full[index], ...(about?.[index] ?? [])].join("\n"));
    shape("rect", { x: plan.x[index] - plan.box[index] / 2, y: plan.y[index] - GAP.height / 2, width: plan.box[index],
      height: GAP.height, rx: 6 }, node);
    shape("text", { x: plan.x[index], y: plan.y[index] }, node, name);
  });
  return svg;
}
