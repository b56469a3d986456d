// The ledger, the witnesses, and how the sentence was written.

function bars(entries, direction = "") {
  const greatest = Math.max(...entries.map(([, value]) => value), 0) || 1;
  const list = element("div", { class: `bars ${direction}` });
  for (const [name, value, text] of entries) {
    const bar = element("b", { style: `width:${(100 * value) / greatest}%` });
    list.append(element("span", {}, name), element("i", { "aria-hidden": "true" }, bar), element("span", {}, text));
  }
  return list;
}

function showLedger() {
  const { entries, norm, difference } = lesson().boxes[state.box].ledger;
  const rows = entries.map((entry) => [entry.name[data.languages.indexOf(state.language)], entry.norm, number(entry.norm)]);
  const sum = word("ledger-sum", { count: entries.length, norm: number(norm), difference: number(difference, 2) });
  byId("ledger").replaceChildren(element("h2", {}, word("ledger")), bars(rows, "down"), element("p", { class: "quiet" }, sum));
}

function showWitnesses() {
  const table = element("table");
  const heads = [word("tensor"), word("tape"), word("hand"), word("difference")];
  table.innerHTML = `<thead><tr>${heads.map((text) => `<th scope="col">${escaped(text)}</th>`).join("")}</tr></thead>`;
  const body = table.createTBody();
  for (const { tensor: name, norm, hand, difference } of lesson().boxes[state.box].witnesses) {
    const line = body.insertRow();
    line.append(element("th", { scope: "row" }, name.startsWith(`${state.box}.`) ? name.slice(state.box.length + 1) : name));
    for (const value of [number(norm, 4), number(hand, 1), number(difference, 1)]) line.append(element("td", {}, value));
  }
  byId("witnesses").replaceChildren(
    element("h2", {}, word("witnesses")), element("div", { class: "scroll" }, table), element("p", { class: "quiet" }, word("witnesses-note")),
  );
}

function showWriting() {
  const steps = element("div", { class: "steps" });
  lesson().writing.forEach((step, row) => {
    const rows = [...step.likeliest, [word("other"), step.other]].map(([text, share]) => [text, share, `${(100 * share).toFixed(1)}%`]);
    const list = bars(rows);
    list.querySelectorAll("b").forEach((bar, index) => { bar.style.width = `${100 * rows[index][1]}%`; });
    steps.append(element("div", {}, element("p", { class: "quiet" }, word("after", { word: step.after })), list, looks(row)));
  });
  byId("writing").replaceChildren(element("h2", {}, word("writing")), element("p", { class: "quiet" }, word("writing-note")), steps);
}

// Which source words a step looks at: the last layer's pattern, its heads averaged.
function looks(row) {
  const path = Object.keys(lesson().boxes).filter((name) => name.endsWith("cross_attention")).at(-1);
  const { shape } = lesson().arrays[`${path}.pattern`], values = array(`${path}.pattern`);
  const line = element("p", { class: "looks" }, word("looks-at"), " ");
  lesson().source.forEach((text, column) => {
    const weights = range(shape[0]).map((head) => values[(head * shape[1] + row) * shape[2] + column]);
    const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
    const shade = level(mean, 1);
    line.append(element("span", { class: `h${shade}${shade === 8 ? " strong" : ""}`, title: number(mean) }, text), " ");
  });
  return line;
}
