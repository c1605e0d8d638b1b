// Where addresses lead: to the bot, to a chat, to a page in the client's own browser or in a window.

const WINDOW = { width: 430, height: 860 };

// What a Telegram client does itself: {start}, {share}, or null for an address of the web. The
// receipts of the demo lead to this page, where those of a real bot lead to t.me.
export function deepLink(address, bot) {
  let url;
  try { url = new URL(address); } catch { return null; }
  const name = url.protocol === "tg:" ? url.searchParams.get("domain") : url.host === "t.me" && url.pathname.slice(1);
  if (url.origin === location.origin && url.pathname === "/chat") return { start: url.searchParams.get("start") || "" };
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

// Follow a link within the client where it can; else open a window, on a desk as large as a phone.
export function follow(event, address, actions) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (actions.link(address)) { event.preventDefault(); return; }
  if (!matchMedia("(min-width: 760px)").matches) return;
  event.preventDefault();
  const left = Math.max(0, screen.availWidth - WINDOW.width - 40);
  window.open(address, "_blank", `popup,noopener,noreferrer,width=${WINDOW.width},height=${WINDOW.height},left=${left},top=60`);
}

// Whether it is a pay page or a receipt of this server, which the demo lets its chat page show.
export function isOwnPayPage(address) {
  const own = ownAddress(address);
  return own !== "" && /^\/pay\/\w+(\/receipt\/\w+)?$/.test(new URL(own).pathname);
}

// The pay pages that the messages name, in the order in which they were found: {url, title, date}.
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
  return [...found.values()];
}

// A button's address, or one that somebody sent; of the bot's own words a line of its own. Within a
// sentence the bot writes about a page that it has sent before, as beside a poster.
function addresses(message) {
  const text = message.text || message.caption || "";
  const buttons = (message.reply_markup?.inline_keyboard || []).flat();
  const entities = message.entities || message.caption_entities || [];
  const named = entities.map((one) => one.url || (one.type === "url" ? text.slice(one.offset, one.offset + one.length) : ""));
  const lines = text.split("\n").map((line) => line.trim());
  const sent = named.filter((one) => !message.from.is_bot || lines.includes(one));
  return [...buttons.map((one) => one.url || ""), ...sent].filter(isPayPage);
}

function isPayPage(address) {
  try { return /^\/pay\/\w+$/.test(new URL(address).pathname); } catch { return false; }
}
