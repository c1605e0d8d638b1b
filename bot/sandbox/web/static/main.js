// The chat page: which chats there are, what is open, and what happens in them.

import { get, post } from "./api.js";
import { InAppBrowser } from "./browser.js";
import { Composer } from "./composer.js";
import { alertBox, avatar, badge, byId, clock, copy, dress, element, hue, initials, toast } from "./dom.js";
import { prepareLightbox } from "./lightbox.js";
import { deepLink, isOwnPayPage } from "./links.js";
import { Mails } from "./mails.js";
import { arrange, fadeDays, messageItem, summary } from "./messages.js";
import { People } from "./people.js";
import { markRead, unread } from "./reads.js";
import { Side } from "./side.js";
import { Typing } from "./typing.js";
import { chosenHere, embedded, remember, takeStart } from "./viewer.js";

const RETRY = 1500;
const NEAR = 120; // pixels from the end within which new messages are followed

class App {
  constructor() {
    this.chats = new Map();
    this.people = [];
    this.chat = null;
    this.user = null; // whose chats are shown, and who acts
    this.chosen = null; // who is to be played: another one only until their chats are there
    this.epoch = 0;
    this.below = 0; // messages that came while somebody read further up
    document.documentElement.classList.toggle("embedded", embedded);
    dress({ back: "back", "to-end": "down" });
    prepareLightbox();
    this.browser = new InAppBrowser(this);
    this.side = new Side(this);
    this.mails = new Mails(this);
    this.composer = new Composer(this);
    this.crowd = new People(this);
    this.typing = new Typing(this);
    this.followEnd();
    byId("back").addEventListener("click", () => this.leave());
    byId("start").addEventListener("click", () => this.startBot(""));
  }

