// The card's graph: the layers of the drawing, nodes in the colours of their roles.
const card = JSON.parse(document.getElementById("data").textContent);
const plan = { ...layout(card.names, card.edges), full: card.names };
const drawing = drawGraph(plan, { true: card.edges }, "Graph of the scenario", card.about);
drawing.querySelectorAll(".node").forEach((node, index) => { if (card.roles[index]) node.classList.add(card.roles[index]); });
document.getElementById("graph").append(drawing);
