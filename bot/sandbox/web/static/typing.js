// Whether the bot is writing: it has been asked and has not answered yet.

import { byId } from "./dom.js";

const ASKED = 8000;

export class Typing {
  constructor(app) {
    this.app = app;
    this.until = new Map();
  }

  // A message came or changed: from the bot it ends the waiting, to the bot it begins it.
  heard(chat, message, fresh) {
    if (!message.out) this.until.delete(chat.id);
    else if (fresh && chat.kind === "private" && chat.bot_status === "member") this.start(chat);
    this.show();
  }

  start(chat) {
    this.until.set(chat.id, Date.now() + ASKED);
    setTimeout(() => { this.show(); this.app.showList(); }, ASKED + 50);
    this.show();
  }

  forget() {
    this.until.clear();
  }

  is(chat) {
    return (this.until.get(chat.id) || 0) > Date.now();
  }

  show() {
    const { chat } = this.app;
    const writing = this.is(chat);
    byId("typing").hidden = !writing;
    byId("subtitle").classList.toggle("now", writing);
    byId("subtitle").textContent = writing ? "typing…" : this.standing(chat);
  }

  standing(chat) {
    if (byId("app").dataset.online === "false") return "connecting…";
    if (chat.kind === "private") return "bot";
    if (chat.kind === "dialog") return "last seen recently";
    const count = chat.members.length + (chat.bot_status === "member" ? 1 : 0);
    return `${count} members`;
  }
}
