"use strict";
const field = (name) => document.getElementById(name);
let fixed = new Map(); // "sentence,word" to head
let last = null; // the last answer, for downloads

field("show").addEventListener("change", showFields);
function showFields() {
  for (const part of document.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== field("show").value;
}

submitByKey(field("form"));
field("form").addEventListener("submit", (event) => {
  event.preventDefault();
  fixed = new Map();
  attempt(run);
});
field("free").addEventListener("click", () => {
  fixed = new Map();
  attempt(run);
});

async function run() {
  const text = field("text").value;
  const shown = field("show").value;
  const model = field("model").value;
  field("results").setAttribute("aria-busy", "true");
  try {
    if (shown === "parse") {
      const constraints = [...fixed].map(([key, head]) => {
        const [sentence, word] = key.split(",").map(Number);
        return { sentence, word, head };
      });
      show(await api("POST", "parse", { text, model, constraints, draw: true, nlf: field("nlf").checked }), parsed);
    } else if (shown === "k-best") {
      show(await api("POST", "k-best", { text, model, k: Number(field("k").value), draw: true }), candidates);
    } else {
      show(await api("POST", "compare", { text, models: [model, field("other").value] }), compared);
    }
  } finally {
    field("results").removeAttribute("aria-busy");
  }
}

function show(found, draw) {
  last = found;
  const words = found.sentences.reduce((sum, one) => sum + (one.words ? one.words.length : 0), 0);
  field("summary").textContent = found.counts
    ? `${found.counts.heads} heads, ${found.counts.deprels} labels and ${found.counts.tags} tags differ in ${found.counts.words} words; ${found.counts.sentences} of ${found.sentences.length} sentences differ.`
    : `${found.sentences.length} sentence${found.sentences.length === 1 ? "" : "s"}, ${words} words, model ${found.model}`;
  field("actions").hidden = false;
  document.querySelector("[data-save=conllu]").hidden = !found.sentences.some((one) => one.conllu);
  field("hint").hidden = draw !== parsed;
  field("fixed").hidden = field("free").hidden = fixed.size === 0;
  field("fixed").textContent = `${fixed.size} fixed`;
  field("results").replaceChildren(...found.sentences.map(draw));
}

function parsed(sentence, index) {
  const one = figure(sentence.text, `sentence-${index + 1}`, sentence.svg);
  let dependent = null;
  clickable(one.querySelector(".picture"), (word, element) => {
    if (dependent === null) {
      dependent = word;
      element.classList.add("chosen");
      return;
    }
    fixed.set(`${index},${dependent}`, word === dependent ? 0 : word);
    attempt(run).then((found) => {
      // What cannot be parsed is not kept.
      if (!field("problem").hidden) fixed.delete(`${index},${dependent}`);
      dependent = null;
      for (const other of one.querySelectorAll(".chosen")) other.classList.remove("chosen");
    });
  });
  if (sentence.entities) {
    const list = sentence.entities.map((entity) => `${entity.text} (${entity.type || entity.label})`).join(", ");
    one.append(make("p", { className: "hint", textContent: `Entities: ${list}` }));
  }
  if (sentence.nlf) {
    const buttons = pictureButtons(`meaning-${index + 1}`, sentence.nlf_svg);
    one.append(make("p", {}, make("code", { textContent: sentence.nlf }), " ", ...buttons), drawn(sentence.nlf_svg));
  }
  return one;
}

function candidates(sentence, index) {
  const rows = sentence.candidates.map((one, rank) => {
    const changes = one.differs.map((word) => {
      const head = one.heads[word - 1];
      return `${sentence.words[word - 1]} ← ${head ? sentence.words[head - 1] : "root"} (${one.deprels[word - 1]})`;
    });
    const first = sentence.candidates[0].score;
    const title = `${rank + 1}. score ${one.score.toFixed(2)}${rank ? ` (${(one.score - first).toFixed(2)})` : ""}`;
    const made = figure(title, `sentence-${index + 1}-tree-${rank + 1}`, one.svg);
    if (changes.length) made.append(make("p", { className: "differs", textContent: changes.join(" · ") }));
    return made;
  });
  return make("section", {}, make("h2", { textContent: sentence.text }), ...rows);
}

function compared(sentence, index) {
  const pictures = sentence.svg.map((svg, number) => figure(last.models[number], `sentence-${index + 1}-${last.models[number]}`, svg));
  return make("section", {}, make("h2", { textContent: sentence.text }), make("div", { className: "row" }, ...pictures));
}

document.querySelector("[data-save=conllu]").addEventListener("click", () => {
  save("parsed.conllu", last.sentences.map((one) => one.conllu || "").join(""), "text/plain");
});
document.querySelector("[data-save=json]").addEventListener("click", () => {
  const kept = { ...last, sentences: last.sentences.map(({ svg, conllu, nlf_svg, ...one }) => one) };
  save("parsed.json", JSON.stringify(kept, null, 2), "application/json");
});
showFields();
