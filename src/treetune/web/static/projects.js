"use strict";
const value = (name) => document.getElementById(name).value;
const file = document.getElementById("file");

file.addEventListener("change", async () => {
  const chosen = file.files[0];
  if (!chosen) return;
  document.getElementById("text").value = await chosen.text();
  document.getElementById("name").value = chosen.name.slice(0, 100);
  if (/\.conllu?$/.test(chosen.name)) document.getElementById("format").value = "conllu";
});

document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  attempt(async () => {
    const given = Object.fromEntries(["name", "text", "format", "question", "order", "model"].map((name) => [name, value(name)]));
    const made = await api("POST", "projects", { ...given, double_share: Number(value("double")) / 100 });
    location.assign(`/projects/${made.id}/annotate`);
  }).finally(() => {
    button.disabled = false;
  });
});
