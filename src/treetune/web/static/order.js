"use strict";
const form = document.getElementById("form");
submitByKey(form);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const given = Object.fromEntries(["text", "to", "model"].map((name) => [name, document.getElementById(name).value]));
    const found = await api("POST", "reorder", given);
    const shown = found.sentences.map((one, index) => {
      const made = figure(one.text, `order-${index + 1}`, one.svg);
      made.append(make("p", { className: "big", textContent: one.reordered }));
      return made;
    });
    document.getElementById("results").replaceChildren(...shown);
  });
});
