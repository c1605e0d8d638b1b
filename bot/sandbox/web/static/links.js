// Where addresses lead: to the bot, to a chat, or to a page in a window of its own.

const WINDOW = { width: 430, height: 860 };

// What a Telegram client does itself: {start}, {share}, or null for an address of the web.
export function deepLink(address, bot) {
  let url;
  try { url = new URL(address); } catch { return null; }
  const name = url.protocol === "tg:" ? url.searchParams.get("domain") : url.host === "t.me" && url.pathname.slice(1);
  if (!name) return null;
  if (name.toLowerCase() === bot.username.toLowerCase()) return { start: url.searchParams.get("start") || "" };
  if (name === "share/url") return { share: [url.searchParams.get("text"), url.searchParams.get("url")].filter(Boolean).join("\n") };
  return null;
}

// The page asks nobody but its own server, whatever a bot names; "" for a foreign address.
export function ownAddress(address) {
  try {
    const parsed = new URL(address);
    return parsed.origin === location.origin ? parsed.href : "";
  } catch {
    return "";
  }
}

// A pay page lets nobody frame it, so on a desk it comes as a window as large as a phone.
export function openWindow(event, address) {
  if (!matchMedia("(min-width: 760px)").matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const left = Math.max(0, screen.availWidth - WINDOW.width - 40);
  window.open(address, "_blank", `popup,noopener,noreferrer,width=${WINDOW.width},height=${WINDOW.height},left=${left},top=60`);
}

// The pay pages that the messages name, the newest first: {url, title, date}.
export function payPages(chats) {
  const found = new Map();
  for (const chat of chats) {
    for (const message of chat.messages.values()) {
      for (const url of addresses(message)) {
        const words = (message.text || message.caption || "").split("\n").find((line) => line.trim()) || chat.title;
        const known = found.get(url);
        if (!known || known.date < message.date) found.set(url, { url, title: known?.title || words, date: message.date });
      }
    }
  }
  return [...found.values()].sort((one, other) => other.date - one.date);
}

function addresses(message) {
  const text = message.text || message.caption || "";
  const buttons = (message.reply_markup?.inline_keyboard || []).flat();
  const entities = message.entities || message.caption_entities || [];
  const named = entities.map((one) => one.url || (one.type === "url" ? text.slice(one.offset, one.offset + one.length) : ""));
  return [...buttons.map((one) => one.url || ""), ...named].filter(isPayPage);
}

function isPayPage(address) {
  try { return /^\/pay\/\w+$/.test(new URL(address).pathname); } catch { return false; }
}
