// Text with entities as DOM nodes. Offsets are UTF-16 code units, as JavaScript counts.

import { copy, element } from "./dom.js";

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s",
  blockquote: "blockquote", expandable_blockquote: "blockquote", pre: "pre",
};
const SAFE = /^(https?|tg|ton|mailto|tel):/i;

export function formatted(text, entities, follow) {
  return parts(text, 0, text.length, entities || [], follow);
}

function parts(text, start, end, entities, follow) {
  const nodes = [];
  let at = start;
  let rest = entities;
  while (rest.length) {
    const [entity, ...others] = rest;
    const from = Math.max(entity.offset, at);
    const to = Math.min(entity.offset + entity.length, end);
    rest = others;
    if (from >= to) continue;
    if (from > at) nodes.push(text.slice(at, from));
    const inner = others.filter((one) => one.offset < to);
    rest = others.filter((one) => one.offset + one.length > to);
    nodes.push(wrapped(entity, text.slice(from, to), parts(text, from, to, inner, follow), follow));
    at = to;
  }
  if (at < end) nodes.push(text.slice(at, end));
  return nodes;
}

function wrapped(entity, words, children, follow) {
  switch (entity.type) {
    case "text_link": return link(entity.url, children, follow);
    case "url": return link(/^\w+:/.test(words) ? words : `https://${words}`, children, follow);
    case "email": return link(`mailto:${words}`, children, follow);
    case "bot_command": return command(words, follow);
    case "mention": return element("span", { className: "mention" }, ...children);
    case "code": return code(words);
    case "spoiler": return spoiler(children);
    default: return element(TAGS[entity.type] || "span", {}, ...children);
  }
}

function link(address, children, follow) {
  if (!SAFE.test(address)) return element("span", {}, ...children);
  const anchor = element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...children);
  anchor.addEventListener("click", (event) => {
    if (follow.link(address)) event.preventDefault();
  });
  return anchor;
}

function command(words, follow) {
  const button = element("button", { type: "button", className: "inline-link" }, words);
  button.addEventListener("click", () => follow.command(words));
  return button;
}

function code(words) {
  const node = element("code", { title: "Copy", tabIndex: 0, role: "button" }, words);
  node.addEventListener("click", () => copy(words));
  node.addEventListener("keydown", (event) => event.key === "Enter" && copy(words));
  return node;
}

function spoiler(children) {
  const node = element("button", { type: "button", className: "spoiler", "aria-label": "Hidden text" }, ...children);
  node.addEventListener("click", () => {
    node.classList.add("open");
    node.removeAttribute("aria-label");
  });
  return node;
}
