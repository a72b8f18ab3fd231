"use strict";
// One question after the other; everything can be done by keys. An answer is saved before the next question is shown.

const page = document.getElementById("annotate");
const project = page.dataset.project;
const question = page.dataset.question;
const place = document.getElementById("item");
const guideline = document.getElementById("guideline");
let annotator = "";
let item = null;
let chosen = null; // the value that Enter sends
let typed = ""; // digits of a number
let heads = {}; // corrections of fix-arcs
let dependent = 0;
let started = 0; // when the question was shown, less the time in which the page was hidden
let busy = false;

const who = document.getElementById("who");
document.getElementById("annotator").value = localStorage.getItem("annotator") || "";
who.addEventListener("submit", (event) => {
  event.preventDefault();
  annotator = document.getElementById("annotator").value.trim();
  localStorage.setItem("annotator", annotator);
  send("next", {}).then((done) => {
    if (done && guideline && !localStorage.getItem("guideline-read")) showGuideline();
  });
});

function showGuideline() {
  localStorage.setItem("guideline-read", "yes");
  guideline.showModal();
}

let hiddenSince = 0;
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hiddenSince = performance.now();
  else started += performance.now() - hiddenSince;
});

async function send(what, content) {
  if (busy) return false;
  busy = true;
  const found = await attempt(() => api("POST", `projects/${project}/${what}`, { annotator, ...content }));
  busy = false;
  if (found) show(found);
  return Boolean(found);
}

function answer(kind, value) {
  if (!item) return;
  const seconds = (performance.now() - started) / 1000;
  send("answers", { item: item.id, kind, value, seconds });
}

function show(found) {
  who.hidden = true;
  item = found.item;
  typed = "";
  heads = {};
  dependent = 0;
  const { answered, questions } = found.project;
  const bar = document.getElementById("bar");
  bar.max = questions;
  bar.value = answered;
  document.getElementById("count").textContent = `${answered} of ${questions}`;
  const { last, median, answers } = found.times;
  document.getElementById("times").textContent = answers ? `last ${last} s, median ${median} s` : "";
  document.getElementById("work").hidden = !item;
  document.getElementById("done").hidden = Boolean(item);
  if (!item) return;
  started = performance.now();
  const previous = item.previous;
  if (question === "main-verb") chosen = previous || item.content.guess;
  else if (question === "arc") chosen = previous || "yes";
  else if (question === "trees") chosen = previous === null ? 0 : previous;
  else if (previous) heads = { ...previous.heads };
  place.replaceChildren(...DRAW[question]());
  document.getElementById("question").focus({ preventScroll: true });
}

const DRAW = {
  "main-verb": () => [wordButtons()],
  arc: () => {
    const { word, head, label } = item.content;
    const name = (number) => (number ? `${number} ${item.words[number - 1]}` : "the root");
    const arcs = item.words.map((_, index) => (index + 1 === word ? head : -1));
    const labels = item.words.map((_, index) => (index + 1 === word ? label : ""));
    return [
      make("p", { className: "big", textContent: `Does “${name(word)}” depend on “${name(head)}” (${label})?` }),
      remote(arcs, labels, [word]),
      choices([["yes", "Yes", "Y"], ["no", "No", "X"]]),
    ];
  },
  trees: () => {
    const trees = item.content.candidates;
    const differs = item.words.map((_, index) => index + 1).filter((word) => new Set(trees.map((tree) => `${tree.heads[word]} ${tree.labels[word]}`)).size > 1);
    const shown = trees.map((tree, index) => {
      const choice = make("div", { className: "choice", tabIndex: 0, role: "button", onclick: () => select(index) }, make("b", { textContent: `Tree ${index + 1}` }), remote(tree.heads.slice(1), tree.labels.slice(1), differs));
      choice.dataset.value = index;
      return choice;
    });
    setTimeout(() => select(chosen));
    return [make("div", { className: "row" }, ...shown)];
  },
  "fix-arcs": () => {
    setTimeout(redraw);
    return [make("p", { id: "state", className: "hint", role: "status" }), make("div", { id: "tree" })];
  },
};

function wordButtons() {
  const buttons = item.words.map((word, index) => {
    const number = index + 1;
    const button = make("button", { type: "button", onclick: () => select(number), ondblclick: () => answer("answer", number) }, word, make("small", { textContent: number }));
    button.dataset.value = number;
    button.setAttribute("aria-label", `${number} ${word}`);
    if (number === item.content.guess) {
      button.classList.add("guess");
      button.title = "The guess of the model";
    }
    return button;
  });
  setTimeout(() => select(chosen));
  return make("div", { className: "words", role: "group", "aria-label": "Words" }, ...buttons);
}

function choices(listed) {
  const buttons = listed.map(([value, title, key]) => {
    const button = make("button", { type: "button", onclick: () => answer("answer", value) }, title, make("small", { textContent: key }));
    button.dataset.value = value;
    return button;
  });
  setTimeout(() => select(chosen));
  return make("div", { className: "words" }, ...buttons);
}