  followEnd() {
    this.stuck = true; // to the newest message, until somebody scrolls away from it
    byId("scroller").addEventListener("scroll", () => { this.stuck = this.nearEnd(); this.showBelow(); fadeDays(byId("messages")); });
    byId("to-end").addEventListener("click", () => { this.toEnd(); byId("scroller").focus(); });
    const grown = new ResizeObserver(() => this.stuck && this.toEnd());
    for (const id of ["scroller", "messages", "typing"]) grown.observe(byId(id));
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

  // Play another person. Until their chats are shown nobody acts, or it would be the one before.
  async play(user) {
    this.chosen = Number(user);
    this.hold(true);
    try {
      await this.load();
    } catch (error) {
      toast(error.message);
    }
  }

  // Who comes from a pay page is a payer: somebody else than the seller who is played first.
  async arrive(payload) {
    await this.play(null);
    const payer = this.people.find((one) => one.id !== this.user);
    if (payer) {
      remember(payer.id);
      await this.play(payer.id);
    }
    await this.startBot(payload);
  }

  hold(held) {
    for (const id of ["new-person", "new-group", "text"]) byId(id).disabled = held;
    for (const id of ["chat-pane", "side-entries"]) byId(id).inert = held;
  }

  // Ask for the chats of the person who is chosen; resolves once the newest answer is shown.
  load() {
    const asked = get("state", this.chosen ? { user: this.chosen } : {});
    this.asked = asked;
    this.loaded = this.arrived(asked);
    return this.loaded;
  }

  async arrived(asked) {
    let state, failure;
    try { state = await asked; } catch (error) { failure = error; }
    if (asked !== this.asked) return this.loaded;
    if (state) this.show(state);
    this.chosen = this.user;
    this.crowd.showViewers();
    this.hold(this.chat === null);
    if (failure) throw failure;
  }

  show(state) {
    const first = this.chat === null;
    if (this.user !== state.user_id) this.typing.forget();
    this.seq = state.seq;
    this.user = state.user_id;
    this.bot = state.bot;
    this.people = state.people;
    this.chats = new Map(state.chats.map((chat) => [chat.id, withMessages(chat)]));
    const open = this.chats.get(this.chat?.id) || this.privateChat();
    this.open(open.id, { reveal: first && !embedded, focus: false });
    this.side.show();
    this.side.showLinks();
    this.mails.load();
    this.watch((this.epoch += 1));
  }

  privateChat() {
    return [...this.chats.values()].find((chat) => chat.kind === "private");
  }

  async watch(epoch) {
    while (epoch === this.epoch) {
      try {
        const answer = await get("events", { since: this.seq, user: this.user });
        if (epoch !== this.epoch) return;
        if (answer.closed) throw new Error("the sandbox has stopped");
        this.online(true);
        const changed = answer.reset || answer.events.some((one) => ["chat", "profile", "people"].includes(one.type));
        if (changed) { await this.load(); return; }
        this.seq = answer.seq;
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
    if (!chat || isOutside(chat, event)) return;
    if (event.type === "deleted") chat.messages.delete(event.message);
    if (event.type === "message") this.keep(chat, event);
    if (chat === this.chat) this.showEvent(event);
    this.showList();
    this.side.showLinks();
  }

  keep(chat, event) {
    const fresh = !chat.messages.has(event.message.message_id);
    chat.messages.set(event.message.message_id, event.message);
    this.typing.heard(chat, event.message, fresh);
    if (fresh && chat === this.chat && !event.message.out && !this.stuck) this.below += 1;
  }

  showEvent(event) {
    const id = event.type === "deleted" ? event.message : event.message.message_id;
    const list = byId("messages");
    const old = list.querySelector(`[data-message-id="${id}"]`);
    if (event.type === "deleted") {
      old?.remove();
    } else {
      const node = messageItem(event.message, this.chat, this);
      if (old) old.replaceWith(node);
      else list.append(node);
      if (this.stuck || (event.message.out && !old)) this.toEnd();
    }
    arrange(list);
    this.showBelow();
    this.showStart();
  }

  open(id, { reveal = true, focus = true } = {}) {
    const same = this.chat?.id === id;
    this.chat = this.chats.get(id);
    if (reveal) {
      this.side.leave();
      byId("app").classList.add("open");
    }
    byId("title").textContent = this.chat.title;
    byId("avatar").textContent = initials(this.chat.title);
    byId("avatar").className = `avatar hue-${hue(this.chat.title)}`;
    document.title = `${this.chat.title} – Sandbox`;
    const messages = [...this.chat.messages.values()].map((one) => messageItem(one, this.chat, this));
    byId("messages").replaceChildren(...messages);
    arrange(byId("messages"));
    this.typing.show();
    this.composer.show(this.chat);
    this.showStart();
    this.showList();
    if (!same || this.stuck) this.toEnd();
    if (reveal && focus) this.focusChat();
  }

  // Open a chat that this person has just made, unless another one is played by now.
  async visit(id, user) {
    await this.load();
    if (user === this.user) this.open(id);
  }

  focusChat() {
    const typed = matchMedia("(pointer: fine)").matches && !byId("composer").hidden;
    byId(typed ? "text" : "title").focus();
  }

  leave() {
    byId("app").classList.remove("open");
    this.showList();
    byId("chat-list").querySelector('[aria-current="true"]')?.focus();
  }

  get visible() {
    return byId("chat-pane").offsetParent !== null;
  }

  showStart() {
    const chat = this.chat;
    const silent = chat.kind === "private" && chat.bot_status !== "member";
    byId("intro").hidden = chat.kind !== "private" || chat.messages.size > 0;
    byId("description").textContent = this.bot.description || "Press START to find out.";
    byId("start").hidden = !silent;
    byId("start").textContent = chat.bot_status === "kicked" ? "RESTART BOT" : "START";
    byId("composer").hidden = silent;
  }

  showList() {
    if (this.visible) markRead(this.user, this.chat);
    const held = document.activeElement?.dataset?.chat;
    byId("chat-list").replaceChildren(...[...this.chats.values()].map((chat) => this.listItem(chat)));
    if (held) byId("chat-list").querySelector(`[data-chat="${held}"]`)?.focus();
  }

  listItem(chat) {
    const last = [...chat.messages.values()].pop();
    const words = this.typing.is(chat) ? element("span", { className: "now" }, "typing…") : element("span", { dir: "auto" }, summary(last));
    const button = element("button", { type: "button", className: "chat-item", "data-chat": chat.id, "aria-current": String(chat === this.chat && !this.side.beside) },
      avatar(chat.title), element("span", { className: "chat-words" }, element("strong", {}, chat.title), words),
      element("span", { className: "chat-side" }, last ? clock(last.date) : "", badge(unread(this.user, chat))));
    button.addEventListener("click", () => this.open(chat.id));
    return element("li", {}, button);
  }

  online(state) {
    byId("app").dataset.online = String(state);
    this.typing.show();
  }

  nearEnd() {
    const box = byId("scroller");
    return box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
  }

  toEnd() {
    const box = byId("scroller");
    this.stuck = true;
    box.scrollTop = box.scrollHeight;
    this.showBelow();
  }

  showBelow() {
    if (this.stuck) this.below = 0;
    byId("to-end").hidden = this.stuck;
    byId("to-end").dataset.count = this.below || "";
  }

  async startBot(payload) {
    this.open(this.privateChat().id);
    await this.act("start", { user_id: this.user, payload });
  }

  command(words) {
    this.composer.send(words);
  }

  isInternal(address) {
    return deepLink(address, this.bot) !== null;
  }

  link(address) {
    if (isOwnPayPage(address)) {
      if (!this.side.showOnPhone(address)) this.browser.open(address);
      return true;
    }
    const found = deepLink(address, this.bot);
    if (!found) return false;
    if ("share" in found) this.pick(found.share);
    else this.startBot(found.start);
    return true;
  }

  async key(message, button, row, column, node) {
    if (button.url) { this.link(button.url); return; }
    if (button.copy_text) { await copy(button.copy_text.text); return; }
    const query = button.switch_inline_query;
    if (query !== undefined) { this.pick(`@${this.bot.username} ${query}`); return; }
    if (button.switch_inline_query_current_chat !== undefined) {
      this.composer.fill(`@${this.bot.username} ${button.switch_inline_query_current_chat}`);
      return;
    }
    if (!button.callback_data) { toast("The sandbox doesn’t have this kind of button"); return; }
    node.setAttribute("aria-busy", "true");
    const { user } = this;
    const result = await this.act("press", { ...this.place(), message_id: message.message_id, row, column });
    node.removeAttribute("aria-busy");
    if (user === this.user) this.answer(result?.answer);
  }

  answer(answer) {
    if (answer?.url) this.link(answer.url);
    if (!answer?.text) return;
    if (answer.show_alert) alertBox(answer.text);
    else toast(answer.text);
  }

  pick(text) {
    const open = [...this.chats.values()].filter((chat) => chat.kind !== "private" || chat.bot_status === "member");
    byId("picker-list").replaceChildren(...open.map((chat) => {
      const button = element("button", { type: "button", className: "chat-item" }, avatar(chat.title), element("strong", {}, chat.title));
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

// Whether it is about a message older than those that this page was given: it stays where it was.
function isOutside(chat, event) {
  if (event.type !== "message" || chat.messages.has(event.message.message_id)) return false;
  return event.message.message_id < Math.max(0, ...chat.messages.keys());
}

function withMessages(chat) {
  return { ...chat, messages: new Map(chat.messages.map((message) => [message.message_id, message])) };
}

const app = new App();
const asked = takeStart();
if (asked === null) app.play(chosenHere());
else app.arrive(asked);
