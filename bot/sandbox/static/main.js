// The chat page: which chats there are, what is open, and what happens in them.

import { get, post } from "./api.js";
import { Composer } from "./composer.js";
import { alertBox, byId, clock, copy, day, element, hue, initials, toast } from "./dom.js";
import { Mails } from "./mails.js";
import { dayItem, messageItem, summary } from "./messages.js";

const TYPING_SHOWN = 5000;
const RETRY = 1500;

class App {
  constructor() {
    this.chats = new Map();
    this.chat = null;
    this.epoch = 0;
    this.composer = new Composer(this);
    this.mails = new Mails(this);
    this.stuck = true; // to the newest message, until somebody scrolls away from it
    byId("scroller").addEventListener("scroll", () => { this.stuck = this.nearEnd(); });
    const grown = new ResizeObserver(() => this.stuck && this.toEnd());
    grown.observe(byId("scroller"));
    grown.observe(byId("messages"));
    byId("viewer").addEventListener("change", (event) => this.load(event.target.value));
    byId("back").addEventListener("click", () => byId("app").classList.remove("open"));
    byId("start").addEventListener("click", () => this.startBot(""));
    byId("block").addEventListener("click", () => this.act("block", { user_id: this.user }));
  }

  place() {
    return { user_id: this.user, chat_id: this.chat.id };
  }

  async act(name, body) {
    try {
      return await post(name, body);
    } catch (error) {
      toast(error.message);
      return null;
    }
  }

  async load(user) {
    const state = await get("state", user ? { user } : {});
    this.seq = state.seq;
    this.user = state.user_id;
    this.bot = state.bot;
    const unread = new Map([...this.chats.values()].map((chat) => [chat.id, chat.unread]));
    this.chats = new Map(state.chats.map((chat) => [chat.id, this.kept(chat, unread.get(chat.id) || 0)]));
    this.showPeople(state.people);
    const open = this.chats.get(this.chat?.id) || this.privateChat();
    const first = !this.chat;
    this.chat = open;
    if (this.mails.shown) this.showList();
    else this.open(open.id, { reveal: first, focus: false });
    this.mails.load();
    this.watch((this.epoch += 1));
  }

  kept(chat, unread) {
    const messages = new Map(chat.messages.map((message) => [message.message_id, message]));
    return { ...chat, messages, unread };
  }

  privateChat() {
    return [...this.chats.values()].find((chat) => chat.kind === "private");
  }

  showPeople(people) {
    const options = people.map((one) => element("option", { value: one.id, selected: one.id === this.user }, one.name));
    byId("viewer").replaceChildren(...options);
  }

  async watch(epoch) {
    while (epoch === this.epoch) {
      try {
        const answer = await get("events", { since: this.seq, user: this.user });
        if (epoch !== this.epoch) return;
        if (answer.closed) throw new Error("the sandbox has stopped");
        this.online(true);
        if (answer.reset) { await this.load(this.user); return; }
        this.seq = answer.seq;
        if (answer.events.some((one) => one.type === "chat" || one.type === "profile")) { await this.load(this.user); return; }
        answer.events.forEach((one) => this.take(one));
      } catch {
        this.online(false);
        await new Promise((resume) => setTimeout(resume, RETRY));
      }
    }
  }

  take(event) {
    if (event.type === "mail") { this.mails.load(); return; }
    const chat = this.chats.get(event.chat_id);
    if (!chat) return;
    if (event.type === "action") this.typing(chat);
    if (event.type === "deleted") chat.messages.delete(event.message);
    if (event.type === "message") this.keep(chat, event);
    if (chat === this.chat) this.showEvent(event);
    this.showList();
  }

  keep(chat, event) {
    const fresh = !chat.messages.has(event.message.message_id);
    chat.messages.set(event.message.message_id, event.message);
    if (fresh && !event.message.out && (chat !== this.chat || this.mails.shown)) chat.unread += 1;
    if (JSON.stringify(chat.keyboard) !== JSON.stringify(event.keyboard)) {
      chat.keyboard = event.keyboard;
      if (chat === this.chat) this.composer.replyKeyboard(chat.keyboard);
    }
  }

  showEvent(event) {
    if (event.type === "action") return;
    const id = event.type === "deleted" ? event.message : event.message.message_id;
    const old = byId("messages").querySelector(`[data-message-id="${id}"]`);
    if (event.type === "deleted") { old?.remove(); return; }
    this.quiet();
    const node = messageItem(event.message, this.chat, this);
    if (old) old.replaceWith(node);
    else this.append(event.message, node);
    if (this.stuck || event.message.out) this.toEnd();
    this.showStart();
  }

  append(message, node) {
    const list = byId("messages");
    const days = list.querySelectorAll("[data-day]");
    if (days[days.length - 1]?.dataset.day !== day(message.date)) list.append(dayItem(message.date));
    list.append(node);
  }

  open(id, { reveal = true, focus = true } = {}) {
    this.chat = this.chats.get(id);
    this.chat.unread = 0;
    this.mails.hide();
    if (reveal) byId("app").classList.add("open");
    byId("title").textContent = this.chat.title;
    const avatar = byId("avatar");
    avatar.textContent = initials(this.chat.title);
    avatar.className = `avatar hue-${hue(this.chat.title)}`;
    document.title = `${this.chat.title} – Sandbox`;
    this.quiet();
    byId("messages").replaceChildren();
    for (const message of this.chat.messages.values()) this.append(message, messageItem(message, this.chat, this));
    this.composer.show(this.chat);
    this.showStart();
    this.showList();
    this.toEnd();
    if (focus && matchMedia("(pointer: fine)").matches) byId("text").focus();
  }

