// Small helpers for building the page; data only ever becomes text nodes and properties.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const ICONS = {
  file: "M7 3h7l4 4v14H7z M14 3v4h4",
  link: "M8 16L17 7 M10 7h7v7",
  copy: "M9 9h10v11H9z M6 15H5V4h10v2",
  forward: "M4 19c1-7 5-9 11-9V5l6 7-6 7v-5c-5 0-8 1-11 5z",
};

export function icon(name, className) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("class", className);
  drawing.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  drawing.append(path);
  return drawing;
}

let toastTimer = 0;

export function toast(text) {
  const box = byId("toast");
  box.textContent = text;
  box.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.classList.remove("shown"), 3500);
}

export function alertBox(text) {
  byId("alert-text").textContent = text;
  byId("alert").showModal();
}

export function showPicture(address, alternative) {
  const image = byId("viewer-image");
  image.src = address;
  image.alt = alternative;
  byId("viewer-dialog").showModal();
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied to clipboard");
  } catch {
    toast("The browser did not let this be copied");
  }
}

export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function day(seconds) {
  const date = new Date(seconds * 1000);
  if (date.toDateString() === new Date().toDateString()) return "Today";
  return date.toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });
}

export function initials(name) {
  const words = name.split(/\s+/).filter(Boolean).slice(0, 2);
  return words.map((word) => [...word][0].toUpperCase()).join("");
}

export function hue(name) {
  return [...name].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 6;
}
