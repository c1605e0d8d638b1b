// One message as a bubble: picture, file, text, time, inline keyboard.

import { fileAddress } from "./api.js";
import { avatar, clock, day, element, hue, icon } from "./dom.js";
import { formatted } from "./formatting.js";
import { showPicture } from "./lightbox.js";
import { follow } from "./links.js";

const ICONS = {
  url: "link", copy_text: "copy", switch_inline_query: "forward", switch_inline_query_current_chat: "forward",
};
const FADE = 1200; // milliseconds after the last movement
const TOGETHER = 300; // seconds within which messages of one sender stand close

let fading = 0;

export function messageItem(message, chat, actions) {
  const item = element("li", { className: "message", "data-message-id": message.message_id });
  item.dataset.day = day(message.date);
  if (message.service) {
    item.className = "service";
    item.append(message.service);
    return item;
  }
  item.dataset.sender = message.from.id;
  item.dataset.date = message.date;
  item.classList.add(message.out ? "own" : "other");
  const group = chat.kind.endsWith("group") && !message.out;
  if (group) item.classList.add("in-group");
  const name = message.out ? "You" : message.sender_name;
  const bubble = element("article", { className: "bubble", "aria-label": `Message from ${name}` });
  bubble.append(...head(message, group), ...media(message), ...words(message, actions), foot(message));
  bubble.classList.toggle("wide", Boolean(message.reply_markup) || Boolean(message.photo));
  bubble.classList.toggle("bare", Boolean(message.photo) && !message.caption);
  if (group) item.append(avatar(message.sender_name));
  item.append(bubble);
  if (message.reply_markup) item.append(keyboard(message, actions));
  return item;
}

// Put the days between the messages, and those of one sender close together.
export function arrange(list) {
  let before = null;
  for (const item of [...list.children].filter((one) => !one.classList.contains("day"))) {
    if (separate(item, before)) before = null;
    const close = before && before.dataset.sender && before.dataset.sender === item.dataset.sender
      && item.dataset.date - before.dataset.date < TOGETHER;
    item.classList.toggle("joined", Boolean(close));
    before?.classList.toggle("followed", Boolean(close));
    item.classList.remove("followed");
    before = item;
  }
}

// One line with the day before the first message of it, left alone where it stands already.
function separate(item, before) {
  const above = item.previousElementSibling;
  const line = above?.classList.contains("day") ? above : null;
  const wanted = item.dataset.day !== before?.dataset.day;
  if (line && (!wanted || line.textContent !== item.dataset.day)) line.remove();
  if (wanted && line?.textContent !== item.dataset.day) item.before(element("li", { className: "service day" }, item.dataset.day));
  return wanted;
}

// Show the day of the messages at the top while they move; it would cover them when they stand.
export function fadeDays(list) {
  for (const line of list.querySelectorAll(".day")) {
    const next = line.nextElementSibling?.getBoundingClientRect().top;
    line.classList.toggle("above", next < line.getBoundingClientRect().bottom);
  }
  list.classList.add("moving");
  clearTimeout(fading);
  fading = setTimeout(() => list.classList.remove("moving"), FADE);
}

export function summary(message) {
  if (!message) return "";
  const text = message.service || message.text || message.caption || "";
  if (message.photo) return text ? `Photo: ${text}` : "Photo";
  if (fileOf(message)) return `File: ${fileOf(message).file_name || text}`;
  return text;
}

function head(message, group) {
  const lines = [];
  if (group) lines.push(element("p", { className: `author hue-${hue(message.sender_name)}` }, message.sender_name));
  if (message.via_bot) lines.push(element("p", { className: "via" }, `via @${message.via_bot.username}`));
  if (message.reply_to_message) {
    const replied = message.reply_to_message;
    lines.push(element("blockquote", { className: "reply", dir: "auto" }, replied.text || replied.caption || "Photo"));
  }
  return lines;
}

function media(message) {
  if (message.photo) return [picture(message)];
  return fileOf(message) ? [file(fileOf(message))] : [];
}

// An animation is a document too.
function fileOf(message) {
  return message.document || message.video || message.audio || message.voice;
}

function picture(message) {
  const size = message.photo[message.photo.length - 1];
  const caption = message.caption || "";
  const words = caption.split("\n")[0] || "Photo";
  const address = fileAddress(size.file_id);
  const image = element("img", { src: address, alt: words, width: size.width, height: size.height });
  const button = element("button", { type: "button", className: "picture", "aria-label": `Open picture: ${words}` }, image);
  button.addEventListener("click", () => showPicture(size, address, caption));
  return button;
}

function file(one) {
  const kilobytes = Math.max(1, Math.round((one.file_size || 0) / 1024));
  const size = kilobytes < 1000 ? `${kilobytes} KB` : `${(kilobytes / 1024).toFixed(1)} MB`;
  const shown = one.thumbnail
    ? element("img", { className: "file-icon", src: fileAddress(one.thumbnail.file_id), alt: "" })
    : element("span", { className: "file-icon" }, icon("file"));
  return element("a", { className: "file", href: fileAddress(one.file_id), download: one.file_name || "file" },
    shown, element("span", {}, one.file_name || "File", element("small", {}, size)));
}

function words(message, actions) {
  const text = message.text || message.caption;
  if (!text) return [];
  const entities = message.entities || message.caption_entities;
  return [element("div", { className: "text", dir: "auto" }, ...formatted(text, entities, actions))];
}

function foot(message) {
  const when = new Date(message.date * 1000);
  const time = element("time", { dateTime: when.toISOString(), title: when.toLocaleString() }, clock(message.date));
  const silent = message.silent ? element("span", { className: "mark", role: "img", "aria-label": "Sent silently", title: "Sent silently" }, icon("silent")) : null;
  const ticks = message.out ? element("span", { className: "ticks", role: "img", "aria-label": "Sent" }, "✓✓") : null;
  return element("p", { className: "meta" }, silent, message.edit_date ? "edited " : "", time, ticks);
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
    const anchor = element("a", { className: `key${style}`, href: button.url, target: "_blank", rel: "noopener noreferrer" }, button.text, mark);
    anchor.addEventListener("click", (event) => follow(event, button.url, actions));
    return anchor;
  }
  const node = element("button", { type: "button", className: `key${style}` }, button.text, mark);
  node.addEventListener("click", () => actions.key(message, button, row, column, node));
  return node;
}
