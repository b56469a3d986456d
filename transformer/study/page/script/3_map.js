// Figure 1 as the map: which box we are at, and how much flows along each arrow, in the layers we are in.

const layers = { encoder: 0, decoder: 0 };
let drawnMap = "";

function showMap() {
  const picture = lesson().maps[state.direction];
  const key = `${state.sentence} ${state.direction}`;
  if (drawnMap !== key) {
    byId("picture").innerHTML = picture.svg; // made by the drawing itself, every text in it escaped
    drawnMap = key;
    const svg = byId("picture").querySelector("svg");
    svg.setAttribute("role", "group"); // an image would hide its boxes from a screen reader
    for (const id of Object.keys(picture.boxes)) prepareBox(svg.getElementById(id), picture.boxes[id]);
  }
  const svg = byId("picture").querySelector("svg");
  for (const label of svg.querySelectorAll(".flow-label")) label.remove();
  for (const [id, paths] of Object.entries(picture.boxes)) {
    const here = Object.values(paths).includes(state.box);
    const box = svg.getElementById(id);
    box.classList.toggle("here", here);
    box.setAttribute("aria-label", boxName(paths[""] || paths[layers[stackOf(Object.values(paths)[0])]]));
    if (here) box.setAttribute("aria-current", "step");
    else box.removeAttribute("aria-current");
  }
  showFlows(svg, picture);
}

function prepareBox(box, paths) {
  box.querySelector(":scope > title")?.remove();
  box.setAttribute("tabindex", "0");
  box.setAttribute("role", "button");
  const go = () => goTo(paths[""] || paths[layers[stackOf(Object.values(paths)[0])]]);
  box.addEventListener("click", go);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    go();
  });
}

const stackOf = (path) => path.split(".")[0];
const flowOf = (flows) => flows[""] || flows[layers[stackOf(Object.values(flows)[0][1])]];

function showFlows(svg, picture) {
  const norms = Object.values(picture.arrows).flatMap((flows) => Object.values(flows).map((flow) => flow[3]));
  const some = norms.filter((norm) => norm > 0);
  const [least, greatest] = some.length ? [Math.min(...some), Math.max(...some)] : [0, 0];
  const labelled = new Set();
  for (const [id, flows] of Object.entries(picture.arrows)) {
    const [source, target, , norm] = flowOf(flows);
    const share = norm > 0 ? (greatest > least ? Math.log(norm / least) / Math.log(greatest / least) : 1) : 0;
    const line = svg.getElementById(id).querySelector("path");
    const head = svg.getElementById(id).querySelector("polygon");
    const colour = `color-mix(in srgb, var(--${state.direction === "forward" ? "up" : "down"}) ${Math.round(35 + 65 * share)}%, var(--paper))`;
    line.style.stroke = colour;
    line.style.strokeWidth = norm > 0 ? 1 + 5 * share : 0.5;
    if (head) {
      head.style.fill = head.style.stroke = colour;
      head.style.strokeWidth = 1 + 2 * share;
    }
    svg.getElementById(id).dataset.norm = norm;
    const title = svg.getElementById(id).querySelector("title");
    if (title) title.textContent = `${source} → ${target}: ${number(norm)}`;
    const key = `${source} ${target}`;
    if ((source === state.box || target === state.box) && !labelled.has(key)) {
      labelled.add(key);
      label(svg, line, number(norm));
    }
  }
  byId("legend").textContent = word(`map-${state.direction}`, { least: number(least), greatest: number(greatest) });
}

function label(svg, line, text) {
  const middle = line.getPointAtLength(line.getTotalLength() / 2);
  const made = document.createElementNS("http://www.w3.org/2000/svg", "text");
  made.setAttribute("class", "flow-label");
  made.setAttribute("x", middle.x + 6);
  made.setAttribute("y", middle.y + 4);
  made.textContent = text;
  line.ownerSVGElement.querySelector("g").append(made);
}

const SUBLAYERS = { self_attention_norm: "attention", cross_attention_norm: "cross", feed_forward_norm: "feed_forward" };

function boxName(path) {
  const box = lesson().boxes[path];
  const kind = path.endsWith("cross_attention") ? "cross" : box.kind;
  const side = path.startsWith("source") ? "source" : path.startsWith("target") ? "target" : "";
  const before = box.kind === "add_norm" ? word("behind", { name: word(SUBLAYERS[path.split(".").at(-1)]) }) : side && word(side);
  return [word(kind), before, box.stack && word(box.stack), box.stack && layerText(box)].filter(Boolean).join(", ");
}

function layerText(box) {
  const count = Object.values(lesson().boxes).filter((other) => other.stack === box.stack).reduce((most, other) => Math.max(most, other.layer + 1), 0);
  return word("layer", { number: box.layer + 1, count });
}
