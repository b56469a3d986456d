// A box opened: its equation, its numbers forward, and backward its rules and cotangents.

const queriesOf = (path) => (path.startsWith("encoder") ? lesson().source : lesson().target_in);
const keysOf = (path) => (path.startsWith("encoder") || path.endsWith("cross_attention") ? lesson().source : lesson().target_in);
const wordsOf = (path) => (path.startsWith("source") || path.startsWith("encoder") ? lesson().source : lesson().target_in);
const outputOf = (path) => (path === "output" ? "logits" : `${path}.out`);

function showBox() {
  const box = lesson().boxes[state.box];
  const kind = box.kind === "masked" ? "attention" : box.kind; // which look alike
  const article = byId("box");
  article.replaceChildren(where(box), element("h2", {}, title(box)), element("p", { class: "quiet" }, word(`${nameOf(box)}-for`)));
  const choice = choices(box);
  if (choice) article.append(choice);
  const { forward, backward } = data.equations[box.equation];
  article.append(element("h3", {}, word("forward-numbers")), element("p", { class: "equation" }, ...formula(forward)));
  article.append(...VIEWS[kind].forward(state.box, box));
  if (state.direction === "backward") {
    const line = element("p", { class: "equation" });
    for (const rule of backward) line.append(element("span", {}, ...formula(rule)), " ");
    article.append(element("h3", {}, word("backward-numbers")), line, ...VIEWS[kind].backward(state.box, box));
  }
  article.append(element("div", { class: "told", id: "told", "aria-live": "polite" }, element("p", { class: "quiet" }, word(picking(box)))));
}

function picking(box) {
  if (state.direction === "forward") return "pick-forward";
  return Object.values(box.tensors).some((name) => nudgesOf(name).length) ? "pick-nudge" : "pick-backward";
}

// A formula as text and subscripts: d_k.
const formula = (text) => text.split(/_(\w)/).map((part, place) => (place % 2 ? element("sub", {}, part) : part));
const nameOf = (box) => (state.box.endsWith("cross_attention") ? "cross" : box.kind);
const title = (box) => word(nameOf(box));

function where(box) {
  const parts = [box.stack && word(box.stack), box.stack && layerText(box), state.box].filter(Boolean);
  return element("p", { class: "where" }, parts.join(" / "));
}

// Which layer, and of an attention which head.
function choices(box) {
  const line = element("div", { class: "choice", role: "group", "aria-label": word("which") });
  if (box.stack) {
    const paths = Object.keys(lesson().boxes).filter((path) => path.replace(/\d+/, "") === state.box.replace(/\d+/, ""));
    for (const path of paths) line.append(choice(layerText(lesson().boxes[path]), path === state.box, () => goTo(path)));
  }
  if (box.tensors.pattern) {
    for (let head = 0; head < lesson().heads; head++) {
      const text = word("head", { number: head + 1, count: lesson().heads });
      line.append(choice(text, head === state.head, () => change({ head })));
    }
  }
  return line.children.length ? line : null;
}

function choice(text, on, act) {
  const made = element("button", { type: "button", "aria-pressed": on }, text);
  made.addEventListener("click", act);
  return made;
}

function maps(...figures) {
  return element("div", { class: figures.length === 6 ? "maps six" : "maps" }, ...figures);
}

// One tensor's numbers, forward or its gradient.
function tensor(name, label, rowWords, { note = "", columnWords = null, hidden = null, what = "data", pickable = true } = {}) {
  const m = matrix(name, what);
  const pick = pickable ? (row, column) => tell(name, row, column, rowWords, columnWords) : null;
  return heat({ title: label, note, matrix: m, rowWords, columnWords, hidden, pick });
}

