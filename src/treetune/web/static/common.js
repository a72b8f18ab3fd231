"use strict";
// What all pages share: requests to the interface, elements made of plain text, pictures, downloads.

const CSRF = document.querySelector("meta[name=csrf]").content;

async function api(method, path, content) {
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, {
      method,
      headers: { "Content-Type": "application/json", "X-CSRF-Token": CSRF },
      body: content === undefined ? undefined : JSON.stringify(content),
    });
  } catch {
    throw new Error("The server does not answer; what was saved is safe. Start it again, then try once more.");
  }
  if (response.status === 204) return null;
  const found = await response.json().catch(() => ({ error: `the server answered with status ${response.status}` }));
  if (!response.ok) throw new Error(found.error);
  return found;
}

function problem(error) {
  const place = document.getElementById("problem");
  place.hidden = !error;
  place.textContent = error ? error.message || error : "";
  if (error) place.scrollIntoView({ block: "nearest" });
}

async function attempt(work) {
  try {
    problem(null);
    return await work();
  } catch (error) {
    problem(error);
    return undefined;
  }
}

// Text is always set as text, never as markup.
function make(name, properties = {}, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (key in found && key !== "list") found[key] = value;
    else found.setAttribute(key, value);
  }
  found.append(...children);
  return found;
}

function drawn(svg) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return make("div", { className: "picture" }, document.importNode(parsed, true));
}

function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function savePng(name, svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const picture = new Image();
  picture.onload = () => {
    const canvas = make("canvas", { width: 2 * picture.width, height: 2 * picture.height });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name, blob));
    URL.revokeObjectURL(address);
  };
  picture.src = address;
}

function pictureButtons(name, svg) {
  return [
    make("button", { type: "button", textContent: "SVG", onclick: () => save(`${name}.svg`, svg, "image/svg+xml") }),
    make("button", { type: "button", textContent: "PNG", onclick: () => savePng(`${name}.png`, svg) }),
  ];
}

function figure(title, name, svg) {
  const caption = make("figcaption", {}, make("span", { className: "text", textContent: title }), ...pictureButtons(name, svg));
  return make("figure", {}, caption, drawn(svg));
}

// Words of a picture as buttons, for the mouse and for the keyboard.
function clickable(picture, choose) {
  picture.classList.add("clickable");
  for (const word of picture.querySelectorAll(".word")) {
    const number = Number(word.dataset.word);
    word.setAttribute("tabindex", "0");
    word.setAttribute("role", "button");
    word.setAttribute("aria-label", `${number} ${word.firstChild.textContent}`);
    word.addEventListener("click", () => choose(number, word));
    word.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        event.stopPropagation();
        choose(number, word);
      }
    });
  }
  return picture;
}

function submitByKey(form) {
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}
