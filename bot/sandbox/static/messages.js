// One message as a bubble: picture, file, text, time, inline keyboard.

import { clock, day, element, hue, icon, showPicture } from "./dom.js";
import { formatted } from "./formatting.js";

const ICONS = {
  url: "link", copy_text: "copy", web_app: "link", switch_inline_query: "forward",
  switch_inline_query_chosen_chat: "forward", switch_inline_query_current_chat: "forward",
};

export function messageItem(message, chat, actions) {
  const item = element("li", { className: "message", "data-message-id": message.message_id });
  if (message.service) {
    item.className = "service";
    item.append(message.service);
    return item;
  }
  item.classList.add(message.out ? "own" : "other");
  const name = message.out ? "You" : message.sender_name;
  const bubble = element("article", { className: "bubble", "aria-label": `Message from ${name}` });
  bubble.append(...head(message, chat), ...media(message), ...words(message, actions), foot(message));
  const wide = Boolean(message.reply_markup) || Boolean(message.photo);
  bubble.classList.toggle("wide", wide);
  item.append(bubble);
  if (message.reply_markup) item.append(keyboard(message, actions));
  return item;
}

export function dayItem(seconds) {
  return element("li", { className: "service", "data-day": day(seconds) }, day(seconds));
}

export function summary(message) {
  if (!message) return "";
  const text = message.service || message.text || message.caption || "";
  if (message.photo) return text ? `Photo: ${text}` : "Photo";
  if (message.document) return `File: ${message.document.file_name || text}`;
  return text;
}

function head(message, chat) {
  const lines = [];
  if (!message.out && chat.kind.endsWith("group")) {
    lines.push(element("p", { className: `author hue-${hue(message.sender_name)}` }, message.sender_name));
  }
  if (message.via_bot) lines.push(element("p", { className: "via" }, `via @${message.via_bot.username}`));
  if (message.reply_to_message) {
    const replied = message.reply_to_message;
    lines.push(element("blockquote", { className: "reply" }, replied.text || replied.caption || "Photo"));
  }
  return lines;
}

function media(message) {
  if (message.photo) return [picture(message)];
  if (message.document) return [file(message.document)];
  return [];
}

function picture(message) {
  const size = message.photo[message.photo.length - 1];
  const address = `/chat/files/${encodeURIComponent(size.file_id)}`;
  const words = message.caption ? message.caption.split("\n")[0] : "Photo";
  const image = element("img", { src: address, alt: words, width: size.width, height: size.height });
  const button = element("button", { type: "button", className: "picture", "aria-label": `Open picture: ${words}` }, image);
  button.addEventListener("click", () => showPicture(address, words));
  return button;
}

function file(one) {
  const address = `/chat/files/${encodeURIComponent(one.file_id)}`;
  const size = `${Math.max(1, Math.round((one.file_size || 0) / 1024))} KB`;
  return element("a", { className: "file", href: address, download: one.file_name || "file" },
    element("span", { className: "file-icon" }, icon("file", "drawing")),
    element("span", {}, one.file_name || "File", element("small", {}, size)));
}

function words(message, actions) {
  const text = message.text || message.caption;
  if (!text) return [];
  const entities = message.entities || message.caption_entities;
  return [element("div", { className: "text" }, ...formatted(text, entities, actions))];
}

function foot(message) {
  const edited = message.edit_date ? "edited " : "";
  const when = new Date(message.date * 1000);
  const time = element("time", { dateTime: when.toISOString(), title: when.toLocaleString() }, clock(message.date));
  const ticks = message.out ? element("span", { className: "ticks", role: "img", "aria-label": "Sent" }, "✓✓") : null;
  return element("p", { className: "meta" }, edited, time, ticks);
}

function keyboard(message, actions) {
  const rows = message.reply_markup.inline_keyboard.map((row, y) =>
    element("div", { className: "row" }, ...row.map((one, x) => key(message, one, y, x, actions))));
  return element("div", { className: "keyboard", role: "group", "aria-label": "Buttons" }, ...rows);
}

function key(message, button, row, column, actions) {
  const kind = Object.keys(ICONS).find((name) => name in button);
  const mark = kind ? icon(ICONS[kind], "drawing key-icon") : null;
  const style = button.style ? ` ${button.style}` : "";
  if (button.url && !actions.isInternal(button.url)) {
    return element("a", { className: `key${style}`, href: button.url, target: "_blank", rel: "noopener noreferrer" }, button.text, mark);
  }
  const node = element("button", { type: "button", className: `key${style}` }, button.text, mark);
  node.addEventListener("click", () => actions.key(message, button, row, column, node));
  return node;
}
