"use strict";
const form = document.getElementById("form");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const home = document.getElementById("home");
    const number = (name) => Number(document.getElementById(name).value);
    const made = await api("POST", `projects/${form.dataset.project}/adaptations`, {
      convention: document.getElementById("convention").value,
      folds: number("folds"),
      seed: number("seed"),
      home: home ? home.checked : false,
    });
    location.assign(`/adaptations/${made.id}`);
  });
});
