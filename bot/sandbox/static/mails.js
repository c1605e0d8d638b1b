// The e-mails that were sent: an entry below the chats, a list, and the one that is read.

import { get } from "./api.js";
import { byId, clock, day, element, toast } from "./dom.js";

export class Mails {
  constructor(app) {
    this.app = app;
    this.mails = [];
    this.count = null; // of all that were ever sent; null until the first answer
    this.seen = 0;
    this.chosen = null;
    this.shown = false;
    byId("mail-back").addEventListener("click", () => this.back());
    byId("mail-as-html").addEventListener("click", () => this.showAs("html"));
    byId("mail-as-text").addEventListener("click", () => this.showAs("text"));
  }

  async load() {
    let answer;
    try { answer = await get("mails", {}); } catch (error) { toast(error.message); return; }
    if (this.count !== null && answer.count < this.count) return; // an older answer came late
    const fresh = this.count === null ? 0 : answer.count - this.count;
    if (this.count === null || this.shown) this.seen = answer.count;
    this.count = answer.count;
    this.mails = answer.mails;
    byId("mail-address").textContent = answer.address;
    byId("mail-entry").hidden = answer.address === null;
    if (fresh && !this.shown) toast(`E-mail to ${this.mails[0].to.join(", ")}: ${this.mails[0].subject}`);
    this.showEntry();
    this.showList();
  }

  open() {
    this.shown = true;
    this.seen = this.count;
    byId("app").classList.add("open");
    byId("chat-pane").hidden = true;
    byId("mail-pane").hidden = false;
    document.title = "E-mails – Sandbox";
    this.showEntry();
    this.showList();
    this.app.showList();
  }

  hide() {
    this.shown = false;
    byId("mail-pane").hidden = true;
    byId("chat-pane").hidden = false;
    this.showEntry();
  }

  back() {
    if (this.chosen === null) byId("app").classList.remove("open");
    else this.choose(null);
  }

  showEntry() {
    const unread = (this.count ?? 0) - this.seen;
    const badge = unread ? element("span", { className: "unread", "aria-label": `${unread} unread` }, String(unread)) : null;
    const last = this.mails[0];
    const button = element("button", { type: "button", className: "chat-item", "aria-current": String(this.shown) },
      element("span", { className: "avatar mail-avatar", "aria-hidden": "true" }, "@"),
      element("span", { className: "chat-words" }, element("strong", {}, "E-mails"), element("span", { dir: "auto" }, last?.subject ?? "None sent yet")),
      element("span", { className: "chat-side" }, last ? clock(last.date) : "", badge));
    button.addEventListener("click", () => this.open());
    byId("mail-entry").replaceChildren(button);
  }

  showList() {
    const kept = this.count > this.mails.length ? `, the last ${this.mails.length} are shown` : "";
    byId("mail-count").textContent = `${this.count} sent${kept}`;
    byId("mail-none").hidden = this.mails.length > 0;
    byId("mail-list").replaceChildren(...this.mails.map((mail) => this.listItem(mail)));
  }

  listItem(mail) {
    const button = element("button", { type: "button", className: "mail-item", "aria-current": String(mail.id === this.chosen?.id) },
      element("span", { className: "mail-to" }, mail.to.join(", ")),
      element("time", { className: "mail-time", dateTime: new Date(mail.date * 1000).toISOString() }, clock(mail.date)),
      element("strong", { dir: "auto" }, mail.subject));
    button.addEventListener("click", () => this.choose(mail));
    return element("li", {}, button);
  }

  choose(mail) {
    this.chosen = mail;
    byId("mail-columns").classList.toggle("reading", mail !== null);
    byId("mail").hidden = mail === null;
    this.showList();
    if (mail === null) return;
    byId("mail-subject").textContent = mail.subject;
    byId("mail-way").textContent = `${mail.from} to ${mail.to.join(", ")}, ${day(mail.date)} ${clock(mail.date)}`;
    byId("mail-text").textContent = mail.text;
    const frame = byId("mail-html").cloneNode(); // a fresh one: a new address in the old would be a step of the history
    if (mail.has_html) frame.src = `/chat/mails/${mail.id}`;
    else frame.removeAttribute("src");
    byId("mail-html").replaceWith(frame);
    byId("mail-as-html").hidden = !mail.has_html;
    this.showAs(mail.has_html ? "html" : "text");
  }

  showAs(kind) {
    for (const each of ["html", "text"]) {
      byId(`mail-${each}`).hidden = each !== kind;
      byId(`mail-as-${each}`).setAttribute("aria-pressed", String(each === kind));
    }
  }
}