const VIEWS = {
  embedding: {
    forward: (path) => [maps(tensor(outputOf(path), "x", wordsOf(path)))],
    backward: (path) => [
      maps(tensor(outputOf(path), "dx", wordsOf(path), { what: "gradient" })),
      element("p", { class: "quiet" }, word("adds-rows")),
    ],
  },
  position: {
    forward: (path, box) => [maps(
      tensor(outputOf(box.inputs[0]), "embedding", wordsOf(path), { pickable: false }),
      positions(path, box),
      tensor(outputOf(path), "x", wordsOf(path)),
    )],
    backward: (path) => [
      maps(tensor(outputOf(path), "dx", wordsOf(path), { what: "gradient" })),
      element("p", { class: "quiet" }, word("copies")),
    ],
  },
  attention: {
    forward: (path, box) => {
      const [rows, columns] = [queriesOf(path), keysOf(path)];
      return [maps(
        tensor(`${path}.q`, "Q", rows), tensor(`${path}.k`, "K", columns),
        tensor(`${path}.scores`, "S", rows, { columnWords: columns, hidden: box.hidden }),
        tensor(`${path}.pattern`, "P", rows, { columnWords: columns, hidden: box.hidden, note: word("rows-to-one") }),
        tensor(`${path}.v`, "V", columns), tensor(`${path}.z`, "Z", rows),
      )];
    },
    backward: (path, box) => {
      const [rows, columns, what] = [queriesOf(path), keysOf(path), "gradient"];
      const found = [maps(
        tensor(`${path}.q`, "dQ", rows, { what }), tensor(`${path}.k`, "dK", columns, { what }),
        tensor(`${path}.scores`, "dS", rows, { columnWords: columns, hidden: box.hidden, what, note: word("rows-to-zero", { value: number(box.row_sum, 2) }) }),
        tensor(`${path}.pattern`, "dP", rows, { columnWords: columns, hidden: box.hidden, what }),
        tensor(`${path}.v`, "dV", columns, { what }), tensor(`${path}.z`, "dZ", rows, { what }),
      )];
      if (box.hidden) found.push(element("p", { class: "quiet" }, word(box.masked_zero ? "masked-zero" : "masked-not-zero", { count: box.masked })));
      return found;
    },
  },
  add_norm: {
    forward: (path, box) => [maps(
      tensor(outputOf(residual(box)), word("residual-in"), wordsOf(path), { pickable: false }),
      tensor(outputOf(sublayer(box)), word("sublayer-in"), wordsOf(path), { pickable: false }),
      tensor(`${path}.sum`, "s", wordsOf(path)),
      tensor(`${path}.out`, "out", wordsOf(path)),
    )],
    backward: (path) => [
      maps(
        tensor(`${path}.sum`, "ds", wordsOf(path), { what: "gradient" }),
        tensor(`${path}.out`, "d out", wordsOf(path), { what: "gradient" }),
      ),
      element("p", { class: "quiet" }, word("both-get")),
    ],
  },
  feed_forward: {
    forward: (path) => [
      maps(...["inner", "hidden", "out"].map((name) => tensor(`${path}.${name}`, name, wordsOf(path)))),
      element("p", { class: "quiet" }, word("shut", { share: shut(path) })),
    ],
    backward: (path) => [maps(...["inner", "hidden", "out"].map((name) => tensor(`${path}.${name}`, `d ${name}`, wordsOf(path), { what: "gradient" })))],
  },
  linear: {
    forward: () => [maps(tensor("logits", "logits", lesson().target_in))],
    backward: (path, box) => [maps(
      tensor(outputOf(box.inputs[0]), "dx", lesson().target_in, { what: "gradient" }),
      tensor("logits", "d logits", lesson().target_in, { what: "gradient" }),
    )],
  },
  softmax: {
    forward: () => [likeliest()],
    backward: () => [maps(tensor("logits", "d logits", lesson().target_in, { what: "gradient" }))],
  },
};

const residual = (box) => box.inputs.find((path) => !state.box.startsWith(path) || path.endsWith("norm"));
const sublayer = (box) => box.inputs.find((path) => path !== residual(box));

function positions(path, box) {
  const [sum, vectors] = [matrix(outputOf(path)), matrix(outputOf(box.inputs[0]))];
  const values = sum.values.map((value, place) => value - vectors.values[place]);
  return heat({ title: "PE", matrix: { ...sum, values }, rowWords: wordsOf(path) });
}

function shut(path) {
  const values = array(`${path}.hidden`);
  return `${Math.round((100 * values.filter((value) => value === 0).length) / values.length)}%`;
}

// On top: for each word to be written p, y and p − y of the likeliest words and the right one.
function likeliest() {
  const m = matrix("probabilities");
  const gradient = matrix("logits", "gradient");
  const table = element("table");
  table.innerHTML = `<thead><tr><th></th>${[word("probability"), word("wanted"), word("p-minus-y")].map((text) => `<th>${escaped(text)}</th>`).join("")}</tr></thead>`;
  const body = table.createTBody();
  lesson().target_ids.forEach((right, row) => {
    const order = [...Array(m.columns).keys()].sort((a, b) => at(m, row, b) - at(m, row, a)).slice(0, 3);
    if (!order.includes(right)) order.push(right);
    for (const id of order) {
      const line = body.insertRow();
      line.append(element("th", { scope: "row" }, `${word("after", { word: lesson().target_in[row] })}: ${token(id)}`));
      for (const text of [number(at(m, row, id)), id === right ? "1" : "0", number(at(gradient, row, id))]) line.append(element("td", {}, text));
    }
  });
  return element("div", { class: "scroll" }, table);
}

const token = (id) => lesson().vocabulary[id];
