"use strict";
// Shows one picture at a time. A name is a picture's: "" the first, "." the overview, else a module's path. The address
// (#name) is the state, so that the browser's own Back and Forward work, and a picture can be linked to.

const pictures = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage");
const details = document.getElementById("details");
const outline = document.querySelector("#outline div");
const query = document.getElementById("query");
const hits = document.getElementById("hits");
const count = document.getElementById("count");
const FIRST = "", OVERVIEW = ".";
const LABELS = {
  path: "module", operation: "operation", operations: "operations", formula: "formula", shape: "shape",
  value: "value", gradient: "gradient", saved: "kept for backward", source: "made at",
};
const MOST_HITS = 40;
let shown = null; // the name of the picture that is shown
let zoom = 0; // 0: as wide as it is drawn, at most as the stage
let wanted = null; // the id of a box to go to once its picture is shown

const named = () => {
  let name = location.hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch {
    return FIRST; // typed by hand: a lone % is no address
  }
  return Object.hasOwn(pictures, name) ? name : FIRST; // `in` would find "toString"
};
const go = (name, id = null) => {
  wanted = id;
  if (name === shown) arrive();
  else location.hash = encodeURIComponent(name);
};
const element = (tag, text = "", attributes = {}) => {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const button = (text, act) => {
  const made = element("button", text, { type: "button" });
  made.addEventListener("click", act);
  return made;
};

function show(name) {
  shown = name;
  const picture = pictures[name];
  stage.innerHTML = picture.svg; // made by the drawing itself, every text in it escaped
  const svg = stage.querySelector("svg");
  svg.setAttribute("role", "group"); // an image would hide the boxes in it from a screen reader
  for (const title of svg.querySelectorAll("g > title")) title.remove(); // the panel tells it
  for (const box of svg.querySelectorAll("g.node")) {
    if (box.id in picture.details) prepare(box, picture.opens[box.id], "open"); // the others are words of the picture
  }
  for (const [id, target] of Object.entries(picture.closes)) {
    const label = svg.getElementById(`${id}-label`);
    if (label) prepare(label, target, "fold");
    const frame = svg.getElementById(id); // its empty ground folds too; the label is for the keyboard
    if (frame) {
      frame.dataset.target = target;
      frame.addEventListener("click", () => go(target));
    }
  }
  resize();
  crumbs(name);
  listBoxes(picture);
  tell(null);
  mark();
  arrive();
}

function prepare(box, target, what) {
  const picture = pictures[shown];
  const about = picture.details[box.id] || { title: box.textContent.trim() };
  box.setAttribute("tabindex", "0");
  box.setAttribute("role", target === undefined ? "img" : "button");
  const words = [about.path && about.path !== about.title ? `${about.title}, in ${about.path}` : about.title, about.shape];
  if (target !== undefined) {
    box.dataset.target = target;
    words.push(`${what} it`);
    box.addEventListener("click", () => go(target));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      go(target);
    });
  }
  box.setAttribute("aria-label", words.filter(Boolean).join("; "));
  if (box.id in picture.details) {
    box.addEventListener("pointerenter", () => tell(box.id));
    box.addEventListener("focus", () => tell(box.id));
  }
}

function tell(id) {
  // Beside the picture, never over the box that is pointed at.
  details.replaceChildren();
  const picture = pictures[shown];
  const about = id === null ? null : picture.details[id];
  if (!about) {
    details.append(element("p", "Point at a box, or reach it by Tab, to read about it."));
    return;
  }
  details.append(element("h2", about.title));
  const list = element("dl");
  for (const [key, label] of Object.entries(LABELS)) {
    if (!(key in about)) continue;
    const value = element("dd");
    value.append(said(about[key]));
    list.append(element("dt", label), value);
  }
  details.append(list);
  if (id in picture.opens) {
    const open = button("open this module", () => go(picture.opens[id]));
    open.className = "go";
    details.append(open);
  }
}

function said(value) {
  if (!Array.isArray(value)) return document.createTextNode(String(value));
  if (!Array.isArray(value[0])) return document.createTextNode(value.join(", "));
  const table = element("table");
  for (const numbers of value) {
    const row = table.insertRow();
    for (const number of numbers) row.insertCell().textContent = number;
  }
  return table;
}

function crumbs(name) {
  const trail = [[FIRST, "start"]];
  if (OVERVIEW in pictures && OVERVIEW !== FIRST) trail.push([OVERVIEW, "overview"]);
  const parts = name === FIRST || name === OVERVIEW ? [] : name.split(".");
  let last = "";
  for (let end = 1; end <= parts.length; end++) {
    const path = parts.slice(0, end).join(".");
    if (Object.hasOwn(pictures, path)) {
      trail.push([path, last ? path.slice(last.length + 1) : path]);
      last = path;
    }
  }
  const items = trail.map(([target, text]) => {
    const item = element("li");
    const link = button(text, () => go(target));
    if (target === name) link.setAttribute("aria-current", "page");
    item.append(link);
    return item;
  });
  document.getElementById("crumbs").replaceChildren(...items);
}

