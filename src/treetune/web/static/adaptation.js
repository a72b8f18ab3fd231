"use strict";
const place = document.getElementById("adaptation");
const job = place.dataset.job;
const part = (name) => document.getElementById(name);
const percent = (value) => `${(100 * value).toFixed(1)} %`;

function table(header, rows) {
  const cells = (row, name) => row.map((cell, index) => make(name, { className: index ? "" : "left", textContent: cell }));
  return make("table", {}, make("thead", {}, make("tr", {}, ...cells(header, "th"))), make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row, "td")))));
}

// Cost and root accuracy over the trials that are done.
function curve(trials) {
  const [width, height, left, bottom] = [760, 220, 44, 28];
  const node = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const total = Math.max(2, trials[trials.length - 1].total - 1);
  const x = (index) => left + ((width - left - 10) * index) / (total - 1);
  const y = (value) => 8 + (height - bottom - 8) * (1 - value);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Held-out cost and root accuracy" });
  for (const mark of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(node("line", { x1: left, x2: width - 10, y1: y(mark), y2: y(mark), stroke: "#d0d7de" }));
    svg.append(node("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end", "font-size": 11, fill: "#57606a" }, `${100 * mark}%`));
  }
  const groups = Map.groupBy ? Map.groupBy(trials, (one) => `${one.setting}, ${one.sentences} sentences`) : new Map([["", trials]]);
  let index = 0;
  for (const [, own] of groups) {
    for (const [key, colour] of [["cost", "#b3101c"], ["root_accuracy", "#0b62c4"]]) {
      const points = own.map((one, number) => [x(index + number), one[key]]).filter(([, value]) => value !== null);
      svg.append(node("polyline", { points: points.map(([at, value]) => `${at},${y(value)}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2 }));
      for (const [at, value] of points) svg.append(node("circle", { cx: at, cy: y(value), r: 3, fill: colour }));
    }
    index += own.length;
  }
  svg.append(node("text", { x: left, y: height - 6, "font-size": 12, fill: "#0b62c4" }, "root accuracy"));
  svg.append(node("text", { x: left + 110, y: height - 6, "font-size": 12, fill: "#b3101c" }, "cost: share of wrong answers"));
  svg.append(node("text", { x: width - 10, y: height - 6, "text-anchor": "end", "font-size": 12, fill: "#57606a" }, `fold ${trials.length} of ${total}; a line for each setting`));
  return make("div", { className: "picture" }, svg);
}

function show(found) {
  const { status, trials, result } = found;
  part("status").textContent = status;
  part("cancel").hidden = status !== "running";
  const done = status === "done";
  part("bar").value = done ? 1 : trials.length ? trials[trials.length - 1].done / trials[0].total : 0;
  if (trials.length) part("curve").replaceChildren(curve(trials));
  part("log").textContent = found.lines.join("\n");
  part("outcome").hidden = !found.has_model;
  part("files").hidden = !done;
  const used = place.dataset.inUse === `adapted-${job}`;
  part("use").disabled = used;
  part("use").textContent = used ? "This model is in use" : "Use this model";
  if (!result) return;
  part("decision").textContent = result.error || result.decision;
  if (result.error) return;
  part("warnings").replaceChildren(...result.warnings.map((text) => make("p", { className: "warning", textContent: text })));
  const held = ["before", "after"].map((which) => {
    const { share, interval } = result.held_out[which];
    return [which, percent(share), `${percent(interval[0])} to ${percent(interval[1])}`];
  });
  part("scores").replaceChildren(
    make("h2", { textContent: "Held-out answers" }),
    table(["model", "right", "95 % interval"], held),
    make("p", { textContent: `${result.better_sentences} sentences better, ${result.worse_sentences} worse, p = ${result.p_value.toPrecision(2)} (sign test)` }),
    make("p", { textContent: Object.entries(result.counts).map(([name, count]) => `${name}: ${count}`).join(", ") }),
  );
  if (result.doubtful.length) {
    const rows = result.doubtful.map((one) => [one.text, one.reason]);
    part("doubtful").replaceChildren(make("h2", { textContent: "Sentences that are not learned as they are" }), table(["sentence", "why"], rows));
  }
}

async function follow() {
  const found = await attempt(() => api("GET", `adaptations/${job}`));
  if (found) show(found);
  if (!found || found.status === "running") setTimeout(follow, 1000);
}
part("cancel").addEventListener("click", () => attempt(() => api("POST", `adaptations/${job}/cancel`)));
part("use").addEventListener("click", () => attempt(async () => {
  await api("POST", "use-model", { model: `adapted-${job}` });
  place.dataset.inUse = `adapted-${job}`;
  location.assign("/");
}));
follow();
