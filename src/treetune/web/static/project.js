"use strict";
const remove = document.getElementById("delete");
remove.addEventListener("click", () => {
  if (!confirm("Delete this project and all its answers?")) return;
  attempt(async () => {
    await api("DELETE", `projects/${remove.dataset.project}`);
    location.assign("/projects");
  });
});
