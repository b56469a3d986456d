"use strict";
// The data, its words in the language that is on, numbers as text, and elements.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const state = { sentence: 0, box: null, direction: "backward", head: 0, language: "en", pick: null };
const lesson = () => data.lessons[state.sentence];

function word(key, fill = {}) {
  const text = data.words[key][data.languages.indexOf(state.language)];
  return text.replace(/\{(\w+)\}/g, (_, name) => String(fill[name]));
}
const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

function number(value, digits = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size < 1e-3 || size >= 1e5 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  return text.replaceAll("-", "−");
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Arrays come as base64 of floats; each is decoded once. What a ReLU lets through, and its gradient, follow from each other.
const decoded = new WeakMap();
function array(name, what = "data") {
  const stored = name === "probabilities" ? lesson().probabilities : lesson().arrays[name];
  if (!decoded.has(stored)) decoded.set(stored, new Map());
  const known = decoded.get(stored);
  if (!known.has(what)) known.set(what, relu(name, what) || decode(stored, what));
  return known.get(what);
}

function decode(stored, what) {
  const text = what in stored ? stored[what] : stored.nudged[what]; // "0.01": what the loss did
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new (stored.kind === "f8" ? Float64Array : Float32Array)(bytes.buffer);
}

function relu(name, what) {
  if (name.endsWith(".hidden") && what === "data") return array(name.replace(/hidden$/, "inner")).map((value) => Math.max(value, 0));
  if (!name.endsWith(".inner") || what !== "gradient") return null;
  const inner = array(name);
  return array(name.replace(/inner$/, "hidden"), what).map((value, place) => (inner[place] > 0 ? value : 0));
}

// A matrix: rows of numbers; of a tensor with heads, that of the head that is on.
function matrix(name, what = "data") {
  const shape = (name === "probabilities" ? lesson().probabilities : lesson().arrays[name]).shape;
  const [rows, columns] = shape.slice(-2);
  const start = shape.length === 3 ? state.head * rows * columns : 0;
  return { name, rows, columns, values: array(name, what).subarray(start, start + rows * columns) };
}
const at = (m, row, column) => m.values[row * m.columns + column];
