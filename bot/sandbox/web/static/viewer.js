// Whom this client plays, which a reload does not change: on a desk the address of the page says it,
// on the phone beside it the tab remembers it.

const KEY = "phone";

export const embedded = window.parent !== window;

export function chosenHere() {
  return new URLSearchParams(location.search).get("user");
}

// What a link from a page asks the bot for, once: a reload doesn't ask again.
export function takeStart() {
  const start = new URLSearchParams(location.search).get("start");
  if (start !== null) history.replaceState(null, "", "/chat");
  return start;
}

export function chosenOnPhone() {
  try { return sessionStorage.getItem(KEY); } catch { return null; }
}

export function remember(user) {
  if (!embedded) { history.replaceState(null, "", `/chat?user=${user}`); return; }
  try { sessionStorage.setItem(KEY, user); } catch { /* the phone's first person comes back */ }
}
