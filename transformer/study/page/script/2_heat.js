// Heat maps: SVG, a cell a number; hover and the arrow keys read cells, a click or Enter picks one.

const wide = (text) => [...text].reduce((sum, sign) => sum + (sign.charCodeAt(0) > 0x2e80 ? 12 : 6.6), 0);

function level(value, greatest) {
  return greatest > 0 ? Math.round((value / greatest + 1) * 4) : 4;
}

// told: {title, note, matrix, rowWords, columnWords (or null: numbered), hidden (or null), pick(row, column)}
function heat({ title, note = "", matrix: m, rowWords, columnWords = null, hidden = null, pick = null }) {
  const numbered = m.columns <= 12 && columnWords !== null;
  const width = numbered ? 46 : m.columns <= 24 ? 16 : m.columns <= 70 ? 7 : Math.max(2, 520 / m.columns);
  const height = numbered ? 27 : 17;
  const left = Math.max(...rowWords.map(wide), 8) + 8;
  const longest = Math.max(0, ...(columnWords || []).map(wide));
  const turned = longest > width - 2; // then words stand upwards
  const top = !columnWords ? 3 : turned ? longest + 8 : 18;
  let greatest = 0;
  m.values.forEach((value, place) => {
    if (!hidden || !hidden[Math.floor(place / m.columns)][place % m.columns]) greatest = Math.max(greatest, Math.abs(value));
  });
  const unit = unitOf(greatest);
  if (numbered && unit !== 1) note = [note, word("unit", { unit: power(unit) })].filter(Boolean).join(", ");
  const parts = [];
  rowWords.forEach((text, row) => {
    parts.push(`<text x="${left - 6}" y="${top + (row + 0.5) * height + 4}" text-anchor="end">${escaped(text)}</text>`);
  });
  (columnWords || []).forEach((text, column) => {
    const x = left + (column + 0.5) * width;
    const place = turned ? `transform="translate(${x + 4} ${top - 4}) rotate(-90)"` : `x="${x}" y="12" text-anchor="middle"`;
    parts.push(`<text ${place}>${escaped(text)}</text>`);
  });
  for (let row = 0; row < m.rows; row++) {
    for (let column = 0; column < m.columns; column++) {
      const x = left + column * width, y = top + row * height;
      const masked = hidden && hidden[row][column];
      const shade = level(at(m, row, column), greatest);
      const fill = masked ? 'fill="url(#hatch)"' : "";
      parts.push(`<rect class="cell h${masked ? "atch" : shade}" ${fill} x="${x}" y="${y}" width="${width}" height="${height}" data-row="${row}" data-column="${column}"/>`);
      if (numbered && !masked) {
        const strong = shade === 0 || shade === 8 ? " strong" : "";
        parts.push(`<text class="number${strong}" x="${x + width / 2}" y="${y + height / 2 + 4}" text-anchor="middle" pointer-events="none">${short(at(m, row, column), unit)}</text>`);
      }
    }
  }
  const [w, h] = [left + m.columns * width + 2, top + m.rows * height + 2];
  const figure = element("figure", { class: "map" });
  figure.innerHTML = `<figcaption><b>${escaped(title)}</b> <span>(${m.rows}, ${m.columns}) ${escaped(note)}</span></figcaption>
<svg viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" tabindex="0" role="application" aria-label="${escaped(`${title}, ${m.rows} × ${m.columns}`)}">
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="var(--panel)"/><line x1="0" y1="0" x2="0" y2="6" stroke="var(--quiet)" stroke-width="1.2"/></pattern></defs>
${parts.join("")}</svg>`;
  bind(figure.querySelector("svg"), m, rowWords, columnWords, title, pick);
  return figure;
}

// The number in a cell, in the matrix's unit.
function short(value, unit) {
  const text = (value / unit).toFixed(unit === 1 ? 2 : 1);
  return (/^-?0\.?0*$/.test(text) ? text.replace("-", "") : text).replace("-", "−");
}

// 1, or the power of ten of the greatest number where all are small.
function unitOf(greatest) {
  return greatest >= 0.095 || greatest === 0 ? 1 : 10 ** Math.floor(Math.log10(greatest));
}
const power = (unit) => `10${[...String(Math.round(Math.log10(unit)))].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("")}`;

function bind(svg, m, rowWords, columnWords, title, pick) {
  const cells = [...svg.querySelectorAll("rect.cell")];
  let place = 0;
  const say = () => {
    const row = Math.floor(place / m.columns), column = place % m.columns;
    const where = { name: title, row: rowWords[row], column: columnWords ? columnWords[column] : column };
    byId("readout").textContent = word("cell", { ...where, value: number(m.values[place], 4) });
  };
  const choose = () => {
    if (!pick) return;
    document.querySelectorAll("rect.picked").forEach((cell) => cell.classList.remove("picked"));
    cells[place].classList.add("picked");
    pick(Math.floor(place / m.columns), place % m.columns);
  };
  const goTo = (where) => {
    if (where < 0 || where >= cells.length) return;
    place = where;
    say();
    choose();
  };
  cells.forEach((cell, index) => {
    const row = rowWords[Math.floor(index / m.columns)];
    const column = columnWords ? columnWords[index % m.columns] : index % m.columns;
    cell.append(document.createElementNS("http://www.w3.org/2000/svg", "title"));
    cell.firstChild.textContent = `${title}[${row}, ${column}] = ${number(m.values[index], 4)}`;
    cell.addEventListener("click", () => {
      place = index;
      say();
      choose();
    });
  });
  svg.addEventListener("keydown", (event) => {
    const start = place - (place % m.columns);
    const where = {
      ArrowLeft: place - 1, ArrowRight: place + 1, ArrowUp: place - m.columns, ArrowDown: place + m.columns,
      Home: start, End: start + m.columns - 1, Enter: place, " ": place,
    }[event.key];
    if (where === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    goTo(where);
  });
}