function listBoxes(picture) {
  // A list by modules: what a screen reader reads in place of the picture.
  const root = element("ul");
  const lists = new Map([["", root]]);
  const within = (path) => {
    if (lists.has(path)) return lists.get(path);
    const cut = path.lastIndexOf(".");
    const item = element("li", path.slice(cut + 1));
    const list = element("ul");
    item.append(list);
    within(cut < 0 ? "" : path.slice(0, cut)).append(item);
    lists.set(path, list);
    return list;
  };
  for (const [id, about] of Object.entries(picture.details)) {
    const item = element("li");
    item.append(button(about.title, () => focusOn(id)));
    const path = about.path || "";
    within(id in picture.opens ? path.slice(0, Math.max(path.lastIndexOf("."), 0)) : path).append(item);
  }
  outline.replaceChildren(root);
}

function focusOn(id) {
  const box = stage.querySelector(`#${CSS.escape(id)}`);
  if (!box) return;
  box.focus({ preventScroll: true });
  box.scrollIntoView({ block: "center", inline: "center" });
}

function arrive() {
  if (wanted !== null) {
    focusOn(wanted);
    hits.hidden = true;
  } else {
    stage.scrollTo(0, 0);
  }
  wanted = null;
}

// Search: over all pictures; of a box that is in several, the one that is shown comes first.
function matches(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Map();
  if (!words.length) return [];
  for (const name of [shown, ...Object.keys(pictures).filter((other) => other !== shown)]) {
    for (const [id, about] of Object.entries(pictures[name].details)) {
      const told = [about.title, about.path, about.operation, about.formula].filter(Boolean).join(" ").toLowerCase();
      const key = [about.path, about.title, about.operation, about.shape].join("|");
      if (words.every((word) => told.includes(word)) && (name === shown || !found.has(key))) {
        found.set(name === shown ? `${key}|${id}` : key, { name, id, about });
        if (name === shown) found.set(key, found.get(`${key}|${id}`));
      }
    }
  }
  return [...new Set(found.values())];
}

function mark() {
  const found = matches(query.value);
  for (const box of stage.querySelectorAll(".found")) box.classList.remove("found");
  for (const { name, id } of found) {
    if (name === shown) stage.querySelector(`#${CSS.escape(id)}`)?.classList.add("found");
  }
  count.textContent = query.value.trim() ? `${found.length} found` : "";
  const items = found.slice(0, MOST_HITS).map(({ name, id, about }) => {
    const item = element("li");
    const link = button(about.title, () => {
      hits.hidden = true;
      go(name, id);
    });
    if (about.path) link.append(" ", element("small", about.path));
    item.append(link);
    return item;
  });
  hits.replaceChildren(...items);
  hits.hidden = !items.length || document.activeElement !== query;
  return found;
}

let turn = 0;
let round = []; // what Enter goes through: fixed while the words are, since `matches` begins with the picture shown
query.addEventListener("input", () => {
  turn = 0;
  round = mark();
});
query.addEventListener("focus", mark);
query.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    query.value = "";
    round = mark();
  } else if (event.key === "Enter") {
    if (!round.length) return;
    const { name, id } = round[turn++ % round.length];
    hits.hidden = true;
    go(name, id);
  } else if (event.key === "ArrowDown" && !hits.hidden) {
    event.preventDefault();
    hits.querySelector("button").focus();
  }
});
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".search")) hits.hidden = true;
});

function resize() {
  const svg = stage.querySelector("svg");
  const own = svg.viewBox.baseVal.width * 4 / 3;
  svg.style.maxWidth = zoom ? "none" : "100%";
  svg.style.width = `${own * (zoom || 1)}px`;
}
const scaled = (factor) => {
  const svg = stage.querySelector("svg");
  const now = svg.getBoundingClientRect().width / (svg.viewBox.baseVal.width * 4 / 3);
  zoom = Math.min(Math.max((zoom || now) * factor, 0.1), 8);
  resize();
};
document.getElementById("smaller").addEventListener("click", () => scaled(1 / 1.25));
document.getElementById("bigger").addEventListener("click", () => scaled(1.25));
document.getElementById("fit").addEventListener("click", () => {
  zoom = 0;
  resize();
});
stage.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  scaled(event.deltaY < 0 ? 1.1 : 1 / 1.1);
}, { passive: false });
document.addEventListener("keydown", (event) => {
  if (event.target === query || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    query.focus();
  } else if (event.key === "+") scaled(1.25);
  else if (event.key === "-") scaled(1 / 1.25);
  else if (event.key === "0") document.getElementById("fit").click();
});

window.addEventListener("hashchange", () => show(named()));
show(named());
