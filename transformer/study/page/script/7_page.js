// Where we are: the address holds it, so that a page can be linked to at any step, and Back goes back.

const order = () => (state.direction === "forward" ? lesson().order : [...lesson().order].reverse());
const DIRECTIONS = ["forward", "backward"];

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const whole = (name, count) => {
    const value = Number(given.get(name));
    return Number.isInteger(value) && value >= 0 && value < count ? value : 0;
  };
  state.sentence = whole("sentence", data.lessons.length);
  state.head = whole("head", lesson().heads);
  state.direction = DIRECTIONS.includes(given.get("direction")) ? given.get("direction") : "backward";
  if (data.languages.includes(given.get("language"))) state.language = given.get("language");
  const last = lesson().order.filter((path) => path.endsWith("cross_attention")).at(-1);
  state.box = Object.hasOwn(lesson().boxes, given.get("box")) ? given.get("box") : last;
}

function change(what) {
  Object.assign(state, what);
  const { sentence, box, direction, head, language } = state;
  const target = `#${new URLSearchParams({ sentence, box, direction, head, language })}`;
  if (location.hash === target) show();
  else location.hash = target; // the browser then says hashchange
}
const goTo = (box) => change({ box });

function step(by) {
  const place = order().indexOf(state.box) + by;
  if (place >= 0 && place < order().length) goTo(order()[place]);
  return place + by >= 0 && place + by < order().length;
}

function show() {
  const box = lesson().boxes[state.box];
  if (box.stack) layers[box.stack] = box.layer;
  document.documentElement.lang = state.language;
  document.documentElement.dataset.language = state.language;
  for (const made of document.querySelectorAll("[data-word]")) made.textContent = word(made.dataset.word);
  for (const made of document.querySelectorAll("[data-label]")) made.setAttribute("aria-label", word(made.dataset.label));
  byId("language").lang = data.languages.find((language) => language !== state.language);
  byId("sentence").value = state.sentence;
  for (const direction of DIRECTIONS) byId(direction).setAttribute("aria-pressed", direction === state.direction);
  const place = order().indexOf(state.box);
  byId("step").textContent = word("step", { number: place + 1, count: order().length });
  for (const id of ["first", "previous"]) byId(id).setAttribute("aria-disabled", place === 0); // it may have the focus
  for (const id of ["last", "next"]) byId(id).setAttribute("aria-disabled", place === order().length - 1);
  byId("play").textContent = word(timer ? "pause" : "play");
  byId("loss").textContent = number(lesson().loss, 4);
  byId("about").textContent = word("about", { parameters: lesson().parameters.toLocaleString("en") });
  const focused = focusedPlace();
  showMap();
  showBox();
  showLedger();
  showWitnesses();
  showWriting();
  focusAgain(focused);
}

// What is drawn anew loses the keyboard's focus: it goes to the same control of the new page. Where is it?
const PLACES = ["#box .choice button", "#box .map svg", "#picture g[role=button]"];
function focusedPlace() {
  for (const selector of PLACES) {
    const index = [...document.querySelectorAll(selector)].indexOf(document.activeElement);
    if (index >= 0) return [selector, index];
  }
  return null;
}
function focusAgain(place) {
  if (place) document.querySelectorAll(place[0])[place[1]]?.focus({ preventScroll: true });
}

let timer = null;
function play() {
  if (timer) {
    clearInterval(timer);
    timer = null;
  } else {
    if (order().indexOf(state.box) === order().length - 1) goTo(order()[0]);
    timer = setInterval(() => {
      if (!step(1)) {
        clearInterval(timer);
        timer = null;
      }
      byId("play").setAttribute("aria-pressed", timer !== null);
      byId("play").textContent = word(timer ? "pause" : "play");
    }, 1400);
  }
  byId("play").setAttribute("aria-pressed", timer !== null);
  byId("play").textContent = word(timer ? "pause" : "play");
}

const otherLanguage = () => data.languages.find((language) => language !== state.language);
const ACTS = {
  forward: () => change({ direction: "forward" }),
  backward: () => change({ direction: "backward" }),
  first: () => goTo(order()[0]),
  previous: () => step(-1),
  next: () => step(1),
  last: () => goTo(order().at(-1)),
  play,
  language: () => change({ language: otherLanguage() }),
};
for (const [id, act] of Object.entries(ACTS)) byId(id).addEventListener("click", act);
byId("sentence").addEventListener("change", () => change({ sentence: Number(byId("sentence").value) }));
const KEYS = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last", p: "play", f: "forward", b: "backward", l: "language" };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT"].includes(event.target.tagName)) return;
  if (!(event.key in KEYS)) return;
  event.preventDefault();
  ACTS[KEYS[event.key]]();
});
window.addEventListener("beforeprint", () => document.querySelectorAll("#questions details").forEach((one) => { one.open = true; }));
window.addEventListener("hashchange", () => {
  read();
  show();
});
const header = document.querySelector("header");
new ResizeObserver(() => document.documentElement.style.setProperty("--header", `${header.offsetHeight}px`)).observe(header);
if (navigator.language.startsWith("zh")) state.language = "zh";
read();
show();
