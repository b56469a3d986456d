// One cell told: its number, its gradient, the rule with this cell's numbers put in, and what nudging it does.

function tell(name, row, column, rowWords, columnWords) {
  const role = name.split(".").at(-1);
  const symbol = { q: "Q", k: "K", v: "V", scores: "S", pattern: "P", z: "Z", sum: "s", logits: "logits" }[role] || role;
  const place = { row: rowWords[row], column: columnWords ? columnWords[column] : column };
  const told = byId("told");
  const value = at(matrix(name), row, column), gradient = at(matrix(name, "gradient"), row, column);
  told.replaceChildren(element("p", {}, word("cell", { name: symbol, ...place, value: number(value, 4) })));
  if (state.direction !== "backward") return;
  told.append(element("p", {}, word("gradient-cell", { name: symbol.length > 1 ? `d ${symbol}` : `d${symbol}`, ...place, value: number(gradient, 4) })));
  const rule = ruleOf(role)?.(name.slice(0, -role.length - 1), row, column);
  if (rule) told.append(element("p", { class: "quiet" }, word("rule")), element("p", { class: "formula" }, rule));
  for (const by of nudgesOf(name)) {
    const moved = at(matrix(name, by), row, column);
    const numbers = { by: `+${by}`, foretold: number(gradient * Number(by), 4), measured: number(moved, 4) };
    told.append(element("p", { class: "nudge" }, word("nudge", { name: symbol, ...numbers })));
  }
}

const nudgesOf = (name) => Object.keys(lesson().arrays[name].nudged).sort((one, other) => one - other);

// An output's gradient is what flows into it, but for what goes into the linear map, where that map's rule is the point.
function ruleOf(role) {
  const box = lesson().boxes[state.box];
  if (box.kind === "linear") return role === "out" ? RULES.intoLinear : RULES.contributions;
  if (role === "logits" && box.kind === "softmax") return RULES.logits;
  return role === "out" ? RULES.contributions : RULES[role];
}

// A sum of products as text: three terms, dots, and what it comes to.
function products(symbols, pairs, divisor = 1, divided = "") {
  const terms = pairs.slice(0, 3).map(([a, b]) => `${signed(a)} · ${signed(b)}`);
  const total = pairs.reduce((sum, [a, b]) => sum + a * b, 0) / divisor;
  const more = pairs.length > 3 ? ` + … (${pairs.length})` : "";
  const inside = `${terms.join(" + ")}${more}`;
  return `${symbols} = ${divided ? `(${inside})${divided}` : inside} = ${number(total, 4)}`;
}
const signed = (value) => (value < 0 ? `(${number(value)})` : number(value));
const weightOf = (name) => {
  const stored = data.weights[name];
  return { columns: stored.shape[1], values: decode(stored, "data") };
};
const range = (count) => [...Array(count).keys()];