  showStart() {
    const chat = this.chat;
    const silent = chat.kind === "private" && chat.bot_status !== "member";
    byId("intro").hidden = chat.kind !== "private" || chat.messages.size > 0;
    byId("description").textContent = this.bot.description || "Press START to find out.";
    byId("start").hidden = !silent;
    byId("start").textContent = chat.bot_status === "kicked" ? "RESTART BOT" : "START";
    byId("composer").hidden = silent;
    byId("block").hidden = chat.kind !== "private" || chat.bot_status !== "member";
  }

  showList() {
    byId("chat-list").replaceChildren(...[...this.chats.values()].map((chat) => this.listItem(chat)));
  }

  listItem(chat) {
    const last = [...chat.messages.values()].pop();
    const unread = chat.unread ? element("span", { className: "unread", "aria-label": `${chat.unread} unread` }, String(chat.unread)) : null;
    const button = element("button", { type: "button", className: "chat-item", "aria-current": String(chat === this.chat && !this.mails.shown) },
      element("span", { className: `avatar hue-${hue(chat.title)}`, "aria-hidden": "true" }, initials(chat.title)),
      element("span", { className: "chat-words" }, element("strong", {}, chat.title), element("span", {}, summary(last))),
      element("span", { className: "chat-side" }, last ? clock(last.date) : "", unread));
    button.addEventListener("click", () => this.open(chat.id));
    return element("li", {}, button);
  }

  typing(chat) {
    if (chat !== this.chat) return;
    byId("subtitle").textContent = "typing…";
    clearTimeout(this.typingTimer);
    this.typingTimer = setTimeout(() => this.quiet(), TYPING_SHOWN);
  }

  quiet() {
    const chat = this.chat;
    const bot = chat.kind === "private" ? "bot" : "last seen recently";
    byId("subtitle").textContent = chat.kind.endsWith("group") ? `${chat.members.length + 1} members` : bot;
  }

  online(state) {
    if (state === (byId("app").dataset.online === "true")) return;
    byId("app").dataset.online = String(state);
    if (state) this.quiet();
    else byId("subtitle").textContent = "connecting…";
  }

  nearEnd() {
    const box = byId("scroller");
    return box.scrollHeight - box.scrollTop - box.clientHeight < 120;
  }

  toEnd() {
    const box = byId("scroller");
    this.stuck = true;
    box.scrollTop = box.scrollHeight;
  }

  async startBot(payload) {
    this.open(this.privateChat().id);
    await this.act("start", { user_id: this.user, payload });
  }

  command(words) {
    this.composer.send(words);
  }

  isInternal(address) {
    return this.deepLink(address) !== null;
  }

  deepLink(address) {
    let url;
    try { url = new URL(address); } catch { return null; }
    const name = url.protocol === "tg:" ? url.searchParams.get("domain") : url.host === "t.me" && url.pathname.slice(1);
    if (!name) return null;
    if (name.toLowerCase() === this.bot.username.toLowerCase()) return { start: url.searchParams.get("start") || "" };
    if (name === "share/url") return { share: [url.searchParams.get("text"), url.searchParams.get("url")].filter(Boolean).join("\n") };
    return null;
  }

  link(address) {
    const found = this.deepLink(address);
    if (!found) return false;
    if ("share" in found) this.pick(found.share);
    else this.startBot(found.start);
    return true;
  }

  async key(message, button, row, column, node) {
    if (button.url) { this.link(button.url); return; }
    if (button.copy_text) { await copy(button.copy_text.text); return; }
    const chosen = button.switch_inline_query_chosen_chat;
    const query = chosen ? chosen.query || "" : button.switch_inline_query;
    if (query !== undefined) { this.pick(`@${this.bot.username} ${query}`); return; }
    if (button.switch_inline_query_current_chat !== undefined) {
      this.composer.fill(`@${this.bot.username} ${button.switch_inline_query_current_chat}`);
      return;
    }
    if (!button.callback_data) { toast("This kind of button is not part of the sandbox"); return; }
    node.setAttribute("aria-busy", "true");
    const result = await this.act("press", { ...this.place(), message_id: message.message_id, row, column });
    node.removeAttribute("aria-busy");
    this.answer(result?.answer);
  }

  answer(answer) {
    if (answer?.url) this.link(answer.url);
    if (!answer?.text) return;
    if (answer.show_alert) alertBox(answer.text);
    else toast(answer.text);
  }

  pick(text) {
    const others = [...this.chats.values()].filter((chat) => chat.kind !== "private" || chat.bot_status === "member");
    byId("picker-list").replaceChildren(...others.map((chat) => {
      const button = element("button", { type: "button", className: "chat-item" },
        element("span", { className: `avatar hue-${hue(chat.title)}`, "aria-hidden": "true" }, initials(chat.title)),
        element("strong", {}, chat.title));
      button.addEventListener("click", () => {
        byId("picker").close();
        this.open(chat.id);
        this.composer.fill(text);
      });
      return element("li", {}, button);
    }));
    byId("picker").showModal();
  }
}

const app = new App();
app.load("").catch((error) => toast(error.message));
