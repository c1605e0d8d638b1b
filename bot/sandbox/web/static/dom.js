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
  back: "M15 5l-7 7 7 7",
  more: "M12 5.500v.01 M12 12v.01 M12 18.500v.01",
  menu: "M5 7h14 M5 12h14 M5 17h14",
  attach: "M16.500 6.500v9a4.500 4.500 0 0 1-9 0V6a3 3 0 0 1 6 0v9a1.500 1.500 0 0 1-3 0V7",
  send: "M4 12l16-8-6 16-2.500-6.500z M11.500 13.500L20 4",
  down: "M5 9l7 7 7-7",
  close: "M6 6l12 12 M18 6L6 18",
  save: "M12 4v11 M7 10l5 5 5-5 M5 20h14",
  silent: "M6 16V11a6 6 0 0 1 9-5.200 M18 11v5H9 M10 19h4 M4 4l16 16",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z M4 20c1-4 4-6 8-6 M17 14v6 M14 17h6",
  group: "M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7z M2 19c.500-4 3-6 7-6 3 0 5 1 6 3 M15 4.500a3.500 3.500 0 0 1 0 6.500 M19 14v6 M16 17h6",
  mail: "M4 6h16v12H4z M4 7l8 6 8-6",
  card: "M3 6h18v12H3z M3 10h18 M6 15h4",
};

export function icon(name, className = "drawing") {
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

export function dress(buttons) {
  for (const [id, name] of Object.entries(buttons)) byId(id).append(icon(name));
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

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied to clipboard");
  } catch {
    toast("Your browser doesn’t allow copying here");
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

export function avatar(name) {
  return element("span", { className: `avatar hue-${hue(name)}`, "aria-hidden": "true" }, initials(name));
}

export function badge(count) {
  if (!count) return null;
  return element("span", { className: "unread", role: "img", "aria-label": `${count} unread` }, String(count));
}