const RULES = {
  scores: (path, t, k) => {
    const [p, dp] = [matrix(`${path}.pattern`), matrix(`${path}.pattern`, "gradient")];
    const mean = range(p.columns).reduce((sum, j) => sum + at(dp, t, j) * at(p, t, j), 0);
    const result = at(p, t, k) * (at(dp, t, k) - mean);
    return `P · (dP − Σ dP·P) = ${number(at(p, t, k))} · (${signed(at(dp, t, k))} − ${signed(mean)}) = ${number(result, 4)}`;
  },
  pattern: (path, t, k) => {
    const [dz, v] = [matrix(`${path}.z`, "gradient"), matrix(`${path}.v`)];
    return products("Σ dZ · V", range(dz.columns).map((c) => [at(dz, t, c), at(v, k, c)]));
  },
  q: (path, t, c) => {
    const [ds, k] = [matrix(`${path}.scores`, "gradient"), matrix(`${path}.k`)];
    return products("Σ dS · K / √d", range(ds.columns).map((j) => [at(ds, t, j), at(k, j, c)]), Math.sqrt(k.columns), ` / √${k.columns}`);
  },
  k: (path, j, c) => {
    const [ds, q] = [matrix(`${path}.scores`, "gradient"), matrix(`${path}.q`)];
    return products("Σ dS · Q / √d", range(ds.rows).map((t) => [at(ds, t, j), at(q, t, c)]), Math.sqrt(q.columns), ` / √${q.columns}`);
  },
  v: (path, j, c) => {
    const [p, dz] = [matrix(`${path}.pattern`), matrix(`${path}.z`, "gradient")];
    return products("Σ P · dZ", range(p.rows).map((t) => [at(p, t, j), at(dz, t, c)]));
  },
  sum: (path, t, c) => {
    const [s, dout, gain] = [matrix(`${path}.sum`), matrix(`${path}.out`, "gradient"), array(`${path}.gain`)];
    const width = s.columns, columns = range(width);
    const mean = columns.reduce((sum, j) => sum + at(s, t, j), 0) / width;
    const sigma = Math.sqrt(columns.reduce((sum, j) => sum + (at(s, t, j) - mean) ** 2, 0) / width + data.eps);
    const xhat = (j) => (at(s, t, j) - mean) / sigma, g = (j) => gain[j] * at(dout, t, j);
    const one = columns.reduce((sum, j) => sum + g(j), 0) / width;
    const two = columns.reduce((sum, j) => sum + g(j) * xhat(j), 0) / width;
    const result = (g(c) - one - xhat(c) * two) / sigma;
    return `(g − mean(g) − x̂ · mean(g·x̂)) / σ = (${signed(g(c))} − ${signed(one)} − ${signed(xhat(c))} · ${signed(two)}) / ${number(sigma)} = ${number(result, 4)}`;
  },
  z: (path, t, c) => {
    const [dout, weight] = [matrix(`${path}.out`, "gradient"), weightOf(`${path}.output.weight`)];
    const row = state.head * matrix(`${path}.z`).columns + c;
    return products("Σ d out · W_O", range(dout.columns).map((j) => [at(dout, t, j), at(weight, row, j)]));
  },
  hidden: (path, t, c) => {
    const [dout, weight] = [matrix(`${path}.out`, "gradient"), weightOf(`${path}.outer.weight`)];
    return products("Σ d out · W₂", range(dout.columns).map((j) => [at(dout, t, j), at(weight, c, j)]));
  },
  intoLinear: (_, t, c) => {
    const [dlogits, weight] = [matrix("logits", "gradient"), weightOf("output.weight")];
    return products("Σ d logits · W", range(dlogits.columns).map((j) => [at(dlogits, t, j), at(weight, c, j)]));
  },
  contributions: (_, t, c) => {
    const { entries } = lesson().boxes[state.box].ledger;
    const columns = entries[0].value.shape.at(-1);
    const parts = entries.map((entry) => [entry.name[data.languages.indexOf(state.language)], decode(entry.value, "data")[t * columns + c]]);
    const total = parts.reduce((sum, [, value]) => sum + value, 0);
    return `${parts.map(([name, value]) => `${name} ${signed(value)}`).join(" + ")} = ${number(total, 4)}`;
  },
  inner: (path, t, c) => {
    const [inner, dhidden] = [at(matrix(`${path}.inner`), t, c), at(matrix(`${path}.hidden`, "gradient"), t, c)];
    return `d hidden · [inner > 0] = ${signed(dhidden)} · ${inner > 0 ? 1 : 0} = ${number(inner > 0 ? dhidden : 0, 4)}`;
  },
  logits: (_, t, id) => {
    const p = at(matrix("probabilities"), t, id), y = lesson().target_ids[t] === id ? 1 : 0, count = lesson().target_ids.length;
    return `${token(id)}: (p − y) / T = (${number(p)} − ${y}) / ${count} = ${number((p - y) / count, 4)}`;
  },
};