function remote(arcs, labels, marked, done = () => {}) {
  const holder = make("div");
  const asked = item;
  attempt(() => api("POST", "draw", { words: asked.words, tags: asked.tags, heads: arcs, labels, marked })).then((found) => {
    if (found && asked === item) {
      holder.replaceChildren(drawn(found.svg));
      // Of a long sentence, the part that is asked about is shown.
      const word = marked.length && holder.querySelector(`.word[data-word="${marked[0]}"]`);
      if (word) word.scrollIntoView({ block: "nearest", inline: "center" });
    }
    if (found) done(holder);
  });
  return holder;
}

function select(value) {
  chosen = value;
  for (const one of place.querySelectorAll("[data-value]")) {
    const is = one.dataset.value === String(value);
    one.setAttribute("aria-pressed", is);
    if (is) one.scrollIntoView({ block: "nearest" });
  }
}

// fix-arcs: first the dependent, then its head.
function pick(number) {
  if (!dependent) {
    if (number < 1 || number > item.words.length) return;
    dependent = number;
  } else {
    if (number > item.words.length) return;
    heads[dependent] = number === dependent ? 0 : number;
    dependent = 0;
  }
  redraw();
}

function redraw() {
  const { heads: guess, labels } = item.content;
  const now = guess.slice(1).map((head, index) => heads[index + 1] ?? head);
  const changed = now.map((head, index) => (head === guess[index + 1] ? 0 : index + 1)).filter(Boolean);
  const shown = labels.slice(1).map((label, index) => (changed.includes(index + 1) ? "?" : label));
  const state = document.getElementById("state");
  state.textContent = dependent
    ? `Head of ${dependent} ${item.words[dependent - 1]}? ${typed}`
    : `${changed.length} arc${changed.length === 1 ? "" : "s"} changed. Dependent? ${typed}`;
  remote(now, shown, changed, (holder) => {
    clickable(holder, pick);
    const word = holder.querySelector(`.word[data-word="${dependent}"]`);
    if (word) word.classList.add("chosen");
    document.getElementById("tree").replaceChildren(holder);
  });
}

function enter() {
  if (question !== "fix-arcs") {
    answer("answer", chosen);
  } else if (typed) {
    const number = Number(typed);
    typed = "";
    pick(number);
  } else {
    answer("answer", { heads, all_right: false });
  }
}

function digit(key) {
  typed += key;
  if (question === "trees") {
    const number = Number(typed);
    typed = "";
    if (number === 0) answer("answer", "none");
    else if (number <= item.content.candidates.length) select(number - 1);
  } else if (question === "main-verb") {
    // 1 then 2 is 12 if there are so many words, else 2.
    if (Number(typed) > item.words.length) typed = key;
    if (Number(typed) > 0) select(Number(typed));
  } else if (question === "fix-arcs") {
    redraw();
  }
}

function step(by) {
  if (question === "main-verb") select(Math.min(Math.max(chosen + by, 1), item.words.length));
  else if (question === "trees") select(Math.min(Math.max((chosen === "none" ? 0 : chosen) + by, 0), item.content.candidates.length - 1));
  else if (question === "arc") select(by < 0 ? "yes" : "no");
  typed = "";
}

function press(key) {
  if (key === "u") send("undo", {});
  else if (!item) return false;
  else if (key === "Enter") enter();
  else if (key === "n") answer("unsure", null);
  else if (key === "s") answer("skip", null);
  else if (key === "g" && guideline) showGuideline();
  else if (key === "y" && question === "arc") answer("answer", "yes");
  else if (key === "x" && question === "arc") answer("answer", "no");
  else if (key === "a" && question === "fix-arcs") answer("answer", { heads, all_right: true });
  else if (key === "c" && question === "fix-arcs") {
    heads = {};
    dependent = 0;
    typed = "";
    redraw();
  } else if (/^[0-9]$/.test(key)) digit(key);
  else if (key === "ArrowRight" || key === "ArrowDown") step(1);
  else if (key === "ArrowLeft" || key === "ArrowUp") step(-1);
  else if (key === "Backspace") {
    typed = typed.slice(0, -1);
    if (question === "fix-arcs") redraw();
  } else return false;
  return true;
}

document.addEventListener("keydown", (event) => {
  if (!who.hidden || (guideline && guideline.open) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target.closest("button, a")) {
    // Enter on a focused word answers with it; on another control it does what the control does.
    if (!event.target.closest(".words")) return;
    if (event.target.dataset.value && question === "main-verb") select(Number(event.target.dataset.value));
  }
  if (press(event.key.length === 1 ? event.key.toLowerCase() : event.key)) event.preventDefault();
});
for (const button of page.querySelectorAll("[data-key]")) button.addEventListener("click", () => press(button.dataset.key));
