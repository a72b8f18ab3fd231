"use strict";
const list = document.getElementById("list");
const { project, question } = list.dataset;
const annotator = document.getElementById("annotator");
annotator.value = localStorage.getItem("annotator") || "";

function said(item, value) {
  if (question === "main-verb") return `${value} ${item.words[value - 1]}`;
  if (question === "trees") return value === "none" ? "none of them" : `tree ${value + 1}`;
  if (question === "arc") {
    const { word, head } = item.content;
    return `${value}: ${item.words[word - 1]} depends on ${head ? item.words[head - 1] : "the root"}`;
  }
  const changes = Object.entries(value.heads).map(([word, head]) => `${item.words[word - 1]} ← ${head ? item.words[head - 1] : "root"}`);
  return (changes.join(", ") || "nothing changed") + (value.all_right ? "; all right" : "");
}

function settle(item, value) {
  return attempt(async () => {
    if (!annotator.reportValidity()) return;
    localStorage.setItem("annotator", annotator.value);
    await api("POST", `projects/${project}/adjudications`, { annotator: annotator.value, item: item.id, value });
    await load();
  });
}

async function load() {
  const found = await api("GET", `projects/${project}/disagreements`);
  const shown = found.map((item) => {
    const values = new Map(item.answers.map((one) => [JSON.stringify(one.value), one.value]));
    const buttons = [...values].map(([key, value]) => {
      const names = item.answers.filter((one) => JSON.stringify(one.value) === key).map((one) => one.annotator);
      const button = make("button", { type: "button", onclick: () => settle(item, value) }, said(item, value), make("small", { textContent: names.join(", ") }));
      button.setAttribute("aria-pressed", item.is_adjudicated && JSON.stringify(item.adjudicated) === key);
      return button;
    });
    const numbered = item.words.map((word, index) => `${index + 1} ${word}`).join("   ");
    return make("figure", {}, make("figcaption", {}, make("span", { className: "text", textContent: numbered }), item.is_adjudicated ? "settled" : ""), make("div", { className: "words" }, ...buttons));
  });
  list.replaceChildren(...(shown.length ? shown : [make("p", { textContent: "No disagreements." })]));
}
attempt(load);
