// What each person has read; kept for as long as the tab, and shared with the phone beside it.

const KEY = "read";

function kept() {
  try { return JSON.parse(sessionStorage.getItem(KEY)) || {}; } catch { return {}; }
}

export function markRead(user, chat) {
  const last = Math.max(0, ...chat.messages.keys());
  const marks = kept();
  if ((marks[`${user} ${chat.id}`] || 0) >= last) return;
  marks[`${user} ${chat.id}`] = last;
  try { sessionStorage.setItem(KEY, JSON.stringify(marks)); } catch { /* counted anew after a reload */ }
}

export function unread(user, chat) {
  const last = kept()[`${user} ${chat.id}`] || 0;
  return [...chat.messages.values()].filter((one) => !one.out && !one.service && one.message_id > last).length;
}
